"""Temporary directories of runs are deleted: at exit, and after a process that was killed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import attrs
import pytest

from headrace.runners.spark.state.processes import Process
from headrace.runners.spark.state.run_directory import new_run_directory, remove_abandoned

MAKE = """
import os, sys
from headrace.runners.spark.state.run_directory import new_run_directory
made = new_run_directory()
(made / "file").touch()
print(made, flush=True)
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    return tmp_path


def start(end: str) -> subprocess.Popen[str]:
    """Start a process that makes a directory; it then ends in a given way."""
    program = [sys.executable, "-c", MAKE + end]
    return subprocess.Popen(program, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def made_by(process: subprocess.Popen[str]) -> Path:
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_directory_that_is_written_again_is_deleted_at_exit(place):
    with start("import shutil; shutil.rmtree(made); made.mkdir(); (made / 'again').touch()") as one:
        assert made_by(one).parent == place
    assert list(place.iterdir()) == []


def test_a_forked_child_keeps_the_directory_of_its_parent(place):
    end = "child = os.fork()\nif child: os.waitpid(child, 0); print(made.exists(), flush=True)"
    with start(end) as one:
        made_by(one)
        assert one.stdout is not None
        assert one.stdout.read() == "True\n"


def test_only_directories_of_dead_processes_are_deleted(place):
    with start("sys.stdin.read()") as living:
        alive = made_by(living)
        with start("os._exit(1)") as killed:
            dead = made_by(killed)
        other = place / "headrace-run-of-another-version"
        other.mkdir()
        assert sorted(place.iterdir()) == sorted([alive, dead, other])
        mine = new_run_directory()
        assert sorted(place.iterdir()) == sorted([alive, mine, other])
        remove_abandoned()
        assert sorted(place.iterdir()) == sorted([alive, mine, other])


def test_directories_of_other_hosts_stay(monkeypatch):
    elsewhere = attrs.evolve(Process.of(), host="mill", started="1")
    with monkeypatch.context() as there:
        there.setattr(Process, "of", lambda: elsewhere)
        theirs = new_run_directory()
    remove_abandoned()
    assert theirs.exists()
