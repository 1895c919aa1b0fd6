"""A run that is killed with SIGKILL again and again leaves in its sinks what an unkilled one does.

HEADRACE_KILLS says how many kills there are, 50 if it does not. A series of them hits one run: it is
killed, resumed from its checkpoint, killed in another place, and so on to the end of its records.
"""

from __future__ import annotations

import json
import math
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults import blows
from tests.faults.blows import VARIABLE, Blow, processes

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"),
]

KILLS = int(os.environ.get("HEADRACE_KILLS", "50"))
SERIES = 10
ROUNDS = 16
PATIENCE = 180

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

PLANNER = ("source", "offset", "planning")
WORKERS = ("level 0", "state", "level 1", "level 2", "part")


def blows_of(series: int) -> list[Blow]:
    """Ten blows of fifty that are spread over all places."""
    dice = random.Random(f"series {series // 5}")
    dealt = [place for _ in range(3) for place in dice.sample(list(PLACES), len(PLACES))]
    hits = dice.choices(["all", "driver", "jvm"], [6, 1, 1], k=50)
    all_blows = [
        Blow(place, dice.randint(1, PLACES[place]), hit)
        for place, hit in zip(dealt, hits, strict=False)
    ]
    return all_blows[series % 5 * SERIES :][:SERIES]


def play(home: Path, java: str = "", blow: Blow | None = None, *flags: str) -> int:
    """Run the program once; return its exit code when all its processes are gone."""
    environment = {**os.environ, "HEADRACE_JAVA": java}
    environment.pop(VARIABLE, None)
    if blow is not None:
        environment[VARIABLE] = str(blow)
    command = [sys.executable, "-m", "tests.faults.program", str(home), str(ROUNDS), "1", *flags]
    with open(home / "log", "ab") as log:
        run = subprocess.Popen(
            command, stdout=log, stderr=log, env=environment, start_new_session=True
        )
        try:
            code = run.wait(PATIENCE)
            wait_for_end_of(run.pid)
        finally:
            for pid in processes(run.pid):
                blows.kill(pid)
    return code


def wait_for_end_of(session: int) -> None:
    """Wait for the processes of a run whose driver is gone: they must not stay."""
    end = time.monotonic() + 60
    while living := processes(session):
        assert time.monotonic() < end, f"these live on: {living}"
        time.sleep(0.05)


def contents(home: Path) -> dict[str, list]:
    """What the sinks hold; in the hidden directories, nothing is left but the ledger."""
    held = {}
    for name in ("records", "sums", "grades"):
        files = list((home / "files").glob(f"{name}-*"))
        held[name] = sorted(line for file in files for line in file.read_text().splitlines())
        hidden = home / "files" / f".{name}.headrace"
        assert sorted(p.name for p in hidden.iterdir()) == ["commit.json", "files"]
        known = {json.loads(n) for n in (hidden / "files").read_text().splitlines() if n}
        assert known >= {file.name for file in files}
    with sqlite3.connect(home / "tables.db") as connection:
        for name in ("sums", "grades"):
            query = f"select * from {name} order by window_start, window_end, key"
            held[f"{name} table"] = connection.execute(query).fetchall()
    connection.close()
    return held


@pytest.fixture(scope="module")
def unkilled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dict[str, list], str]]:
    """What an unkilled run leaves; and flags for Java, so that later runs start in half the time."""
    home = tmp_path_factory.mktemp("unkilled")
    archive = home / "classes.jsa"
    assert play(home, f"-XX:ArchiveClassesAtExit={archive} -Xlog:disable -Xlog:all=off") == 0
    held = contents(home)
    assert all(held.values())
    yield held, f"-XX:SharedArchiveFile={archive} -Xlog:disable" if archive.exists() else ""
    archive.unlink(missing_ok=True)


@pytest.mark.parametrize("series", range(math.ceil(KILLS / SERIES)))
def test_what_is_killed_and_resumed_is_as_if_it_had_not_been(series, unkilled, tmp_path):
    expected, java = unkilled
    home, number = tmp_path / "0", 0
    home.mkdir()
    for blow in blows_of(series):
        code = play(home, java, blow)
        while (
            code == 0 and blow.place != "moment"
        ):  # the run had come to its end before it could fall
            assert contents(home) == expected
            number += 1
            home = tmp_path / str(number)
            home.mkdir()
            code = play(home, java, blow)
        killed = code == -9 if blow.hits in ("all", "driver") else code not in (0, 3)
        assert killed or (code == 0 and blow.place == "moment"), f"{blow}: exit code {code}"
    assert play(home, java) == 0
    assert contents(home) == expected
