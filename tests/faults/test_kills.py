"""A run that is killed with SIGKILL again and again leaves in its sinks what an unkilled one does.

HEADRACE_KILLS says how many kills there are, 50 if it does not. A series of them hits one run: it is
killed, resumed from its checkpoint, killed in another place, and so on to the end of its records.
"""

from __future__ import annotations

import math
import os
import random
import signal
from itertools import count
from pathlib import Path

import pytest

from tests.faults.kill_points import Blow
from tests.faults.run_and_kill import contents, play

pytestmark = [
    pytest.mark.slow,
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]

KILLS = int(os.environ.get("HEADRACE_KILLS", "50"))
SERIES = 10

PLACES = {
    "checkpoint": 2,
    "source": 6,
    "offset": 3,
    "planning": 3,
    "level 0": 40,
    "state": 6,
    "level 1": 25,
    "level 2": 12,
    "part": 10,
    "delivery": 3,
    "put up": 12,
    "ledger": 14,
    "files": 8,
    "table": 6,
    "statement": 15,
    "delivered": 3,
    "moment": 4_000,
}
"""Where blows fall: in sources, the planner, each level, sinks, commits; after so many passes at the most."""


def blows_of(series: int) -> list[Blow]:
    """Ten blows of fifty that are spread over all places."""
    dice = random.Random(f"series {series // 5}")
    with_rows = [place for _ in range(3) for place in dice.sample(list(PLACES), len(PLACES))]
    hits = dice.choices(["all", "driver", "jvm"], [6, 1, 1], k=50)
    all_blows = [
        Blow(place, dice.randint(1, PLACES[place]), hit)
        for place, hit in zip(with_rows, hits, strict=False)
    ]
    return all_blows[series % 5 * SERIES :][:SERIES]


@pytest.mark.parametrize("series", range(math.ceil(KILLS / SERIES)))
def test_what_is_killed_and_resumed_is_as_if_it_had_not_been(series, unkilled, tmp_path):
    expected, java = unkilled
    homes = (tmp_path / str(number) for number in count())
    home = next(homes)
    for blow in blows_of(series):
        code = play(home, java, blow)
        if code == 0:  # it had come to its end before the blow fell, which goes to the next one
            assert contents(home) == expected
            home = next(homes)
            code = play(home, java, blow)
        assert_hit(blow, code)
    assert play(home, java) == 0
    assert contents(home) == expected


def assert_hit(blow: Blow, code: int) -> None:
    """A driver that is killed says nothing; one whose JVM is killed fails."""
    hit = code == -signal.SIGKILL if blow.hits in ("all", "driver") else code != 0
    assert hit or (code == 0 and blow.place == "moment"), f"{blow}: exit code {code}"
