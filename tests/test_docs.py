"""What README and documentation show is true: their Python runs, and prints what they say it prints.

The ``python`` blocks of a page run in order, in one namespace. Where the next block of the page is a
``text`` block, it holds what the Python block prints; if its title says so, in any order. A page whose
name begins with ``spark`` runs in a process of its own, with a Spark of its own.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(ROOT.glob("docs/**/*.md"))]

FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")


class Block(NamedTuple):
    """A fenced block: language, title, what it holds, and in which line of the page that starts."""

    language: str
    title: str
    text: str
    line: int


class Example(NamedTuple):
    """A block of Python, and what it prints as far as the page says it."""

    code: str
    line: int
    output: str | None
    in_any_order: bool

    def agrees(self, printed: str) -> bool:
        if self.output is None:
            return True
        if self.in_any_order:
            return sorted(printed.splitlines()) == sorted(self.output.splitlines())
        return printed == self.output


def blocks(page: str) -> Iterator[Block]:
    for found in FENCE.finditer(page):
        yield Block(found[1], found[2], found[3], page.count("\n", 0, found.start(3)))


def examples(page: str) -> Iterator[Example]:
    nothing = Block("", "", "", 0)
    for block, after in pairwise([*blocks(page), nothing]):
        if block.language == "python":
            output = after.text if after.language == "text" else None
            yield Example(block.text, block.line, output, "in any order" in after.title)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


WITH_EXAMPLES = [page for page in PAGES if any(examples(page.read_text()))]


def test_the_pages_show_examples() -> None:
    assert ROOT / "README.md" in WITH_EXAMPLES
    assert len(WITH_EXAMPLES) > 5


def on_spark(page: Path) -> bool:
    return page.stem.startswith("spark")


def check(page: Path) -> None:
    """Run the examples of a page, and compare what they print."""
    namespace: dict[str, object] = {"__name__": page.stem}
    for example in examples(page.read_text()):
        # Empty lines in front, so that a traceback shows the line of the page.
        code = compile("\n" * example.line + example.code, str(page), "exec")
        with redirect_stdout(StringIO()) as printed:
            exec(code, namespace)
        if not example.agrees(printed.getvalue()):
            assert printed.getvalue() == example.output, f"printed by line {example.line + 1}"


@pytest.mark.parametrize("page", [page for page in WITH_EXAMPLES if not on_spark(page)], ids=name)
def test_examples_run_and_print_what_the_page_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [page.stem])
    check(page)


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in WITH_EXAMPLES if on_spark(page)], ids=name)
def test_examples_on_spark_do_so_too(page: Path, tmp_path: Path) -> None:
    code = (
        f"from pathlib import Path; from tests.test_docs import check; check(Path({str(page)!r}))"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_to_files_that_exist(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(page.read_text())]
    paths = [link for link in links if link and "://" not in link]
    assert [path for path in paths if not (page.parent / path).exists()] == []
