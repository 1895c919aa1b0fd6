"""The reference is current, shows users what they use, and keeps the rest for a later section."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

REFERENCE = ROOT / "docs/reference"
MEMBER = re.compile(r"^#### \w+\.(\w+)$", re.MULTILINE)


@pytest.fixture(autouse=True)
def tools_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "tools"), *sys.path])


def page(name: str) -> str:
    return (REFERENCE / name).read_text()


def entry(name: str, text: str) -> str:
    """Return the entry of a name, down to the next one."""
    return text.partition(f"\n### {name}\n")[2].partition("\n### ")[0]


def test_the_pages_are_current() -> None:
    pytest.importorskip("apache_beam", reason="the page of programs of Beam imports it")
    from reference import ORDER, pages

    without_spark = [name for name in ORDER if name != "spark.md"]  # `make check` has pyspark
    old = [path.name for path, text in pages(without_spark).items() if path.read_text() != text]
    assert old == [], "run `make reference`"


@pytest.mark.parametrize("name", ["DISCARDING", "ACCUMULATING", "RETRACTING"])
def test_an_enum_shows_its_members_and_no_constructor(name: str) -> None:
    shown = entry("AccumulationMode", page("triggers.md"))
    assert re.search(rf"^\| `AccumulationMode\.{name}` \| [A-Z].+\. \|", shown, re.MULTILINE)
    assert "```py\n" not in shown


@pytest.mark.parametrize(
    ("file", "title", "internal"),
    [
        ("triggers.md", "## To write a trigger", {"on_elements", "should_fire", "wake"}),
        ("windowing.md", "## To write a window function", {"assign", "windows_of", "estimate"}),
        ("io.md", "## To write a source or a sink", {"write_part", "partitions", "read_columns"}),
    ],
)
def test_what_authors_of_extensions_override_comes_last(
    file: str, title: str, internal: set[str]
) -> None:
    users, _, authors = page(file).partition(title)
    assert internal <= set(MEMBER.findall(authors))
    assert internal & set(MEMBER.findall(users)) == set()


def test_a_name_of_two_modules_is_described_once_and_linked() -> None:
    assert entry("Timestamp", page("windowing.md"))
    assert not entry("Timestamp", page("headrace.md"))
    assert "[`Timestamp`](windowing.md#timestamp)" in page("headrace.md")


def test_a_method_with_the_anchor_of_a_class_says_that_it_is_a_method() -> None:
    text = page("headrace.md")
    assert "\n### WaitOn\n" in text
    assert "\n#### Wait.on (method)\n" in text


def test_flags_stand_beside_the_options_they_set() -> None:
    assert "| `--max-records-per-batch` | `max_records_per_batch` |" in page("options.md")


def test_a_docstring_becomes_markdown() -> None:
    from docstring_markdown import markdown

    docstring = """Grinds ``grain`` for :class:`~mill.Wheel`.

    ====  =====
    ``a``  one
    ====  =====

    Args:
        grain: what to grind,
            in bags.

    Raises:
        MillError: no water.

    >>> grind(1)
    2
    """
    assert markdown(docstring, lambda name: f"<{name}>").split("\n\n") == [
        "Grinds `grain` for <mill.Wheel>.",
        "|  |  |\n| --- | --- |\n| `a` | one |",
        "**Arguments**",
        "- `grain`: what to grind, in bags.",
        "**Raises**",
        "- `MillError`: no water.",
        "```pycon\n>>> grind(1)\n2\n```",
    ]


def test_a_stale_page_fails_the_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import reference

    stale = page("options.md").replace("--streaming", "--steaming")
    (tmp_path / "options.md").write_text(stale)
    monkeypatch.setattr(reference, "FOLDER", tmp_path)
    assert reference.pages(["options.md"]) != {tmp_path / "options.md": stale}
