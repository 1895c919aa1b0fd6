"""What the suite's marks say: which tests run on which runner, in which mode, and why some do not.

The suite is collected, not run; so nothing of Spark has to start.
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

ROOT = Path(__file__).parents[2]
SUITE = ("tests/test_figures.py", "tests/semantics", "tests/sdk", "tests/laws")
"""Where tests are that run on each runner."""

SCRIPTED = "tests/laws/"
"""The laws play scripts, so all of their pipelines stream."""

WHERE_TO = "HEADRACE_MARKS"


@attrs.frozen
class Marked:
    """A test that is to run on a runner.

    Attributes:
        area: the file that it is in, from the root.
        name: the name of the test, without parameters.
        runner: "local" or "spark".
        mode: "batch", "streaming" or "any".
        gap: why it does not run there, or is expected to fail; empty if it runs.
        params: its other parameters, as pytest spells them.
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
        env = {**os.environ, WHERE_TO: str(path), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"pytest could not collect the suite:\n{done.stdout}{done.stderr}")
        return [Marked(**row) for row in json.loads(path.read_text())]


OPTIONS = ("-p", "tests.conformance.marks", "-p", "no:cacheprovider", "-p", "no:xdist")


def pytest_collection_finish(session: pytest.Session) -> None:
    """As a plugin: write down what was collected."""
    path = os.environ.get(WHERE_TO)
    if path:
        rows = [attrs.asdict(marked(item)) for item in session.items if _runner(item)]
        Path(path).write_text(json.dumps(rows))


def marked(item: pytest.Item) -> Marked:
    """What the marks of a test say."""
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
    callspec = getattr(item, "callspec", None)
    runner = callspec.params.get("runner") if callspec else None
    return runner if isinstance(runner, str) else None


def mode(item: Any, params: dict[str, Any]) -> str:
    """How the pipelines of a test run: by its parameter, its mark, or since it plays a test stream.

    "any" is for what is refused while a pipeline is built.

    Raises:
        ValueError: nothing tells.
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
