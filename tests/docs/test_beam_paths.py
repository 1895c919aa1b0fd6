"""The modules under Beam's paths are what one table says, and contain no code."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path

import pytest

from headrace.sdk.beam.names import GOOGLE_MODULES
from tests.support.repository import ROOT

sys.path.append(str(ROOT / "tools"))  # for the parameters of the tests below
import beam_paths

NAMES = sorted(beam_paths.table())


def test_the_files_are_current_and_there_are_no_others() -> None:
    assert beam_paths.outdated() == []


def test_a_file_of_another_hand_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beam_paths, "PACKAGE", tmp_path)
    beam_paths.write()
    assert beam_paths.outdated() == []
    added, changed = tmp_path / "io/gcp/extra.py", tmp_path / "transforms/core.py"
    added.touch()
    changed.write_text(changed.read_text() + "answer = 42\n")
    assert beam_paths.outdated() == [added, changed]


@pytest.mark.parametrize("name", NAMES)
def test_a_module_has_imports_only(name: str) -> None:
    tree = ast.parse(beam_paths.path_of(name).read_text())
    assert ast.get_docstring(tree)
    for statement in tree.body[1:]:
        code = ast.unparse(statement)
        assert isinstance(statement, ast.ImportFrom) or code.startswith(
            ("__all__", "if not _TYPE_CHECKING:\n    __getattr__ = ")
        ), code


@pytest.mark.parametrize("name", NAMES)
def test_a_module_offers_the_names_of_the_table(name: str) -> None:
    section, module = beam_paths.table()[name], importlib.import_module(f"headrace.{name}")
    assert set(getattr(module, "__all__", ())) == set(beam_paths.names(section))
    for home, imported in section.imports.items():
        for each in imported:
            thing = getattr(module, beam_paths.name_bound(each))
            assert thing is getattr(importlib.import_module(home), each.partition(" as ")[0])


def test_modules_without_names_say_what_to_use_instead() -> None:
    sections = beam_paths.table()
    assert {name for name in NAMES if sections[name].refuses == "google"} == set(GOOGLE_MODULES)


def test_an_unknown_key_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = tmp_path / "paths.toml"
    table.write_text('["pvalue"]\ndoc = "Collections."\nimports = ["Row"]\n')
    monkeypatch.setattr(beam_paths, "TABLE", table)
    with pytest.raises(TypeError):
        beam_paths.table.__wrapped__()


def test_no_module_is_named_as_a_test() -> None:
    assert [name for name in NAMES if name.endswith("_test")] == []
