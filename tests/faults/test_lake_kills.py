"""Delta and Iceberg tables of a run that is killed again and again: right at the end, and never wrong before.

A fifth of HEADRACE_KILLS, and at least two, hit one run. A reader reads the tables the whole time.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.faults.days import on_days, own_kills
from tests.faults.kill_points import KillPoint
from tests.faults.lake_program import contents, expected
from tests.faults.program import ToldRecords
from tests.faults.run_and_kill import ROUNDS, run_program
from tests.faults.test_kills import assert_killed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    on_days(9),
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

PROGRAM = "tests.faults.lake_program"

PLACES = {
    "part": 12,
    "file": 12,
    "commit": 16,
    "append": 12,
    "merge": 12,
    "compact": 4,
    "committed": 16,
    "timer": 8_000,
}
"""The kill points, with the maximum number of times that a process reaches one before it is killed."""


def kill_point(number: int) -> KillPoint:
    rng = random.Random(f"lake {number // len(PLACES)}")
    place = rng.sample(list(PLACES), len(PLACES))[number % len(PLACES)]
    return KillPoint(place, random.Random(f"lake {number}").randint(1, PLACES[place]))


def wrong(held: dict[str, list[tuple[Any, ...]]]) -> list[str]:
    """The tables whose state is not one of whole batches, each written once."""
    found = [name for name, rows in held.items() if sum(row[1] for row in rows)]
    for name, rows in held.items():
        keys = [(account, start) for account, _, start, _ in rows] if "sums" in name else []
        if len(keys) != len(set(keys)):
            found.append(f"{name}: a key twice")
    return found


@contextmanager
def reading(home: Path) -> Iterator[list[Any]]:
    """Read the tables again and again in another thread; yields what was wrong."""
    problems: list[Any] = []
    ended = threading.Event()
    sizes: dict[str, int] = {}

    def read() -> None:
        while not ended.wait(0.2):
            held = contents(home)
            problems.extend((name, held) for name in wrong(held))
            for name, rows in held.items():
                if len(rows) < sizes.get(name, 0):
                    problems.append((f"{name} lost rows", rows))
                sizes[name] = len(rows)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield problems
    finally:
        ended.set()
        thread.join()


def test_tables_are_right_at_any_moment(tmp_path):
    with reading(tmp_path) as problems:
        for number in own_kills(of_ten=2):
            point = kill_point(number)
            code = run_program(tmp_path, kill_point=point, program=PROGRAM)
            assert_killed(point, code)
            if code == 0:
                break
        assert run_program(tmp_path, program=PROGRAM) == 0
    assert not problems
    assert contents(tmp_path) == expected(ToldRecords(ROUNDS, 1, "p"), ROUNDS)
