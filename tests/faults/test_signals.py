"""Ctrl-C and SIGTERM stop a run after the current batch; a resumed run continues without a gap."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.run_and_kill import sink_contents, started, wait_for_end_of

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.sampled]


def logged(home: Path, kind: str) -> set[int]:
    return {int(path.name) for path in (home / "checkpoint" / kind).glob("[0-9]*")}


def wait_for_batches(run: subprocess.Popen, home: Path, number: int) -> None:
    end = time.monotonic() + 300
    while max(logged(home, "commits"), default=-1) < number:
        assert run.poll() is None, (home / "log").read_text()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_c_and_sigterm_stop_after_the_running_batch(reference_run, tmp_path):
    expected, java = reference_run
    for number, send in enumerate([ctrl_c, terminate], start=1):
        with started(tmp_path, java) as run:
            wait_for_batches(run, tmp_path, 3 * number)
            send(run.pid)
            assert run.wait(120) == 3, "the exit code of the program when it is cancelled"
            wait_for_end_of(run.pid)
        assert logged(tmp_path, "commits") == logged(tmp_path, "offsets")
        assert "Traceback" not in (tmp_path / "log").read_text()
    with started(tmp_path, java) as run:
        assert run.wait(300) == 0
    assert sink_contents(tmp_path) == expected


def ctrl_c(driver: int) -> None:
    """As a terminal does: to all processes in the foreground, Java included."""
    os.killpg(driver, signal.SIGINT)


def terminate(driver: int) -> None:
    """As ``docker stop`` and ``kill`` do."""
    os.kill(driver, signal.SIGTERM)
