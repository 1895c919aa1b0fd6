"""The faults of the chain: one call of `strike` is one of them, drawn from its number."""

from __future__ import annotations

import errno
import os
import random
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import attrs

from tests.faults.chain.feed import Feed
from tests.faults.chain.reader import Reader
from tests.faults.kill_points import KillPoint, kill, processes
from tests.faults.run_and_kill import started
from tests.faults.test_table_kills import returned
from tests.support.services.cut_connection import Proxy

PROGRAM = "tests.faults.chain.program"

PLACES = {
    "checkpoint": 1,
    "offset": 4,
    "planning": 4,
    "level 0": 20,
    "level 1": 40,
    "level 2": 40,
    "state": 8,
    "sinks": 3,
    "sink": 3,
    "message": 40,
    "commit": 6,
    "encode": 30,
    "part": 4,
    "file": 4,
    "merge": 3,
    "committed": 3,
    "table": 3,
    "statement": 20,
    "sinks done": 3,
    "timer": 15_000,
}
"""The kill points, with the maximum number of times that a process reaches one before it is killed."""

ON_WORKERS = ("level 0", "level 1", "level 2", "state", "encode", "part", "file")

SIGNAL_SECONDS = 60
"""For how long a run may take to reach its kill point, or to fail for want of space."""


@attrs.define
class Chain:
    """The servers, what goes in, the program and the reader.

    Attributes:
        run: the process of the program, if it was started.
        starts: how often it was started.
    """

    home: Path
    broker: Any
    database: Any
    to_broker: Proxy
    to_database: Proxy
    feed: Feed
    reader: Reader
    disk: bool
    run: subprocess.Popen[bytes] | None = None
    starts: int = 0
    _stack: ExitStack = attrs.field(factory=ExitStack)

    def start(self, kill_point: KillPoint | None = None) -> None:
        """Start the program again, from its checkpoint; one that runs is killed before."""
        self.stop()
        context = started(self.home, kill_point, PROGRAM)
        self.run = self._stack.enter_context(context)
        self.starts += 1

    def stop(self) -> None:
        """Kill the program, with all its processes."""
        self._stack.close()
        self.run = None

    def runs(self) -> bool:
        return self.run is not None and self.run.poll() is None

    def pids(self, command: str) -> list[int]:
        """The processes of the run with a command: ``java``, or ``python`` without the driver."""
        if self.run is None:
            return []
        found = processes(self.run.pid).items()
        return [pid for pid, name in found if name.startswith(command) and pid != self.run.pid]

    def ready(self) -> None:
        """Start the program unless it runs, and wait for results, so that a fault finds it at work."""
        if not self.runs():
            self.start()
        self.feed.some()
        before, end = self.reader.topic.following, time.monotonic() + 90
        while self.reader.topic.following == before and self.runs() and time.monotonic() < end:
            time.sleep(0.1)

    def finish(self, seconds: float = 240) -> dict[str, Any]:
        """Run without faults until all sinks are right; returns how they differ if they never are."""
        self.feed.close_sessions()
        right = self.feed.expected()
        resumed, end = False, time.monotonic() + seconds
        while (found := self.reader.differences(right)) and time.monotonic() < end:
            if not self.runs():
                if resumed:
                    return {"the resumed program failed": (self.home / "log").read_text()[-5000:]}
                self.start()
                resumed = True
            time.sleep(0.2)
        return {**found, **self.condition()} if found else {}

    def condition(self) -> dict[str, Any]:
        """What may explain why the sinks are not right."""
        log = (self.home / "log").read_text()[-5000:]
        return {"runs": self.runs(), "ends of the topic": self.reader.ends(), "log": log}


Fault = Callable[[Chain, random.Random], None]


def killed_at_a_place(target: str) -> Fault:
    """SIGKILL where the code reaches a kill point; or after a time, if it does not reach it."""

    def strike(chain: Chain, chance: random.Random) -> None:
        place = chance.choice(ON_WORKERS if target == "self" else list(PLACES))
        chain.start(KillPoint(place, chance.randint(1, PLACES[place]), target))
        chain.feed.some(24)
        if not ended(chain):
            chain.stop()

    return strike


def killed_now(command: str) -> Fault:
    """SIGKILL at a moment to the JVM, or to a Python process that it has started."""

    def strike(chain: Chain, chance: random.Random) -> None:
        chain.ready()
        chain.feed.some()
        time.sleep(chance.uniform(0, 2))
        pids = chain.pids(command)
        if pids:
            kill(chance.choice(pids))
        if command != "python":  # a worker may have been idle
            ended(chain)

    return strike


def server_killed(name: str) -> Fault:
    """SIGKILL to a server, which returns with its data."""

    def strike(chain: Chain, chance: random.Random) -> None:
        chain.ready()
        server = getattr(chain, name)
        chain.feed.some()
        time.sleep(chance.uniform(0, 1))
        server.kill()
        time.sleep(chance.uniform(0, 3))
        returned(server)
        chain.feed.some()

    return strike


def paused(name: str) -> Fault:
    """SIGSTOP, and SIGCONT after some seconds."""

    def strike(chain: Chain, chance: random.Random) -> None:
        chain.ready()
        server = getattr(chain, name, None)
        chain.feed.some()
        time.sleep(chance.uniform(0, 1))
        pids = server.pids() if server is not None else chain.pids(name)
        send(signal.SIGSTOP, pids)
        time.sleep(chance.uniform(1, 6))
        send(signal.SIGCONT, pids)

    return strike


def send(number: signal.Signals, pids: list[int]) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def cut(name: str) -> Fault:
    """Connections to a server are cut, before a request arrives or after its answer has left."""

    def strike(chain: Chain, chance: random.Random) -> None:
        chain.ready()
        proxy: Proxy = getattr(chain, name)
        for _ in range(3):
            proxy.arm(b"", chance.random() < 0.5, chance.randint(1, 4))
            chain.feed.some(6)
            time.sleep(chance.uniform(0, 1))
        proxy.cuts = 0

    return strike


def disk_full(chain: Chain, chance: random.Random) -> None:
    """No file of the run can grow beyond a size: results, state and checkpoint; some files are torn."""
    chain.ready()
    limit = chance.choice([0, 100, 4096])
    for pid in processes(chain.run.pid) if chain.run is not None else ():
        with suppress(ProcessLookupError):
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, limit))
    chain.feed.some()
    ended(chain)
    chain.stop()


def table_disk_full(chain: Chain, chance: random.Random) -> None:
    """The disk of the Delta table is full, until the run fails; then there is space again."""
    chain.ready()
    filler = chain.reader.table.parent / "filler"
    fill(filler)
    chain.feed.some(24)
    ended(chain)
    chain.stop()
    filler.unlink()


def fill(place: Path) -> None:
    """Write a file until the disk is full."""
    try:
        with open(place, "wb", buffering=0) as file:
            while file.write(bytes(4096)):
                pass
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise


def ended(chain: Chain) -> bool:
    """Go on sending payments until the end of the program; returns whether it has ended in time."""
    end = time.monotonic() + SIGNAL_SECONDS
    while chain.runs() and time.monotonic() < end:
        chain.feed.some(4)
        time.sleep(0.5)
    return not chain.runs()


@contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[bool]:
    """Mount a small disk at a folder; yields whether that was allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and not subprocess.run(command, check=False).returncode
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


FAULTS: dict[str, Fault] = {
    "all killed at a place": killed_at_a_place("all"),
    "driver killed at a place": killed_at_a_place("driver"),
    "jvm killed at a place": killed_at_a_place("jvm"),
    "worker killed at a place": killed_at_a_place("self"),
    "jvm killed": killed_now("java"),
    "worker killed": killed_now("python"),
    "broker killed": server_killed("broker"),
    "database killed": server_killed("database"),
    "jvm paused": paused("java"),
    "worker paused": paused("python"),
    "broker paused": paused("broker"),
    "database paused": paused("database"),
    "connection to the broker cut": cut("to_broker"),
    "connection to the database cut": cut("to_database"),
    "disk full": disk_full,
    "disk of the table full": table_disk_full,
}


def kind_of(number: int) -> str:
    """The kind of a fault; as many in a row as there are kinds are all of them."""
    rng = random.Random(f"chain {number // len(FAULTS)}")
    return rng.sample(list(FAULTS), len(FAULTS))[number % len(FAULTS)]


def strike(chain: Chain, number: int) -> str:
    """Do the fault with a number; returns its kind."""
    kind = kind_of(number)
    if kind == "disk of the table full" and not chain.disk:
        kind = "disk full"
    FAULTS[kind](chain, random.Random(f"chain {number}"))
    return kind
