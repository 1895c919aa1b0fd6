"""Each target of make works as the first command in a fresh clone; `make test` tries a tenth of them."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.docs.doc_pages import blocks
from tests.docs.fresh_clone import (
    FIRST_COMMANDS,
    IN_EVERY_RUN,
    MORE_FIRST_COMMANDS,
    STAMP,
    TENTHS,
    clone,
    make,
    make_prerequisites,
    run_in_a_new_environment,
    targets,
    tenth,
)
from tests.faults.days import DAY
from tests.support.repository import ROOT

README_SCRIPTS = [block.text for block in blocks(ROOT / "README.md") if block.language == "sh"]
"""Each installs what it needs."""

OF_MAKE = [script for script in README_SCRIPTS if script.startswith("make ")]
OF_PIP = [script for script in README_SCRIPTS if script not in OF_MAKE]

COMMANDS = {**FIRST_COMMANDS, **MORE_FIRST_COMMANDS}

SAMPLED = [*(command for command in COMMANDS if command != IN_EVERY_RUN), *OF_PIP]
"""What `make test` tries in turn."""


def first_commands(commands: list[str]) -> list[object]:
    """Parameters, of which those of today's tenth are marked as a sample."""
    today = tenth(SAMPLED, DAY)
    return [
        pytest.param(command, marks=[pytest.mark.sampled] * (command in today))
        for command in commands
    ]


def test_every_target_has_a_first_command() -> None:
    assert targets() == set(FIRST_COMMANDS)


def test_the_first_commands_of_ten_days_in_a_row_are_all_of_them() -> None:
    for first in (0, 7, 363):
        found = [each for day in range(first, first + TENTHS) for each in tenth(SAMPLED, day)]
        assert sorted(found) == sorted(SAMPLED)


def test_continuous_integration_begins_with_the_checks_and_leaves_nothing_out() -> None:
    script = (ROOT / ".ci/run").read_text()
    commands = re.findall(r"^(?:exec )?make (.*?)(?: >.*)?$", script, re.MULTILINE)
    python, *installs, beside, checks, tests = commands
    assert (python, checks) == (".venv/bin/python", f"{IN_EVERY_RUN} docs")
    assert (beside, tests) == ("test-older-spark", "test OLDER_SPARK=")
    of_the_checks = set(STAMP.findall(make(ROOT, "--dry-run", "--always-make", IN_EVERY_RUN)))
    assert installs == [
        "older-spark",
        'test-fast ARGS="--collect-only --quiet"',
        *of_the_checks,
    ]
    older = make(ROOT, "--dry-run", beside).splitlines()
    others = make(ROOT, "--dry-run", *tests.split()).splitlines()
    assert set(make(ROOT, "--dry-run", "test").splitlines()) == {*older, *others}
    assert any("pytest" in line for line in older if line not in others)


@pytest.mark.parametrize(("day", "number"), [("001", 1), ("009", 9), ("010", 10), ("366", 366)])
def test_the_day_of_the_year_selects_a_tenth_of_the_kills_and_first_commands_and_a_seed(
    day: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    date = tmp_path / "date"
    date.write_text(f'#!/bin/sh\ntest "$*" = +%j && echo {day}\n')
    date.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    for name in ("DAY", "FIRST_KILL", "HEADRACE_PROFILE"):  # of the make that runs the tests
        monkeypatch.delenv(name, raising=False)
    said = make(ROOT, "--dry-run", "test")
    kills = f"HEADRACE_KILLS=5 HEADRACE_FIRST_KILL={number % 10 * 5} HEADRACE_DAY={number} "
    seed = f"HEADRACE_PROFILE=day .venv/bin/pytest --hypothesis-seed={number % 10} "
    assert (said.count(kills), said.count(kills + seed)) == (3, 1)


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("command", first_commands([*COMMANDS]))
def test_it_works_as_the_first_command(command: str, tmp_path: Path) -> None:
    how, directory = COMMANDS[command], clone(tmp_path)
    if how.only_prerequisites:
        make_prerequisites(directory, command)
    else:
        make(directory, *command.split(), *how.arguments)


def test_two_commands_of_the_readme_do_all_the_set_up() -> None:
    assert OF_MAKE == ["make demo\n", "make test\n"]


@pytest.mark.parametrize("script", OF_PIP)
def test_each_other_script_of_the_readme_installs_something(script: str) -> None:
    first, *others = script.splitlines()
    assert first.startswith("pip install '.[")
    assert others


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.chaos
@pytest.mark.parametrize("script", first_commands(OF_PIP))
def test_a_script_of_the_readme_works_in_a_new_environment(script: str, tmp_path: Path) -> None:
    directory = clone(tmp_path)
    printed = run_in_a_new_environment(directory, script)
    assert printed.count("all equal") == 3
    report = re.search(r"--report=(\S+)", script)
    assert report is None or (directory / report[1]).stat().st_size > 100_000
