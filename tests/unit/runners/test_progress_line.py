"""The line of progress: on a terminal without a flag, nowhere else, and never among other output."""

from __future__ import annotations

import io
import logging
import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from headrace.runners.engine.progress import Progress, ProgressNumbers
from headrace.runners.engine.terminal_line import GuardedStream, TerminalLine, is_terminal
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from tests.support.repository import ROOT

PATIENCE = 200
"""Seconds until a program that does not do what is expected fails its test."""

SLOW = """
import logging, sys, time
import headrace as hr

class Numbers(hr.io.UnboundedSource):
    def read(self, partition, offset, limit):
        time.sleep(0.1)
        number = offset or 0
        records = [hr.TimestampedValue(("k", n), n) for n in range(number, number + 50)]
        return hr.io.Batch(records, number + 50, finished=number >= 1500)

def show(pair):
    if pair[1] % 500 == 0:
        print("element", pair[1])
        logging.warning("a warning")
    return pair

logging.basicConfig()
p = hr.Pipeline(argv=sys.argv[1:])
numbers = p | hr.Read(Numbers(), watermark=hr.Monotonic()) | hr.Map(show)
numbers | hr.WindowInto(hr.window.FixedWindows(10)) | hr.CombinePerKey(sum)
print("ended:", p.run().wait_until_finish())
"""


class Terminal(io.StringIO):
    """A terminal, as far as a line needs one."""

    def isatty(self) -> bool:
        return True


@contextmanager
def in_terminal(*command: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A program whose standard streams are a terminal, in a session of its own, as in a window."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(
        [sys.executable, *command],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=environment,
        cwd=ROOT,
        preexec_fn=lambda: _own_session(theirs),
    ) as run:
        os.close(theirs)
        try:
            yield run, ours
        finally:
            run.kill()
            os.close(ours)


def _own_session(terminal: int) -> None:
    import fcntl
    import termios

    os.setsid()
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


def shown(terminal: int, until: str = "") -> str:
    """What a program writes to a terminal, until some text comes or it ends."""
    found, end = "", time.monotonic() + PATIENCE
    while not until or until not in found:
        assert time.monotonic() < end, found
        if select.select([terminal], [], [], 1)[0]:
            try:
                data = os.read(terminal, 1 << 16)
            except OSError:  # the other side is closed
                return found
            if not data:
                return found
            found += data.decode()
    return found


def lines_left(text: str) -> list[str]:
    """The lines that are on a terminal in the end: text after a carriage return overwrites."""
    left = []
    for line in text.replace("\r\n", "\n").split("\n"):
        cells: list[str] = []
        for part in line.split("\r"):
            cells[: len(part)] = part
        left.append("".join(cells).rstrip())
    return left


@pytest.mark.slow
@pytest.mark.parametrize("flags", [(), ("--no-progress",)], ids=["terminal", "no progress"])
def test_a_terminal_shows_the_line_without_a_flag(flags: tuple[str, ...]) -> None:
    with in_terminal("-c", SLOW, *flags) as (run, terminal):
        text = shown(terminal)
        assert run.wait(PATIENCE) == 0
    drawn = [part for part in text.split("\r") if " records  " in part]
    if flags:
        assert not drawn
    else:
        assert any(
            "/s  watermark 1970-01-01 00:" in part and "  batch " in part and " states" in part
            for part in drawn
        )
    left = [line for line in lines_left(text) if line]
    expected = [f"element {n}" for n in (0, 500, 1000, 1500)]
    assert [line for line in left if not line.startswith("WARNING")] == [
        *expected,
        "ended: DONE",
    ], "no other output is mixed with the line, and nothing of it is left"
    assert left.count("WARNING:root:a warning") == 4


@pytest.mark.slow
def test_a_pipe_gets_nothing() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SLOW],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        timeout=PATIENCE,
    )
    assert run.returncode == 0
    assert set(run.stderr.splitlines()) == {"WARNING:root:a warning"}
    assert run.stdout.splitlines()[-1] == "ended: DONE"
    assert "records" not in run.stdout


@pytest.mark.slow
def test_ctrl_c_in_the_example_says_that_it_was_cancelled_and_compares_nothing(
    tmp_path: Path,
) -> None:
    sample = (ROOT / "tests/docs/examples/flights.csv").read_text().splitlines(keepends=True)
    (tmp_path / "flights.csv").write_text("".join([sample[0], *sample[1:] * 2_000]))
    files = [f"--input={tmp_path / 'flights.csv'}", f"--output={tmp_path / 'out'}"]
    with in_terminal("examples/flights.py", "--streaming", *files) as (run, terminal):
        text = shown(terminal, until="  batch ")
        os.write(terminal, b"\x03")
        text += shown(terminal)
        assert run.wait(PATIENCE) == 130
    assert "The run was cancelled after" in text
    assert "Compared" not in text
    assert "Traceback" not in text
    assert not (tmp_path / "out").exists(), "the directory was made before the run, for nothing"


@pytest.mark.parametrize(
    ("micros", "expected"),
    [
        (MIN_MICROS, "watermark at the beginning"),
        (MAX_MICROS, "watermark at the end"),
        (0, "watermark 1970-01-01 00:00:00"),
        (-(10**17), "watermark -100000000000"),
    ],
)
def test_watermarks_in_the_line(micros: int, expected: str) -> None:
    assert expected in ProgressNumbers(watermark=micros).line(0, 0)


def test_other_output_removes_the_line_first(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    handler = logging.StreamHandler(screen)
    logging.getLogger("mill").addHandler(handler)
    line = TerminalLine(screen)
    line.open()
    try:
        line.draw("0:01  a long line")
        print("output")
        line.draw("0:02  another")
        logging.getLogger("mill").warning("a log")
        print("no end of line", end="")
        line.draw("0:03  not drawn within a line")
        print()
        line.draw("0:04")
    finally:
        line.close()
        logging.getLogger("mill").removeHandler(handler)
    assert lines_left(screen.getvalue()) == ["output", "a log", "no end of line", ""]
    assert sys.stdout is sys.stderr is handler.stream is screen


def test_a_run_within_a_run_draws_no_second_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    assert is_terminal(sys.stderr)
    with Progress():
        assert isinstance(sys.stderr, GuardedStream)
        assert not Progress().is_shown
    assert Progress().is_shown
    assert not Progress(wanted=False).is_shown


def test_a_program_without_streams_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    for stream in (None, closed()):
        monkeypatch.setattr(sys, "stderr", stream)
        assert not Progress().is_shown


def closed() -> io.StringIO:
    stream = io.StringIO()
    stream.close()
    return stream


def test_what_the_runner_does_may_fail(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress(wanted=True, activity=lambda: str(1 // 0)) as progress:
        progress.advance(3)
    assert "3 records" in capsys.readouterr().err
