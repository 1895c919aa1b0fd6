"""A checkpoint has one owner, and a query that is stopped from outside ends as cancelled."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

import headrace as hr
from headrace.runners.spark.state.acquire_lease import acquire
from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
from headrace.runners.spark.state.lease_files import HadoopLeaseFiles, LocalLeaseFiles
from headrace.runners.spark.state.lease_record import file_of, newest, owner_in
from headrace.runners.spark.state.processes import Process
from headrace.sdk.pipelines.result import PipelineState
from tests.faults.kill_points import kill, processes
from tests.faults.owned_program import pipeline
from tests.faults.runs import append, lines_of, write

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("spark")]

SECOND = 1.0
FIRST, SECOND_LINE, THIRD = "('a', 1)", "('a', 2)", "('a', 3)"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    write(tmp_path / "lines", p=["1 a 1"])
    return tmp_path


def start(home: Path, *, replace: bool = False, flags: tuple[str, ...] = ()) -> Any:
    """Start in the session of the tests."""
    return pipeline(home, *flags).run(replace=replace)


def until(home: Path, *expected: str) -> None:
    """Wait until the sink holds what is expected."""
    end = time.monotonic() + 120
    while lines_of(home, "copies") != sorted(expected):
        assert time.monotonic() < end, lines_of(home, "copies")
        time.sleep(0.05)


def until_ended(run: Any, seconds: float) -> str:
    """Return the state of a run after some seconds, or as soon as it has ended."""
    end = time.monotonic() + seconds
    while not PipelineState.is_terminal(run.state) and time.monotonic() < end:
        time.sleep(0.01)
    return str(run.state)


def is_finished(home: Path) -> bool:
    return '"finished": true' in (home / "checkpoint" / "headrace.json").read_text()


def test_a_second_run_is_refused_or_replaces_the_first_and_nothing_is_left_unread(home, caplog):
    first = start(home)
    until(home, FIRST)
    before = time.monotonic()
    with pytest.raises(hr.CheckpointInUseError, match=r"run\(replace=True\)"):
        start(home)
    assert time.monotonic() - before < 10
    assert first.wait_until_finish(duration=300) == "RUNNING"

    second = start(home, replace=True)
    assert first.state == first.wait_until_finish() == "CANCELLED"
    append(home / "lines", "p", "2 a 2")
    until(home, FIRST, SECOND_LINE)

    second.query.stop()
    assert until_ended(second, SECOND) == "CANCELLED"
    assert second.wait_until_finish() == second.cancel() == second.drain() == "CANCELLED"
    said = [record.message for record in caplog.records if record.levelno == logging.WARNING]
    assert "the run was cancelled from outside: another run has replaced it" in said
    assert "the run was cancelled from outside: its query was stopped" in said
    assert not is_finished(home)

    append(home / "lines", "p", "3 a 3")
    third = start(home)  # at once: the run that was stopped has given the checkpoint back
    until(home, FIRST, SECOND_LINE, THIRD)
    assert third.drain() == "DONE"
    assert is_finished(home)
    owner = newest(LocalLeaseFiles(home / "checkpoint" / "owner"))
    assert owner is not None
    assert owner.owner is not None
    assert owner.owner.released


def test_a_run_that_is_stopped_at_once_gives_the_checkpoint_to_the_next(home):
    for _ in range(2):
        run = start(home)
        run.query.stop()
        # The next start is not refused, though nobody has waited for the end of this run.
    run = start(home)
    until(home, FIRST)
    assert run.drain() == "DONE"


class Slow(hr.DoFn):
    """Takes some seconds, and tells when it begins."""

    def __init__(self, begun: Path) -> None:
        self.begun = str(begun)

    def process(self, element: Any) -> Any:
        Path(self.begun).touch()
        time.sleep(3)
        yield element


def test_a_job_that_is_cancelled_in_sparks_pages_cancels_the_run(spark, home):
    begun = home / "begun"
    flags = ["--runner=spark", "--streaming", f"--checkpoint={home / 'checkpoint'}"]
    p = hr.Pipeline(argv=[*flags, "--key-groups=2"])
    _ = p | hr.Create([1]) | hr.ParDo(Slow(begun)) | hr.io.WriteToText(home / "files" / "slow")
    runs: list[Any] = []
    thread = threading.Thread(target=lambda: runs.append(p.run()))
    thread.start()
    end = time.monotonic() + 120
    while not begun.exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    spark.sparkContext.cancelAllJobs()
    thread.join(60)
    (run,) = runs
    assert until_ended(run, 10) == run.wait_until_finish() == "CANCELLED"
    assert not is_finished(home)


def test_a_run_that_was_paused_and_replaced_commits_no_more(home):
    run = start(home)
    until(home, FIRST)
    files = LocalLeaseFiles(home / "checkpoint" / "owner")
    owner = owner_in(files.read(file_of(1)) or "")
    assert owner is not None
    other = attrs.evolve(owner, token="another", process=Process("mill", "there", 7, "1"))
    files.create(file_of(2), other.as_text())
    append(home / "lines", "p", "2 a 2")
    with pytest.raises(
        hr.LeaseLostError, match="another run has taken over the checkpoint"
    ) as lost:
        run.wait_until_finish(60_000)
    assert "process 7 on mill" in lost.value.where
    assert run.state == "FAILED"
    assert lines_of(home, "copies") == [FIRST]
    assert files.read(file_of(2)) == other.as_text()
    with pytest.raises(hr.CheckpointInUseError, match="process 7 on mill"):
        start(home)
    with pytest.raises(hr.CheckpointInUseError, match="process 7 on mill"):
        start(home, flags=("--max-records-per-batch=5",))
    assert not is_finished(home)


def test_another_program_that_writes_to_the_checkpoint_is_named(home):
    """It does not know leases: an earlier version of Headrace, or Spark itself."""
    run = start(home)
    until(home, FIRST)
    for number in range(1000):
        for log in ("offsets", "commits"):
            file = home / "checkpoint" / log / str(number)
            if not file.exists():
                file.write_text("v1\n{}")
    append(home / "lines", "p", "2 a 2")
    with pytest.raises(hr.LeaseLostError, match="another program has written to the checkpoint"):
        run.wait_until_finish(60_000)


def test_leases_are_files_of_hadoop_where_python_cannot_open_them(spark, tmp_path):
    jvm: Any = spark._jvm
    there = Checkpoint(spark, (tmp_path / "checkpoint").as_uri())
    assert isinstance(there.lease_files(), LocalLeaseFiles)
    directory = jvm.org.apache.hadoop.fs.Path(str(tmp_path / "checkpoint"), "owner")
    files = HadoopLeaseFiles(there._files, directory, there._io)
    assert files.settling == 0
    assert files.names() == []
    assert files.read("1") is None
    assert files.create("1", "é") is True
    assert files.create("1", "b") is False
    assert files.read("1") == "é"
    files.replace("1", "c")
    assert files.read("1") == "c"
    assert files.names() == ["1"]
    files.delete("1")
    files.delete("1")
    lease = acquire(files, "c")
    with pytest.raises(hr.CheckpointInUseError):
        acquire(files, "c")
    lease.beat()
    lease.release()
    second = acquire(files, "c")
    assert files.names() == [file_of(2)]
    second.check()
    files.create(file_of(3), "")
    with pytest.raises(hr.LeaseLostError):
        second.beat()
    second.release()


class Program:
    """A program in another process."""

    def __init__(self, home: Path) -> None:
        self.log = (home / "log").open("wb")
        self.process: Any = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.owned_program", str(home)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            start_new_session=True,
        )

    def tell(self, order: str) -> None:
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()

    def ask(self, order: str) -> str:
        self.tell(order)
        return str(self.process.stdout.readline().strip())

    def end(self) -> None:
        for pid in processes(self.process.pid):
            kill(pid)
        self.process.communicate()
        self.log.close()


@pytest.fixture
def program(home: Path) -> Iterator[Program]:
    started = Program(home)
    yield started
    started.end()


def test_two_processes_on_one_checkpoint(home: Path, spark: SparkSession, program: Program) -> None:
    assert program.ask("start") == "RUNNING"
    until(home, FIRST)
    with pytest.raises(hr.CheckpointInUseError, match=f"process {program.process.pid} on "):
        start(home)
    program.tell("wait")
    run = start(home, flags=("--replace-run",))
    assert program.process.stdout.readline() == "CANCELLED\n"
    assert program.ask("start").startswith("refused: the checkpoint")
    append(home / "lines", "p", "2 a 2")
    until(home, FIRST, SECOND_LINE)
    assert run.cancel() == "CANCELLED"

    assert program.ask("start") == "RUNNING"
    append(home / "lines", "p", "3 a 3")
    until(home, FIRST, SECOND_LINE, THIRD)
    assert program.ask("stop session") == "CANCELLED CANCELLED"
    assert not is_finished(home)

    assert program.ask("start") == "RUNNING"  # in a new session, and it is killed
    kill(program.process.pid)
    os.waitid(os.P_PID, program.process.pid, os.WEXITED | os.WNOWAIT)  # it stays a zombie
    start_again = start(home)
    assert start_again.state == "RUNNING"
    assert start_again.drain() == "DONE"
    assert lines_of(home, "copies") == [FIRST, SECOND_LINE, THIRD]
