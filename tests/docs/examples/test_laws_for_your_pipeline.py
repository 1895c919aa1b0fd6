"""The laws hold for the right transform, which agrees with plain Python, and refuse the wrong one."""

from collections import Counter
from random import Random

import laws_for_your_pipeline as example
import pytest
from laws_for_your_pipeline import MINUTE, BestOfFirstPanes, BestOfTeams

import headrace as hr
from headrace.testing import capture
from headrace.testing.laws import LawBroken


def scores():
    """Scores in an order in which none is more than the allowed lateness behind."""
    random = Random(1)
    return [
        hr.TimestampedValue(random.choice(example.SCORES), second - random.randrange(2 * MINUTE))
        for second in range(0, 60 * MINUTE, 30)
    ]


def expected_best():
    totals: Counter[tuple[int, tuple[str, str]]] = Counter()
    for score in scores():
        who, points = score.value
        totals[int(score.timestamp) // (10 * MINUTE), who] += points
    best: dict[tuple[int, str], tuple[int, str]] = {}
    for (window, (team, player)), points in totals.items():
        best[window, team] = max(best.get((window, team), (0, "")), (points, player))
    return Counter((team, winner) for (_, team), winner in best.items())


def best_on(runner, *flags: str):
    with hr.Pipeline(runner, argv=["--max-records-per-batch=5", *flags]) as p:
        best = capture(p | hr.Create(scores()) | BestOfTeams())
    net: Counter[object] = Counter()
    for diff, value in best.changes:
        net[value] += diff
    return Counter({value: count for value, count in net.items() if count})


@pytest.mark.parametrize("flags", [[], ["--streaming"]])
def test_the_best_are_those_of_plain_python(flags: list[str]) -> None:
    assert best_on("local", *flags) == expected_best()


@pytest.mark.slow
def test_the_laws_hold() -> None:
    example.check(BestOfTeams(), cases=30)


@pytest.mark.slow
def test_the_wrong_variant_is_refused_with_a_small_case() -> None:
    with pytest.raises(LawBroken, match="same result as a batch") as refused:
        example.check(BestOfFirstPanes(), cases=30)
    assert refused.value.given.count("TimestampedValue(") == 2


@pytest.mark.slow
def test_the_program_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert example.main(cases=20) == 0
    printed = capsys.readouterr().out
    assert "BestOfTeams keeps the laws" in printed
    assert "BestOfFirstPanes does not:\nbroken law" in printed
