"""Collects the marks of the suite: which tests run on which runner, in which mode, and why some do not.

The suite is only collected, so Spark does not start.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.support.repository import ROOT

SUITE = ("tests/model/test_figures.py", "tests/model/semantics", "tests/unit/sdk", "tests/laws")
"""The tests that run on each runner."""

SCRIPTED = "tests/laws/"
"""All pipelines of the laws are streaming pipelines."""

OUTPUT_VARIABLE = "HEADRACE_MARKS"


@attrs.frozen
class Marked:
    """A test and the runner that it runs on.

    Attributes:
        area: its file, relative to the root.
        name: its name, without parameters.
        runner: "local" or "spark".
        mode: "batch", "streaming" or "any".
        gap: why it does not run there, or is expected to fail; empty if it runs.
        params: its other parameters, as pytest formats them.
    """

    area: str
    name: str
    runner: str
    mode: str
    gap: str
    params: str


def collected() -> list[Marked]:
    """All tests of the suite that have a runner."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "marks.json")
        command = [sys.executable, "-m", "pytest", "--collect-only", "--quiet", *OPTIONS, *SUITE]
        env = {**os.environ, OUTPUT_VARIABLE: str(path), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pytest could not collect the suite:\n{done.stdout}{done.stderr}")
        return [Marked(**row) for row in json.loads(path.read_text())]


OPTIONS = ("-p", "tests.beam.conformance.marks", "-p", "no:cacheprovider", "-p", "no:xdist")


def pytest_collection_finish(session: pytest.Session) -> None:
    """A pytest hook: write the marks to a file."""
    path = os.environ.get(OUTPUT_VARIABLE)
    if path:
        rows = [attrs.asdict(marked(item)) for item in session.items if _runner(item)]
        Path(path).write_text(json.dumps(rows))


def marked(item: Any) -> Marked:
    """The marks of a test."""
    params = dict(item.callspec.params)
    return Marked(
        area=item.nodeid.partition("::")[0],
        name=getattr(item, "originalname", item.name),
        runner=params["runner"],
        mode=mode(item, params),
        gap=gap(item, params["runner"]),
        params=item.callspec.id,
    )


def _runner(item: pytest.Item) -> str | None:
    mark = item.get_closest_marker("on_runner")
    return str(mark.args[0]) if mark else None


def mode(item: Any, params: dict[str, Any]) -> str:
    """The mode of a test's pipelines: from its parameter, its mark, or because it plays a test stream.

    "any" is for errors at construction time.

    Raises:
        ValueError: none of these is there.
    """
    if params.get("mode") in ("batch", "streaming"):
        return str(params["mode"])
    mark = item.get_closest_marker("mode")
    if mark:
        return str(mark.args[0])
    if "play" in item.fixturenames or item.nodeid.startswith(SCRIPTED):
        return "streaming"
    raise ValueError(f"{item.nodeid}: mark it with @pytest.mark.mode: batch, streaming or any")


def gap(item: pytest.Item, runner: str) -> str:
    """Why a test does not run on its runner; empty if it does."""
    local_only = item.get_closest_marker("local_only")
    if local_only and runner != "local":
        return str(local_only.args[0])
    for mark in item.iter_markers("xfail"):
        return str(mark.kwargs.get("reason", "expected to fail"))
    return ""
