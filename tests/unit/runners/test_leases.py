"""A checkpoint has one owner: who is refused, who takes over, and who notices that it was replaced."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import attrs
import pytest

import headrace as hr
from headrace.runners.spark.state.acquire_lease import PATIENCE, WATCH, acquire
from headrace.runners.spark.state.lease import INTERVAL, LENGTH, Lease, LeaseClock
from headrace.runners.spark.state.lease_files import LocalLeaseFiles
from headrace.runners.spark.state.lease_record import (
    Owner,
    file_of,
    newest,
    request_of,
)
from headrace.runners.spark.state.processes import Process

ELSEWHERE = Process("mill", "another kernel", 7, "1")


@attrs.define
class Time:
    """A clock that goes on only when something sleeps; what else happens then is a function."""

    now: float = 1_000_000.0
    meanwhile: Callable[[], object] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.meanwhile()

    @property
    def clock(self) -> LeaseClock:
        return LeaseClock(lambda: self.now, self.sleep)


@pytest.fixture
def files(tmp_path: Path) -> LocalLeaseFiles:
    return LocalLeaseFiles(tmp_path / "owner")


@pytest.fixture
def at() -> Time:
    return Time()


def owned_by(files: LocalLeaseFiles, at: Time, process: Process, **changes: Any) -> Owner:
    """Write the lease of a run that this process does not hold."""
    owner = attrs.evolve(Owner.here("job.py", at.now), process=process, **changes)
    files.directory.mkdir(exist_ok=True)
    files.replace(file_of(1), owner.as_text())
    return owner


def owner_of(files: LocalLeaseFiles) -> Owner:
    found = newest(files)
    assert found is not None
    assert found.owner is not None
    return found.owner


def holder(files: LocalLeaseFiles) -> str:
    return owner_of(files).token


def test_a_second_run_of_a_process_is_refused_at_once(files, at):
    first = acquire(files, "/data/mill", clock=at.clock)
    before = at.now
    with pytest.raises(hr.CheckpointInUseError) as refused:
        acquire(files, "/data/mill", clock=at.clock)
    assert at.now == before, "it does not wait"
    assert "/data/mill is in use by another run of this process" in str(refused.value)
    assert f"process {os.getpid()} on " in refused.value.where
    assert "result.cancel()" in refused.value.remedy
    assert "run(replace=True)" in refused.value.remedy
    first.check()
    first.release()
    acquire(files, "/data/mill", clock=at.clock).release()


def test_a_second_process_is_refused_with_the_owner_and_the_end_of_its_lease(files, at):
    owned_by(files, at, ELSEWHERE)
    at.now += 12
    with pytest.raises(hr.CheckpointInUseError) as refused:
        acquire(files, "/data/mill", clock=at.clock)
    assert refused.value.problem == "the checkpoint /data/mill is in use by another run"
    assert refused.value.where == (
        "process 7 on mill (job.py), since 1970-01-12 13:46:40 UTC, last heartbeat 12 s ago"
    )
    assert "run(replace=True) or --replace-run" in refused.value.remedy
    assert "runs out in 18 s" in refused.value.remedy


def test_a_lease_that_has_run_out_is_watched_and_taken(files, at):
    owned_by(files, at, ELSEWHERE)
    at.now += LENGTH + 1
    before = at.now
    lease = acquire(files, "c", clock=at.clock)
    assert at.now - before == pytest.approx(WATCH, abs=0.3)
    lease.check()
    assert files.names() == [file_of(2)]
    lease.release()


def test_an_owner_whose_clock_is_slow_keeps_its_lease(files, at):
    owner = owned_by(files, at, ELSEWHERE)
    at.now += 10 * LENGTH
    start = at.now

    def beat() -> None:
        beats = (at.now - start) // INTERVAL
        files.replace(file_of(1), attrs.evolve(owner, beat=owner.beat + beats).as_text())

    at.meanwhile = beat
    with pytest.raises(hr.CheckpointInUseError, match="last heartbeat 0 s ago"):
        acquire(files, "c", clock=at.clock)
    assert INTERVAL <= at.now - start < WATCH
    assert holder(files) == owner.token


def test_a_paused_owner_finds_out_that_it_was_replaced(files, at):
    paused = acquire(files, "/data/mill", clock=at.clock)
    with forgotten(paused):
        owner = owner_of(files)
        files.replace(file_of(1), attrs.evolve(owner, process=ELSEWHERE).as_text())
        at.now += LENGTH + 1
        acquire(files, "/data/mill", clock=at.clock).release()
        for _ in range(2):  # the same again, after others have come and gone
            with pytest.raises(
                hr.LeaseLostError, match="another run has taken over the checkpoint"
            ):
                paused.check()
            with pytest.raises(hr.LeaseLostError):
                paused.beat()
            acquire(files, "/data/mill", clock=at.clock).release()
    assert paused.lost is not None
    assert holder(files) != paused._owner.token
    paused.release()
    assert holder(files) != paused._owner.token


class forgotten:
    """Within it this process does not know that it holds a lease, as if another one did."""

    def __init__(self, lease: Lease) -> None:
        self.lease = lease

    def __enter__(self) -> None:
        del Lease._held[self.lease._owner.token]

    def __exit__(self, *error: object) -> None:
        Lease._held[self.lease._owner.token] = self.lease


def test_the_heartbeat_moves_the_end_of_the_lease(files, at):
    lease = acquire(files, "c", clock=at.clock)
    at.now += LENGTH - 1
    lease.beat()
    assert owner_of(files).beat == at.now
    assert owner_of(files).since == at.now - (LENGTH - 1)
    assert not lease.asked.is_set()
    files.replace(request_of(1), "")
    lease.beat()
    assert lease.asked.is_set()
    lease.release()
    assert files.names().count(file_of(1)) == 1
    with pytest.raises(hr.LeaseLostError, match="given the checkpoint c back"):
        lease.check()
    lease.beat()  # without effect
    assert owner_of(files).released


def test_a_deleted_checkpoint_is_lost(files):
    lease = acquire(files, "c")
    files.delete(file_of(1))
    with pytest.raises(hr.LeaseLostError, match="c was deleted while this run used it"):
        lease.check()
    lease.release()
    assert files.names() == [], "nothing is written into what was deleted"


def test_a_process_that_has_ended_is_known_only_in_its_own_place(files, at):
    ended = attrs.evolve(Process.of(), started="1")
    owned_by(files, at, attrs.evolve(ended, place="another container of this host"))
    with pytest.raises(hr.CheckpointInUseError):
        acquire(files, "c", clock=at.clock)
    owned_by(files, at, attrs.evolve(ended, place=""))
    with pytest.raises(hr.CheckpointInUseError):
        acquire(files, "c", clock=at.clock)
    owned_by(files, at, ended)
    before = at.now
    acquire(files, "c", clock=at.clock).release()
    assert at.now == before


def test_an_owner_has_ended_when_its_jvm_has(files, at):
    ended = attrs.evolve(Process.of(), started="1")
    owner = owned_by(files, at, ended, jvm=Process.of())
    with pytest.raises(hr.CheckpointInUseError):
        acquire(files, "c", clock=at.clock)
    start = at.now

    def end() -> None:
        if at.now > start + 3:
            files.replace(file_of(1), attrs.evolve(owner, jvm=ended).as_text())

    at.meanwhile = end
    acquire(files, "c", clock=at.clock).release()
    assert at.now - start == pytest.approx(3, abs=0.5)


def test_another_run_ends_before_it_is_replaced(files, at):
    first = acquire(files, "c", clock=at.clock)
    start = at.now

    def stop() -> None:
        if first.asked.is_set() and at.now > start + 4:
            first.release()

    at.meanwhile = stop
    second = acquire(files, "c", replace=True, clock=at.clock)
    assert first.ended.is_set()
    second.check()
    second.release()


def test_a_run_that_does_not_end_is_not_replaced(files, at):
    first = acquire(files, "c", clock=at.clock)
    at.meanwhile = first.beat
    with pytest.raises(hr.CheckpointInUseError, match=f"has not ended within {PATIENCE:.0f} s"):
        acquire(files, "c", replace=True, clock=at.clock)
    first.check()
    assert files.names() == [file_of(1)], "the request is withdrawn"
    first.release()


def test_a_silent_run_elsewhere_is_replaced_when_its_lease_has_run_out(files, at):
    owned_by(files, at, ELSEWHERE, beat=at.now + 10_000)  # its clock is fast
    before = at.now
    acquire(files, "c", replace=True, clock=at.clock).release()
    assert at.now - before == pytest.approx(LENGTH, abs=0.5)


def test_a_lease_file_that_was_not_written_to_its_end_does_not_block_a_checkpoint(files, at):
    files.create(file_of(4), '{"format": 1, "tok')
    lease = acquire(files, "c", clock=at.clock)
    assert lease.number == 5
    lease.release()


def test_one_of_many_threads_takes_a_checkpoint(files):
    """And the others are refused; each time again."""
    for _ in range(20):
        assert taken_by_threads(files, 8) == 1


def taken_by_threads(files: LocalLeaseFiles, number: int) -> int:
    taken: list[Lease] = []
    barrier = threading.Barrier(number)

    def take() -> None:
        barrier.wait()
        with suppress(hr.CheckpointInUseError):
            taken.append(acquire(files, "c"))

    threads = [threading.Thread(target=take) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lease in taken:
        lease.check()
        lease.release()
    return len(taken)


PROGRAM = """
import sys, time
from pathlib import Path
from headrace.errors import CheckpointInUseError
from headrace.runners.spark.state.acquire_lease import acquire
from headrace.runners.spark.state.lease_files import LocalLeaseFiles
start = float(sys.argv[2])
while time.time() < start:
    pass
try:
    lease = acquire(LocalLeaseFiles(Path(sys.argv[1])), "c")
except CheckpointInUseError:
    print("refused", flush=True)
else:
    print("taken", flush=True)
    sys.stdin.readline()
    lease.beat()
    if lease.asked.is_set():
        lease.release()
        print("released", flush=True)
    sys.stdin.readline()
"""


def programs(files: LocalLeaseFiles, number: int) -> list[Any]:
    """Start programs that take the checkpoint at the same time."""
    start = time.time() + 1.5
    command = [sys.executable, "-c", PROGRAM, str(files.directory), str(start)]
    pipe = subprocess.PIPE
    return [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) for _ in range(number)]


@pytest.fixture
def started(files: LocalLeaseFiles) -> Iterator[list[Any]]:
    running = programs(files, 3)
    yield running
    for program in running:
        program.kill()
        program.communicate()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_processes_refuse_ask_and_replace_each_other(files, started):
    said = {program: program.stdout.readline().strip() for program in started}
    assert sorted(said.values()) == ["refused", "refused", "taken"]
    owner = next(program for program in started if said[program] == "taken")

    with pytest.raises(hr.CheckpointInUseError, match=f"process {owner.pid} on "):
        acquire(files, "c")
    owner.kill()  # not reaped, so it is still listed
    wait_until(lambda: owner_of(files).process.has_ended())
    before = time.monotonic()
    lease = acquire(files, "c")
    assert time.monotonic() - before < 2, "its lease has not run out, but it is dead"
    lease.release()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc")
def test_a_run_of_another_process_ends_when_it_is_asked_to(files, tmp_path):
    (owner,) = programs(files, 1)
    try:
        assert owner.stdout.readline() == "taken\n"

        def heartbeat() -> None:
            wait_until(lambda: files.read(request_of(1)) is not None)
            owner.stdin.write("\n")
            owner.stdin.flush()

        threading.Thread(target=heartbeat).start()
        lease = acquire(files, "c", replace=True)
        assert owner.stdout.readline() == "released\n"
        assert files.names() == [file_of(2)]
        lease.release()
    finally:
        owner.kill()
        owner.communicate()


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
