"""Programs that were written for Beam run here with nothing but the name in their imports changed.

That they are good Beam programs is checked by running them as they are, where Beam is installed.
"""

import importlib.util
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from tests.faults.days import in_turns

PROGRAMS = sorted((Path(__file__).parent / "beam_programs").glob("*.py"))
PROGRAMS_IN_TURNS = [
    pytest.param(path, id=path.stem, marks=in_turns(number)) for number, path in enumerate(PROGRAMS)
]
"""Beam takes up to half a minute for each."""


def run(path, source, monkeypatch):
    program = ModuleType(path.stem)
    monkeypatch.setitem(sys.modules, path.stem, program)  # so that its classes can be pickled
    exec(compile(source, str(path), "exec"), vars(program))
    program.run()


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore:.*counts elements more than once")
@pytest.mark.filterwarnings("ignore:there is no flag --some_flag")
def test_it_runs_here(path, monkeypatch) -> None:
    run(path, path.read_text().replace("apache_beam", "headrace"), monkeypatch)


@pytest.mark.skipif(importlib.util.find_spec("apache_beam") is None, reason="Beam is not installed")
@pytest.mark.parametrize("path", PROGRAMS_IN_TURNS)
def test_it_runs_on_beam(path, monkeypatch) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run(path, path.read_text(), monkeypatch)
