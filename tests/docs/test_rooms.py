"""Folders of the package: a sentence for each, and tables of modules that are complete."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.support.repository import ROOT

FOLDERS = sorted(path.parent for path in (ROOT / "headrace").rglob("__init__.py"))
RULE = re.compile(r"=+  =+")
MOST = 20
"""The number of modules in a folder, besides its ``__init__``, from which on it should be divided."""


def name(folder: Path) -> str:
    return str(folder.relative_to(ROOT))


def is_generated(path: Path) -> bool:
    return path.read_text().startswith("# Generated")


def content(folder: Path) -> set[str]:
    """Return the modules and packages in a folder that are not generated."""
    modules = {path.stem: path for path in folder.glob("*.py") if path.name != "__init__.py"}
    packages = {path.parent.name: path for path in folder.glob("*/__init__.py")}
    return {each for each, path in {**modules, **packages}.items() if not is_generated(path)}


def listed(docstring: str) -> set[str] | None:
    """Return the names in the first column of the table of modules; None if there is no table."""
    lines = docstring.splitlines()
    rules = [number for number, line in enumerate(lines) if RULE.fullmatch(line)]
    if len(rules) < 3 or not lines[rules[0] + 1].startswith("module"):
        return None
    width = len(lines[rules[0]].split()[0])
    rows = [line[:width] for line in lines[rules[1] + 1 : rules[-1]] if not line.startswith("-")]
    return {found for row in rows for found in re.findall(r"\w+", row)}


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_folder_says_what_it_holds(folder: Path) -> None:
    docstring = ast.get_docstring(ast.parse((folder / "__init__.py").read_text()))
    assert docstring, "the folder's __init__.py needs a docstring"
    names = listed(docstring)
    assert names is None or names == content(folder)


@pytest.mark.parametrize("folder", FOLDERS, ids=name)
def test_a_folder_is_of_one_subject(folder: Path) -> None:
    assert len([path for path in folder.glob("*.py") if path.name != "__init__.py"]) <= MOST


def test_tables_of_modules_are_read() -> None:
    docstrings = [ast.get_docstring(ast.parse((f / "__init__.py").read_text())) for f in FOLDERS]
    assert sum(listed(each or "") is not None for each in docstrings) >= 10


def test_contributors_find_each_room_of_the_tests() -> None:
    rooms = {path.parent.name for path in (ROOT / "tests").glob("*/__init__.py")}
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert rooms == set(re.findall(r"^\| `tests/(\w+)` \|", text, re.MULTILINE))
