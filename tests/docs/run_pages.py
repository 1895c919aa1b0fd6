"""Runs the code of a page as a reader would, and compares the output."""

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

from tests.docs.doc_pages import Command, File, Printed, Python, files, steps
from tests.support.repository import ROOT

LINKED_FOLDERS = ("examples", "tools")
"""Folders of the repository that a reader has beside the files of a page."""


@attrs.frozen
class PageRun:
    """A page and its namespace; it runs in the working directory of the process."""

    page: Path
    namespace: dict[str, Any]


def run_page(page: Path) -> None:
    """Run the steps of a page in the working directory of this process."""
    run = PageRun(page, {"__name__": page.stem})
    for name in LINKED_FOLDERS:
        Path(name).symlink_to(ROOT / name)
    for other in page.parent.glob("*.md"):
        for file in files(other):
            do(file, run)
    for step in steps(page):
        do(step, run)


def run_page_in_subprocess(page: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a page in a process of its own, with its own Spark."""
    imports = "from pathlib import Path; from tests.docs.run_pages import run_page"
    return run_python(f"{imports}; run_page(Path({str(page)!r}))", directory)


def run_program(program: Path, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run a Python program in a process of its own."""
    return _run([sys.executable, str(program)], cwd=directory)


def run_python(code: str, directory: Path) -> subprocess.CompletedProcess[str]:
    """Run Python code in a process of its own."""
    return _run([sys.executable, "-c", code], cwd=directory)


def agree(printed: str, expected: Printed) -> bool:
    """Whether the output is that of the page.

    >>> agree("b\\na\\n", Printed("a\\nb\\n", in_any_order=True))
    True
    >>> agree("took 3 s\\n", Printed("took ... s\\n"))
    True
    """
    if expected.in_any_order:
        return sorted(printed.splitlines()) == sorted(expected.text.splitlines())
    return OutputChecker().check_output(expected.text, printed, ELLIPSIS)


@singledispatch
def do(step: Any, run: PageRun) -> None:
    """Run a step."""
    raise NotImplementedError(type(step))


@do.register
def _(step: Python, run: PageRun) -> None:
    # Empty lines in front, so that a traceback shows the line of the page.
    code = compile("\n" * step.line + step.code, str(run.page), "exec", dont_inherit=True)
    with redirect_stdout(StringIO()) as printed:
        exec(code, run.namespace)
    _compare(printed.getvalue(), step.printed, f"line {step.line + 1}")


@do.register
def _(step: File, run: PageRun) -> None:
    Path(step.name).write_text(step.text)


@do.register
def _(step: Command, run: PageRun) -> None:
    if step.is_run:
        _, *arguments = shlex.split(step.line)
        done = _run([sys.executable, *arguments])
        assert done.returncode == 0, f"$ {step.line}\n{done.stderr}"
        _compare(done.stdout, step.printed, f"$ {step.line}")


def _compare(printed: str, expected: Printed | None, where: str) -> None:
    if expected is not None and not agree(printed, expected):
        assert printed == expected.text, f"printed by {where}:\n{printed}"


def _run(command: list[str], cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    # Commands that start "python" get this Python, as in the reader's environment.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": path}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=900)
