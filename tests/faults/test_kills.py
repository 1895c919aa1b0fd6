"""A run that is killed again and again ends with the same sink contents as one that is not.

A series of up to 10 kills hits one run: it is killed, resumed from its checkpoint, killed in another
place, and so on until the end of its records.
"""

from __future__ import annotations

import random
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.faults.days import FIRST, KILLS
from tests.faults.kill_points import KillPoint
from tests.faults.run_and_kill import run_program, sink_contents

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    pytest.mark.sampled,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]

SERIES = 10
"""Maximum number of kills of one run."""

PLACES = {
    "checkpoint": 2,
    "source": 6,
    "offset": 3,
    "planning": 3,
    "level 0": 40,
    "state": 6,
    "side input": 6,
    "level 1": 25,
    "level 2": 12,
    "part": 10,
    "pane": 20,
    "sinks": 3,
    "publish": 12,
    "ledger": 14,
    "files": 8,
    "table": 6,
    "statement": 15,
    "sinks done": 3,
    "timer": 4_000,
}
"""The kill points, with the maximum number of times that a process reaches one before it is killed."""


def kill_point(number: int) -> KillPoint:
    """The kill point with a number; 50 in a row are spread over all places."""
    rng = random.Random(f"series {number // 50}")
    places = [place for _ in range(3) for place in rng.sample(list(PLACES), len(PLACES))]
    targets = rng.choices(["all", "driver", "jvm"], [6, 1, 1], k=50)
    kill_points = [
        KillPoint(place, rng.randint(1, PLACES[place]), target)
        for place, target in zip(places, targets, strict=False)
    ]
    return kill_points[number % 50]


LAST = FIRST + KILLS


@pytest.mark.parametrize("first", range(FIRST, LAST, SERIES), ids="from {}".format)
def test_a_killed_and_resumed_run_has_the_same_results(first, reference_run, tmp_path):
    homes = (tmp_path / str(number) for number in count())
    home = next(homes)
    for number in range(first, min(first + SERIES, LAST)):
        point = kill_point(number)
        code = run_program(home, point)
        if code == 0:  # the run ended before the kill point, which is used in the next one
            assert sink_contents(home) == reference_run
            home = next(homes)
            code = run_program(home, point)
        assert_killed(point, code)
    assert run_program(home) == 0
    assert sink_contents(home) == reference_run


def assert_killed(point: KillPoint, code: int) -> None:
    """A killed driver exits with the signal; a driver whose JVM was killed fails."""
    killed = code == -signal.SIGKILL if point.target in ("all", "driver") else code != 0
    assert killed or (code == 0 and point.place == "timer"), f"{point}: exit code {code}"
