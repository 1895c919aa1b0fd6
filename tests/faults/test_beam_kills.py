"""A streaming program of apache_beam on Spark, killed and resumed, ends as if it had not been killed.

The program (tests.beam.killed.orders) knows no runner. It reads a topic with late orders, and files, and has
sessions, state, timers and side inputs. A tenth of HEADRACE_KILLS, and at least one, hits one run: its driver
alone, its JVM, or all its processes.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from tests.beam.killed.feed import Feed
from tests.beam.killed.results import marks, repeated, results
from tests.faults.days import FIRST, KILLS, SAMPLE, on_days, own_kills
from tests.faults.kill_points import kill, processes
from tests.faults.program import LIGHT
from tests.faults.run_and_kill import started, wait_for_end_of
from tests.support.repository import ROOT
from tests.support.services import kafka

pytest.importorskip("apache_beam")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(2),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
]

PROGRAM = ROOT / "tests" / "beam" / "killed" / "orders.py"

SECONDS = 300
"""For how long the results of a phase may take."""

NUMBERS = own_kills(of_ten=1)
"""The numbers of the kills."""


@attrs.define
class Run:
    """A run of the program with a broker of its own.

    Attributes:
        home: its folder.
        feed: what goes in.
        command: how it is started.
        process: the process, if it runs.
    """

    home: Path
    feed: Feed
    command: list[str]
    process: subprocess.Popen[bytes]

    @property
    def batches(self) -> int:
        """The number of committed batches; Spark removes old entries of the log."""
        commits = (self.home / "checkpoint" / "commits").glob("[0-9]*")
        return max((int(path.name) + 1 for path in commits), default=0)

    def until(self, done: Callable[[], object], shown: Callable[[], object] = str) -> None:
        """Wait until something is true, while the program runs; else show the log, and what is wrong."""
        end = time.monotonic() + SECONDS
        while not done():
            runs, log = self.process.poll() is None, self.home / "log"
            assert runs, log.read_text()[-5000:]
            assert time.monotonic() < end, (log.read_text()[-5000:], shown())
            time.sleep(0.2)

    def take_in(self) -> None:
        """Wait for the results of the last phase."""
        self.until(lambda: self.feed.marks <= marks(self.feed.broker))

    def kill(self, number: int) -> str:
        """Kill processes at a moment that depends on a number; returns which."""
        chance = random.Random(f"beam {number}")
        target = ("all", "driver", "jvm")[number % 3]
        before, batches = self.batches, chance.randrange(4)
        self.until(lambda: self.batches >= before + batches)
        time.sleep(chance.uniform(0, 2))
        living = processes(self.process.pid)
        jvms = [pid for pid, name in living.items() if name == "java"]
        pids = {"all": [*living], "driver": [self.process.pid], "jvm": jvms}[target]
        for pid in pids:
            kill(pid)
        assert self.process.wait(SECONDS) != 0
        wait_for_end_of(self.process.pid)
        return target


def flags_on_spark(home: Path) -> list[str]:
    java = f"{LIGHT['spark.driver.extraJavaOptions']} -Djava.io.tmpdir={home / 'tmp'}"
    settings = {**LIGHT, "spark.driver.extraJavaOptions": java}
    return [
        "--headrace_runner=spark",
        "--spark_master=local[2]",
        f"--checkpoint={home / 'checkpoint'}",
        "--key_groups=2",
        "--batch_seconds=0",
        *(f"--spark_conf={name}={value}" for name, value in settings.items()),
    ]


@contextmanager
def running(home: Path, *flags: str) -> Iterator[Run]:
    """Start the program with its first phase."""
    home.mkdir()
    with kafka.broker(auto_create=False) as broker:
        feed = Feed(broker.address, home, FIRST)
        feed.prepare()
        feed.send()
        command = [sys.executable, str(PROGRAM), broker.address, str(home)]
        command += ["--runner=headrace.beam.HeadraceRunner", "--streaming"]
        command += ["--kafka_idle_seconds=0", "--max_records_per_batch=8", *flags]
        with started(home, command=command) as process:
            yield Run(home, feed, command, process)


def finished(run: Run) -> dict[str, Any]:
    """Wait for the final results of all phases, and return them."""
    right = run.feed.expected()

    def found() -> dict[str, Any]:
        return results(run.feed.broker, run.home)

    run.until(lambda: found() == right, lambda: differences(found(), right))
    assert not repeated(run.feed.broker)
    return found()


def differences(found: dict[str, Any], right: dict[str, Any]) -> dict[str, Any]:
    """The kinds of results that differ, as they are and as they should be."""
    return {kind: (found[kind], right[kind]) for kind in right if found[kind] != right[kind]}


def not_killed(home: Path, phases: int, *flags: str) -> dict[str, Any]:
    """The results of a run that is not killed."""
    with running(home, *flags) as run:
        for _ in range(phases - 1):
            run.take_in()
            run.feed.send()
        return finished(run)


def killed(run: Run, numbers: Iterable[int]) -> dict[str, Any]:
    """The results of a run that is killed once in each phase after the first, and resumed."""
    with ExitStack() as stack:
        for number in numbers:
            run.take_in()
            run.feed.send()
            print(number, run.kill(number), run.batches, flush=True)
            run.process = stack.enter_context(started(run.home, command=run.command))
        run.take_in()
        assert run.feed.merged()
        return finished(run)


def test_it_ends_as_if_it_had_not_been_killed(tmp_path: Path) -> None:
    home, phases = tmp_path / "killed", len(NUMBERS) + 1
    with running(home, *flags_on_spark(home)) as run:
        found = killed(run, NUMBERS)
    assert found == not_killed(tmp_path / "local", phases)
    if KILLS > SAMPLE:  # `make test` leaves this run out
        whole = tmp_path / "whole"
        assert found == not_killed(whole, phases, *flags_on_spark(whole))
