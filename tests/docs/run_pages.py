"""Playing a page: each step is done as a reader would, and what it prints is compared."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from doctest import ELLIPSIS, OutputChecker
from functools import singledispatch
from io import StringIO
from pathlib import Path
from typing import Any

import attrs

from tests.docs.pages import ROOT, Command, File, Printed, Python, files, steps

IN_THE_COPY = ("examples", "tools")
"""What a reader who works in a copy of the repository has beside the files that a page tells to write."""


@attrs.frozen
class Desk:
    """Where a page is played: a page, a namespace, and the working directory of the process."""

    page: Path
    namespace: dict[str, Any]


def play(page: Path) -> None:
    """Do what a page says, in the working directory of this process."""
    desk = Desk(page, {"__name__": page.stem})
    for name in IN_THE_COPY:
        Path(name).symlink_to(ROOT / name)
    for other in page.parent.glob("*.md"):
        for file in files(other):
            do(file, desk)
    for step in steps(page):
        do(step, desk)


def played_elsewhere(page: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Play a page in a process of its own, with a Spark of its own."""
    code = f"from pathlib import Path; from tests.docs.run_pages import play; play(Path({str(page)!r}))"
    return run_python(code, directory)


def run_program(program: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a program of Python's in a process of its own."""
    return _run([sys.executable, str(program)], cwd=directory)


def run_python(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own."""
    return _run([sys.executable, "-c", code], cwd=directory)


def agree(printed: str, expected: Printed) -> bool:
    """Tell whether what was printed is what the page says.

    >>> agree("b\\na\\n", Printed("a\\nb\\n", in_any_order=True))
    True
    >>> agree("took 3 s\\n", Printed("took ... s\\n"))
    True
    """
    if expected.in_any_order:
        return sorted(printed.splitlines()) == sorted(expected.text.splitlines())
    return OutputChecker().check_output(expected.text, printed, ELLIPSIS)


@singledispatch
def do(step: Any, desk: Desk) -> None:
    """Do a step."""
    raise NotImplementedError(type(step))


@do.register
def _(step: Python, desk: Desk) -> None:
    # Empty lines in front, so that a traceback shows the line of the page.
    code = compile("\n" * step.line + step.code, str(desk.page), "exec")
    with redirect_stdout(StringIO()) as printed:
        exec(code, desk.namespace)
    _compare(printed.getvalue(), step.printed, f"line {step.line + 1}")


@do.register
def _(step: File, desk: Desk) -> None:
    Path(step.name).write_text(step.text)


@do.register
def _(step: Command, desk: Desk) -> None:
    if step.is_run:
        _, *arguments = shlex.split(step.line)
        done = _run([sys.executable, *arguments])
        assert done.returncode == 0, f"$ {step.line}\n{done.stderr}"
        _compare(done.stdout, step.printed, f"$ {step.line}")


def _compare(printed: str, expected: Printed | None, where: str) -> None:
    if expected is not None and not agree(printed, expected):
        assert printed == expected.text, f"printed by {where}:\n{printed}"


def _run(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    # What a command starts in its turn with "python" is this Python, as in the reader's environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
