"""Each row of the table of changes names tests that exist, and each test of a change has a row."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from headrace.errors import PipelineError
from headrace.stored_formats import check_format
from tests.support.repository import ROOT

PAGE = ROOT / "docs" / "how-to" / "resume-and-change.md"
CODE = re.compile(r"`([^`]+)`")
CHANGES = "tests/compatibility/test_changes.py"
FILES = [
    CHANGES,
    "tests/compatibility/test_kept_checkpoints.py",
    "tests/faults/test_changed_classes.py",
    "tests/unit/runners/spark/test_checkpoint_manifest.py",
    "tests/unit/sdk/serialization/test_classes.py",
]
OF_NO_ROW = {"test_a_refusal_leaves_the_checkpoint_as_it_is"}
"""Tests of all refusals."""


@pytest.fixture(scope="module")
def tests() -> dict[str, set[str]]:
    """The names of the tests by file: what stands in brackets, and the function."""
    pytest.importorskip("pyspark", reason="the tests import it")
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", *FILES]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found: dict[str, set[str]] = {file: set() for file in FILES}
    for file, function, case in re.findall(
        r"^(\S+?\.py)::(\w+)(?:\[(.+)\])?$", listed, re.MULTILINE
    ):
        found[file].add(function if file != CHANGES else case or function)
        found[file].add(case or function)
    return found


def rows() -> list[tuple[str, str, list[str]]]:
    """The rows of the table: change, result, names of tests."""
    _, _, table = PAGE.read_text().partition("| change | result | test |\n|---|---|---|\n")
    lines = table.partition("\n\n")[0].splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [(change, result, CODE.findall(names)) for change, result, names in cells]


def test_each_row_names_tests_that_exist(tests) -> None:
    every = set().union(*tests.values())
    assert len(rows()) >= 25
    assert {result.split()[0].strip(";,") for _, result, _ in rows()} == {"resumes", "refused"}
    assert [change for change, _, names in rows() if not names] == []
    assert [name for *_, names in rows() for name in names if name not in every] == []


def test_each_test_of_a_change_has_a_row(tests) -> None:
    named = {name for *_, names in rows() for name in names}
    assert tests[CHANGES] - named - OF_NO_ROW == set()


def test_the_refusal_is_the_current_one() -> None:
    with pytest.raises(PipelineError) as refusal:
        check_format("the checkpoint /data/checkpoints/mill", 3, "manifest")
    assert refusal.value.problem in PAGE.read_text()
    assert refusal.value.remedy in PAGE.read_text()
