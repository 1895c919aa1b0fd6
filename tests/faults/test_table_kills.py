"""SQL tables of a run that is killed, in databases that are killed: right at the end, and never wrong before.

A fifth of HEADRACE_KILLS, and at least two, hit one run. PostgreSQL and MariaDB are killed and restarted the
whole time, and a reader reads all tables. With more than two kills, a database once stays away for so long
that the run fails.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from tests.faults.days import on_days, own_kills
from tests.faults.kill_points import KillPoint
from tests.faults.program import ToldRecords
from tests.faults.run_and_kill import ROUNDS, run_program, started, wait_for_end_of
from tests.faults.table_program import DATABASES, contents, expected
from tests.faults.test_kills import assert_killed
from tests.support.services import mariadb, postgres

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(1),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
    pytest.mark.skipif(postgres.binaries() is None, reason=postgres.NOT_INSTALLED),
    pytest.mark.skipif(mariadb.binaries() is None, reason=mariadb.NOT_INSTALLED),
]

PROGRAM = "tests.faults.table_program"

PLACES = {"table": 20, "statement": 60, "sinks": 4, "sinks done": 4, "timer": 8_000}
"""The kill points, with the maximum number of times that a process reaches one before it is killed."""


def kill_point(number: int) -> KillPoint:
    rng = random.Random(f"tables {number}")
    place = list(PLACES)[number % len(PLACES)]
    return KillPoint(place, rng.randint(1, PLACES[place]), rng.choice(["all", "driver", "jvm"]))


@contextmanager
def in_background(act: Callable[[threading.Event], None]) -> Iterator[None]:
    """Do something in another thread until the end."""
    ended = threading.Event()
    thread = threading.Thread(target=act, args=(ended,))
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def returned(server: Any) -> None:
    """Start a server again; one that was killed may have left processes that end a little later."""
    for _ in range(20):
        try:
            return server.restart()
        except AssertionError:
            continue
    return server.restart()


def killing(servers: list[Any], killed: list[Any]) -> Callable[[threading.Event], None]:
    """Kill databases now and then; they return soon enough for a run to go on."""

    def act(ended: threading.Event) -> None:
        rng = random.Random(5)
        while not ended.wait(0.5 + 2 * rng.random()):
            server = rng.choice(servers)
            server.kill()
            killed.append(server)
            ended.wait(rng.random())
            returned(server)

    return act


def reading(servers: list[Any], problems: list[Any]) -> Callable[[threading.Event], None]:
    """Look for tables whose state is not one of whole batches, each written once."""

    def act(ended: threading.Event) -> None:
        sizes: dict[tuple[Any, str], int] = {}
        while not ended.wait(0.1):
            for server in servers:
                try:
                    held = contents(url_of(server))
                except sa.exc.DBAPIError:
                    continue
                problems.extend((name, rows) for name, rows in held.items() if is_wrong(name, rows))
                rows = held.get("log", [])
                if len(rows) < sizes.get((server, "log"), 0):
                    problems.append(("log lost rows", rows))
                sizes[server, "log"] = len(rows)

    return act


def is_wrong(name: str, rows: list[tuple[Any, ...]]) -> bool:
    keys = [(account, *window) for account, _, *window in rows]
    return sum(row[1] for row in rows) != 0 or (name != "log" and len(keys) != len(set(keys)))


def url_of(server: Any) -> str:
    return str(server.url).replace("postgresql:", "postgresql+psycopg:")


def test_tables_are_right_at_any_moment(tmp_path, monkeypatch):
    numbers = own_kills(of_ten=2)
    problems: list[Any] = []
    killed: list[Any] = []
    with postgres.server() as one, mariadb.server() as other:
        servers = [one, other]
        monkeypatch.setenv(DATABASES, " ".join(map(url_of, servers)))
        with in_background(reading(servers, problems)):
            with in_background(killing(servers, killed)):
                run_and_kill(tmp_path, numbers)
            if len(numbers) > 2:
                fail_by_a_database_that_is_gone(tmp_path, servers[numbers[0] % 2])
            code = run_program(tmp_path, program=PROGRAM)
        assert code == 0
        assert killed
        assert not problems, problems[:1]
        for server in servers:
            assert contents(url_of(server)) == expected(ToldRecords(ROUNDS, 1, "p"), ROUNDS)


def run_and_kill(home: Path, numbers: range) -> None:
    for number in numbers:
        point = kill_point(number)
        assert_killed_or_failed(point, run_program(home, point, PROGRAM))


def assert_killed_or_failed(point: KillPoint, code: int) -> None:
    """A run is killed; or it fails, as a database was not there when the run opened its sinks; or it ends."""
    if code not in (0, 1):
        assert_killed(point, code)


def fail_by_a_database_that_is_gone(home: Path, server: Any) -> None:
    """A run fails if a database is away for longer than it tries; one that has ended has nothing to write."""
    server.kill()
    try:
        with started(home, None, PROGRAM) as run:
            assert run.wait(120) != 0
            wait_for_end_of(run.pid)
    finally:
        returned(server)
