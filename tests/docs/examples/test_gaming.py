"""The results of the jobs of the mobile game are those of plain Python, in batch and streaming mode."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import attrs
import pytest
from gaming.events import (
    HOUR,
    MINUTE,
    ROBOTS,
    START,
    TEAMS,
    Config,
    Score,
    Scores,
    arrivals,
    scores,
)
from gaming.job import JOBS, RESULTS, changes, current_rows, run

import headrace as hr
from headrace.testing import TestStream, capture
from headrace.testing.util import assert_that, equal_to
from tests.docs.examples.conftest import EXAMPLES

CONFIG = Config(events=1_500, interval=10)


def hour_of(time: float) -> str:
    start = datetime.fromtimestamp(time // HOUR * HOUR, UTC)
    return start.strftime("%Y-%m-%dT%H:%M:%SZ")


def sums(pairs: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    totals: Counter[Any] = Counter()
    for key, points in pairs:
        totals[key] += points
    return totals


def by_user(events: list[Score]) -> Counter[Any]:
    return Counter(sums((s.user, s.points) for s in events).items())


def by_team_and_hour(events: list[Score]) -> Counter[Any]:
    totals = sums(((hour_of(s.time), s.team), s.points) for s in events)
    return Counter((*place, points) for place, points in totals.items())


def spammers(events: list[Score]) -> Counter[Any]:
    totals = sums(((hour_of(s.time), s.user), s.points) for s in events)
    of_hour: dict[str, list[int]] = defaultdict(list)
    for (hour, _), points in totals.items():
        of_hour[hour].append(points)
    return Counter(
        (hour, user, points)
        for (hour, user), points in totals.items()
        if points > 2.5 * sum(of_hour[hour]) / len(of_hour[hour])
    )


def without_spammers(events: list[Score]) -> list[Score]:
    left_out = {(hour, user) for hour, user, _ in spammers(events)}
    return [s for s in events if (hour_of(s.time), s.user) not in left_out]


def mean_sessions(events: list[Score]) -> dict[str, float]:
    """The mean length of sessions by the hour in which they end, ten minutes after the last event."""
    times: dict[str, list[int]] = defaultdict(list)
    for s in sorted(events, key=lambda s: s.time):
        times[s.user].append(s.time)
    lengths: dict[str, list[int]] = defaultdict(list)
    for of_user in times.values():
        first = last = of_user[0]
        for time in [*of_user[1:], 2**40]:
            if time - last >= 10 * MINUTE:
                end = last + 10 * MINUTE
                lengths[hour_of(end - 1e-6)].append(end - first)
                first = time
            last = time
    return {hour: fmean(found) for hour, found in lengths.items()}


def expected(job: str, config: Config) -> dict[str, Counter[Any]]:
    events = scores(config)
    if job == "user_score":
        return {"users": by_user(events)}
    if job == "hourly_team_score":
        return {"teams": by_team_and_hour([s for s in events if s.time >= START + HOUR])}
    if job == "leader_board":
        return {"teams": by_team_and_hour(events), "users": by_user(events)}
    return {
        "spammers": spammers(events),
        "teams": by_team_and_hour(without_spammers(events)),
        "sessions": Counter(mean_sessions(events).items()),
    }


@pytest.fixture(scope="module", params=[[], ["--streaming"]], ids=["batch", "streaming"])
def directory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory with the results of all jobs, from one run."""
    path = tmp_path_factory.mktemp("gaming")
    run(JOBS, CONFIG, path, request.param)
    return path


@pytest.mark.parametrize("job", JOBS)
def test_results_are_those_of_plain_python(job: str, directory: Path) -> None:
    check_job(job, directory)


def check_all(directory: Path, *flags: str) -> None:
    result = run(JOBS, CONFIG, directory, flags)
    assert sum(step.late_dropped for step in result.metrics().steps.values()) == 0
    for job in JOBS:
        check_job(job, directory)


def check_job(job: str, directory: Path) -> None:
    answers = expected(job, CONFIG)
    assert list(answers) == RESULTS[job]
    assert {name: current_rows(directory / job, name) for name in answers} == answers
    assert all(answers.values())


def test_the_leader_board_is_shown_early_and_corrected_late(tmp_path: Path) -> None:
    check_leader_board(tmp_path)


def check_leader_board(directory: Path, *flags: str) -> None:
    result = run(["leader_board"], CONFIG, directory, ["--streaming", *flags])
    check_job("leader_board", directory)
    panes = result.metrics().steps["leader_board/Sum of teams"].panes
    assert min(panes[timing] for timing in ("EARLY", "ON_TIME", "LATE")) > 0
    assert any(diff < 0 for _, diff in changes(directory / "leader_board", "users"))


def test_the_board_changes_after_ten_scores_and_at_the_end_of_the_hour() -> None:
    def some(count: int, time: int) -> list[hr.TimestampedValue[Score]]:
        return [hr.TimestampedValue(Score("u", "RedFox", 1, time), time)] * count

    stream = TestStream().add_elements(some(9, 0)).add_elements(some(2, 5))
    stream = stream.add_elements(some(1, 6)).advance_watermark_to(HOUR)
    stream = stream.add_elements(some(20, 7)).advance_watermark_to_infinity()
    with hr.Pipeline() as p:
        found = capture(JOBS["leader_board"](p | stream)["teams"])
    log = [(pane.value.points, pane.diff) for pane in found.elements]
    assert log == [(11, 1), (11, -1), (12, 1), (12, -1), (32, 1)]


@pytest.mark.parametrize("job", ["user_score", "leader_board"])
def test_the_sample_of_beams_own_tests(job: str) -> None:
    """Beam's user_score_test and leader_board_test, with hours in place of minutes."""
    early, later, last = 1_447_686_663, 1_447_690_263, 1_447_697_463
    sample = [
        Score("user1", "team1", 18, early),
        Score("user1", "team1", 18, later),
        Score("user2", "team2", 2, later),
        Score("user3", "team3", 8, later),
        Score("user4", "team3", 5, later),
        Score("user1", "team1", 14, last),
    ]
    users = [("user1", 50), ("user2", 2), ("user3", 8), ("user4", 5)]
    teams = [("team1", 14), ("team1", 18), ("team1", 18), ("team2", 2), ("team3", 13)]
    with hr.Pipeline() as p:
        scored = p | hr.Create([hr.TimestampedValue(score, score.time) for score in sample])
        results = JOBS[job](scored)
        if "users" in results:
            assert_that(results["users"] | "Users" >> hr.Map(tuple), equal_to(users), "check users")
        if "teams" in results:
            teams_only = results["teams"] | "Teams" >> hr.Map(lambda row: (row.team, row.points))
            assert_that(teams_only, equal_to(teams), "check teams")


def test_robots_are_the_spammers() -> None:
    found = spammers(scores(CONFIG))
    assert {user for _, user, _ in found} == set(ROBOTS)


class TestGenerator:
    def test_the_events_depend_on_the_seed_only(self) -> None:
        assert (
            scores(CONFIG) == scores(attrs.evolve(CONFIG)) != scores(attrs.evolve(CONFIG, seed=2))
        )

    def test_events_arrive_out_of_order_with_their_times(self) -> None:
        arrived = arrivals(CONFIG)
        assert Counter(arrived) == Counter(scores(CONFIG))
        assert arrived != scores(CONFIG)
        stamped = list(Scores(CONFIG).read(None))
        assert [s.value for s in stamped] == arrived
        assert all(s.timestamp == s.value.time for s in stamped)

    def test_users_are_in_one_team(self) -> None:
        assert {s.team for s in scores(CONFIG)} == set(TEAMS)
        assert all(s.user.startswith(s.team) for s in scores(CONFIG))


@pytest.mark.slow
def test_the_command_prints_the_results(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "examples.gaming", "user_score", f"--directory={tmp_path}"]
    done = subprocess.run(
        [*command, "--events=200"], cwd=EXAMPLES.parent, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    users = by_user(scores(Config(events=200)))
    assert f"users: {users.total()} results, after 0 retractions" in done.stdout
