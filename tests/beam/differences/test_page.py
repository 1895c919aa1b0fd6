"""Each section of docs/reference/differences.md has one test in this package."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.repository import ROOT

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

HERE = Path(__file__).parent
PAGE = ROOT / "docs" / "reference" / "differences.md"


def sections_of(module: ModuleType) -> list[str]:
    """The sections that the tests of a module are marked with."""
    tests = [test for name, test in vars(module).items() if name.startswith("test_")]
    marks = [mark for test in tests for mark in getattr(test, "pytestmark", [])]
    return [mark.args[0] for mark in marks if mark.name == "difference"]


def test_each_section_of_the_page_has_one_test() -> None:
    modules = [import_module(f"{__package__}.{path.stem}") for path in HERE.glob("test_*.py")]
    tested = [section for module in modules for section in sections_of(module)]
    sections = re.findall("^### (.*)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(tested) == sorted(sections)
