"""A fresh clone of the repository in which one target of make is the first command."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import attrs

from tests.support.repository import ROOT

T = TypeVar("T")

STAMP = re.compile(r"\.venv/\.with-[\w+-]+")
PROGRAM = re.compile(r"\.venv/bin/([\w-]+)")
OF_THE_OUTER_MAKE = (
    "MAKEFLAGS",
    "MAKELEVEL",
    "MFLAGS",
    "MAKEOVERRIDES",
    "OLDER_SPARK",
    "VIRTUAL_ENV",
    "PYTHONPATH",
)


@attrs.frozen
class FirstCommand:
    """How a target of make is tried in a fresh clone.

    Attributes:
        arguments: variables of make that keep it small.
        only_prerequisites: why it is not run, if so: it is only installed and its programs are looked for.
    """

    arguments: tuple[str, ...] = ()
    only_prerequisites: str = ""


SMALL = FirstCommand
FIRST_COMMANDS = {
    "help": SMALL(),
    "demo": SMALL(),
    "demo-orders": SMALL(),
    "test": SMALL(("OLDER_SPARK=", "ARGS=--collect-only -q")),
    "test-chaos": SMALL(("ARGS=--collect-only -q",)),
    "test-older-spark": SMALL(("ARGS=--collect-only -q",)),
    "test-spark-versions": SMALL(("ARGS=--page",)),
    "test-fast": SMALL(),
    "laws": SMALL(("N=10", "ARGS=-k lateness")),
    "laws-runner": SMALL(("N=2", "ARGS=--cases=50")),
    "laws-beam": SMALL(("N=10",)),
    "beam-paths": SMALL(),
    "beam-reference": SMALL(),
    "beam-suites": SMALL(("ARGS=--suite=state --mode=local",)),
    "beam-tests": SMALL(("ARGS=--only=metrics/*",)),
    "conformance": SMALL(),
    "prism": SMALL(only_prerequisites="compiles for minutes, and needs Go"),
    "comparison": SMALL(),
    "coverage": SMALL(
        only_prerequisites="runs the whole suite, since a part misses its thresholds"
    ),
    "mutants": SMALL(only_prerequisites="takes hours, and a part misses its threshold"),
    "check": SMALL(),
    "format": SMALL(),
    "bench": SMALL(("ARGS=--scale=0.01 --repeat=1",)),
    "bench-spark": SMALL(("ARGS=--quick --only to-parquet",)),
    "reference": SMALL(),
    "pictures": SMALL(),
    "docs": SMALL(),
    "changelog": SMALL(),
    "hooks": SMALL(),
    "release-check": SMALL(),
    "clean": SMALL(),
    "test-bank": SMALL(("N=2000", "ARGS=--batches=10")),
    "bench-nexmark": SMALL(("ARGS=--query 1 --events=2000",)),
    "bench-yahoo": SMALL(("ARGS=--system 'Headrace, Spark' --rate 500 --seconds=10",)),
    "bench-riot": SMALL(("ARGS=--events=5000",)),
    "bench-linear-road": SMALL(("ARGS=--events=9400",)),
    "bench-size": SMALL(only_prerequisites="takes half an hour; a small run is a test"),
}
"""Every target that ``make help`` lists."""

MORE_FIRST_COMMANDS = {
    "demo RUNNER=spark": SMALL(),
    "demo RUNNER=spark STREAMING=1": SMALL(("ARGS=--max-records-per-batch=50000",)),
    "laws-runner RUNNER=spark": SMALL(("N=1", "ARGS=--cases=1 --pack=60")),
}
"""Other commands of the README and of ``make help``."""

IN_EVERY_RUN = "check"
"""The command that ``.ci/run`` starts with, in a fresh clone: it needs no other one."""

TENTHS = 10


def tenth(commands: Sequence[T], number: int) -> list[T]:
    """Return a tenth of some commands; ten numbers in a row select each of them once."""
    return list(commands[number % TENTHS :: TENTHS])


def clone(directory: Path) -> Path:
    """Clone the repository, with the changes of the working tree that are not committed."""
    copy = directory / "headrace"
    _run(["git", "clone", "--quiet", str(ROOT), str(copy)], ROOT)
    for name in _lines(["git", "ls-files", "--modified", "--others", "--exclude-standard"]):
        source, target = ROOT / name, copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.exists():
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)
        else:
            target.unlink(missing_ok=True)
    return copy


def run_in_a_new_environment(directory: Path, script: str) -> str:
    """Run lines of a shell in a virtual environment without packages, and return what they print.

    Raises:
        AssertionError: a line fails.
    """
    environment = directory / ".new"
    _run([sys.executable, "-m", "venv", str(environment)], directory)
    active = f'PATH="{environment}/bin:$PATH"'
    return _run(["bash", "-e", "-c", f"{active}\n{script}"], directory)


def make(directory: Path, *arguments: str) -> str:
    """Run make and return what it prints.

    Raises:
        AssertionError: it fails.
    """
    return _run(["make", *arguments], directory)


def make_prerequisites(directory: Path, target: str) -> None:
    """Install what a target needs, and check that the programs that it starts are there."""
    commands = make(directory, "--dry-run", target)
    stamps = sorted(set(STAMP.findall(commands)))
    assert stamps, f"make {target} installs nothing"
    make(directory, *stamps)
    programs = set(PROGRAM.findall(commands))
    assert {name for name in programs if not (directory / ".venv/bin" / name).exists()} == set()


def targets() -> set[str]:
    """Return the targets that ``make help`` lists."""
    return {line.split()[1] for line in _lines(["make", "help"])}


def _lines(command: list[str]) -> list[str]:
    return [line for line in _run(command, ROOT).splitlines() if line]


def _run(command: list[str], directory: Path) -> str:
    env = {name: value for name, value in os.environ.items() if not _is_inherited(name)}
    done = subprocess.run(
        command, cwd=directory, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert done.returncode == 0, f"$ {' '.join(command)}\n{done.stdout[-4000:]}"
    return done.stdout


def _is_inherited(name: str) -> bool:
    """Return whether a variable is that of the make or pytest that runs the tests."""
    return name in OF_THE_OUTER_MAKE or name.startswith(("HEADRACE_", "PYTEST_", "COV_"))
