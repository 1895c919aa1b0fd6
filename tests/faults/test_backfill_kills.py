"""A backfill whose processes are all killed around the seam, and resumed, has each element once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.faults.backfill_program import SEAM, WINDOW
from tests.faults.days import on_days, own_kills
from tests.faults.kill_points import kill, processes
from tests.support.services import kafka
from tests.unit.sdk.io.kafka.topics import Topic

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(8),
    pytest.mark.xdist_group("kafka"),
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]


ELEMENTS = 60

START = 100
"""The time of the element 0, in seconds."""

AT = [SEAM - START, SEAM - START - 1, SEAM - START - 7, SEAM - START + 1, ELEMENTS - 1]
"""The elements at which a run is killed: the first ones of the topic, the last ones of the history."""


def run(home: Path, topic: Topic, numbers: list[int]) -> int:
    """Run the program once; return its exit code."""
    scratch = home / "tmp"
    scratch.mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "TMPDIR": str(scratch),
        "HEADRACE_JAVA": f"-Djava.io.tmpdir={scratch}",
    }
    arguments = [str(home), topic.address, topic.name, ",".join(map(str, numbers))]
    command = [sys.executable, "-m", "tests.faults.backfill_program", *arguments]
    with open(home / "log", "ab") as log:
        program = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True
        )
    try:
        return program.wait(300)
    finally:
        for pid in processes(program.pid):
            kill(pid)
        program.wait()


def rows(home: Path, name: str) -> list[Any]:
    """The objects in the files of a sink."""
    lines = (line for path in home.glob(f"{name}-*") for line in path.read_text().splitlines())
    return [json.loads(line) for line in lines]


def test_each_element_once_through_kills_at_the_seam(tmp_path: Path) -> None:
    numbers = [AT[n % len(AT)] for n in own_kills(of_ten=1)[: len(AT)]]
    times = [START + n for n in range(ELEMENTS)]
    history = [json.dumps({"t": t, "n": t - START}) for t in times if t < SEAM + 5]
    (tmp_path / "history.json").write_text("\n".join(history) + "\n")
    with kafka.broker(auto_create=False) as broker:
        topic = Topic.made(broker.address, "numbers")
        for t in times:
            if t >= SEAM - 5:
                topic.write(t % 3, [(None, b"%d" % (t - START))], seconds=t)
        codes = [run(tmp_path, topic, numbers) for _ in numbers]
        codes.append(run(tmp_path, topic, numbers))
    log = (tmp_path / "log").read_text()
    assert codes == [-signal.SIGKILL] * len(numbers) + [0], log[-3000:]
    assert sorted(row["n"] for row in rows(tmp_path, "each")) == list(range(ELEMENTS))
    windows = sorted((row["start"], row["numbers"]) for row in rows(tmp_path, "windows"))
    starts = range(START, START + ELEMENTS, WINDOW)
    assert windows == [(s, [s - START + n for n in range(WINDOW)]) for s in starts]
