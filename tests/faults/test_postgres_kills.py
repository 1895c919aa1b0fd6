"""A table's changes arrive exactly once, although the run and the database are killed again and again."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import headrace as hr
from headrace.options import PipelineOptions
from tests.faults.kill_points import kill, processes
from tests.faults.postgres_program import FOUND, TABLE, WANTED, build, flags
from tests.faults.run_and_kill import wait_for_end_of
from tests.support.services import postgres

pytestmark = [
    pytest.mark.skipif(postgres.binaries() is None, reason=postgres.NOT_INSTALLED),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

KILLS = int(os.environ.get("HEADRACE_KILLS", "50")) // 10


@pytest.fixture
def server() -> Iterator[postgres.Server]:
    with postgres.server() as started:
        execute(started, TABLE)
        yield started


def execute(server: postgres.Server, *statements: str) -> list[Any]:
    with psycopg.connect(server.url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement)
        return cursor.fetchall() if cursor.description else []


def change(server: postgres.Server, chance: random.Random, number: int = 20) -> None:
    """Insert, update and delete rows, some of them in one transaction."""
    with psycopg.connect(server.url) as connection:
        for _ in range(number):
            key, name, amount = chance.randrange(15), chance.choice("abc"), chance.randrange(1, 9)
            row = f"{key}, '{name}', {amount}, to_timestamp({chance.randrange(60)})"
            connection.execute(
                f"delete from paid where id = {key}"
                if chance.random() < 0.3
                else f"insert into paid values ({row}) on conflict (id) do update set (id, name, amount, "
                f"at) = ({row})"
            )
            if chance.random() < 0.6:
                connection.commit()


def wait_for_totals(server: postgres.Server, log: Path | None = None) -> None:
    """Wait until the totals are those of the table; what comes after must not change them."""
    end = time.monotonic() + 180
    while (found := totals(server)) != execute(server, WANTED):
        said = log.read_text()[-5000:] if log is not None else ""
        assert time.monotonic() < end, f"{found}, not {execute(server, WANTED)} {said}"
        time.sleep(0.2)
    assert found


def totals(server: postgres.Server) -> list[Any]:
    try:
        return execute(server, FOUND)
    except psycopg.errors.UndefinedTable:
        return []


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.alone
def test_a_resumed_run_goes_on_at_the_slot(
    small_spark: Any, server: postgres.Server, tmp_path: Path
) -> None:
    chance = random.Random(3)
    for place in range(2):
        change(server, chance)
        p = hr.Pipeline(runner=small_spark, options=PipelineOptions(flags(tmp_path, 30)))
        build(p, tmp_path, server.url, password="s3cr3t")
        run = p.run()
        wait_for_totals(server)
        if place == 1:
            server.restart()
            change(server, chance)
            wait_for_totals(server)
        run.cancel()
    kept = [path.read_bytes() for path in (tmp_path / "checkpoint").rglob("*") if path.is_file()]
    assert kept
    assert not any(b"s3cr3t" in content for content in kept)


@pytest.mark.slow
@pytest.mark.chaos
def test_a_killed_run_has_the_totals_of_the_table(server: postgres.Server, tmp_path: Path) -> None:
    chance = random.Random(5)
    change(server, chance)
    for number in range(KILLS):
        with Program(tmp_path, server):
            time.sleep(chance.uniform(2, 14))  # when it is killed is drawn
            change(server, chance)
            if number % 3 == 2:
                server.restart()
                time.sleep(chance.uniform(0, 4))
        change(server, chance)
    with Program(tmp_path, server):
        wait_for_totals(server, tmp_path / "log")


class Program:
    """Start the program as a session of processes, and kill what is left of it at the end."""

    def __init__(self, home: Path, server: postgres.Server) -> None:
        command = [sys.executable, "-m", "tests.faults.postgres_program", str(home), server.url]
        with open(home / "log", "ab") as log:
            self._run = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)

    def __enter__(self) -> None:
        """It runs already."""

    def __exit__(self, *error: object) -> None:
        for pid in processes(self._run.pid):
            kill(pid)
        self._run.wait()
        wait_for_end_of(self._run.pid)
