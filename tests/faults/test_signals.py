"""Ctrl-C and SIGTERM stop a run after the current batch; a resumed run continues without a gap."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.days import on_days
from tests.faults.run_and_kill import sink_contents, started, wait_for_end_of
from tests.support.repository import ROOT
from tests.unit.runners.test_progress_line import in_terminal, shown

pytestmark = [pytest.mark.slow, pytest.mark.chaos, on_days(4)]


def logged(home: Path, kind: str) -> set[int]:
    return {int(path.name) for path in (home / "checkpoint" / kind).glob("[0-9]*")}


def wait_for_batches(run: subprocess.Popen, home: Path, number: int) -> None:
    end = time.monotonic() + 300
    while max(logged(home, "commits"), default=-1) < number:
        assert run.poll() is None, (home / "log").read_text()
        assert time.monotonic() < end
        time.sleep(0.05)


def test_ctrl_c_and_sigterm_stop_after_the_running_batch(reference_run, tmp_path):
    for number, send in enumerate([ctrl_c, terminate], start=1):
        with started(tmp_path) as run:
            wait_for_batches(run, tmp_path, 3 * number)
            send(run.pid)
            assert run.wait(120) == 3, "the exit code of the program when it is cancelled"
            wait_for_end_of(run.pid)
        assert logged(tmp_path, "commits") == logged(tmp_path, "offsets")
        assert "Traceback" not in (tmp_path / "log").read_text()
    with started(tmp_path) as run:
        assert run.wait(300) == 0
    assert sink_contents(tmp_path) == reference_run


def test_ctrl_c_in_a_terminal_ends_the_example_which_then_compares_nothing(tmp_path):
    sample = (ROOT / "tests/docs/examples/flights.csv").read_text().splitlines(keepends=True)
    (tmp_path / "flights.csv").write_text("".join([sample[0], *sample[1:] * 400]))
    flags = ["--streaming", "--runner=spark", "--spark-master=local[2]"]
    files = [f"--input={tmp_path / 'flights.csv'}", f"--output={tmp_path / 'out'}"]
    with in_terminal("examples/flights.py", *flags, *files) as (run, terminal):
        text = shown(terminal, until="  batch ")
        os.write(terminal, b"\x03")
        text += shown(terminal)
        assert run.wait(120) == 130
        wait_for_end_of(run.pid)
    assert "  Spark starts" in text
    assert "The run was cancelled after" in text
    assert "Compared" not in text
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists()


def ctrl_c(driver: int) -> None:
    """As a terminal does: to all processes in the foreground, Java included."""
    os.killpg(driver, signal.SIGINT)


def terminate(driver: int) -> None:
    """As ``docker stop`` and ``kill`` do."""
    os.kill(driver, signal.SIGTERM)
