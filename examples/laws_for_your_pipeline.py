"""Laws for your own transform: the test kit checks that a stream gives the same result as a batch.

    pip install '.[testing]'
    python examples/laws_for_your_pipeline.py

``BestOfTeams`` adds up the points of each player, and finds the best player of each team, by ten minutes.
Early panes show who leads now. The second grouping gets early totals that change later, so it must see their
retractions. ``check_streaming_equals_batch`` draws random streams (elements out of order and late, between
steps of the watermark and the clock), and compares the result of each with a batch of the same elements.

``BestOfFirstPanes`` looks right: it takes only the first pane of each total, so that no total counts twice.
In a batch it is right. The law finds a stream of two elements for which it is wrong.
"""

from __future__ import annotations

import sys
from typing import Any

import headrace as hr
from headrace.testing.laws import (
    LawBroken,
    check_order_independence,
    check_streaming_equals_batch,
)

MINUTE = 60
LATENESS = 5 * MINUTE

Score = tuple[tuple[str, str], int]
"""A team and a player, and points."""

SCORES: list[Score] = [(("red", "amy"), 3), (("red", "bob"), 2), (("blue", "cleo"), 1)]
"""The law draws elements from these."""


def by_team(total: Score) -> tuple[str, tuple[int, str]]:
    """Return a total with the team as its key."""
    (team, player), points = total
    return team, (points, player)


class Totals(hr.PTransform[Any, hr.PCollection[Score]]):
    """Adds up the points of each player, by ten minutes."""

    def expand(self, pcoll: hr.PCollection[Score]) -> hr.PCollection[Score]:
        return (
            pcoll
            | "Into windows"
            >> hr.WindowInto(
                hr.window.FixedWindows(10 * MINUTE),
                trigger=hr.trigger.AfterWatermark(
                    early=hr.trigger.AfterCount(1), late=hr.trigger.AfterCount(1)
                ),
                accumulation_mode=hr.AccumulationMode.RETRACTING,
                allowed_lateness=LATENESS,
                on_time_behavior=hr.trigger.OnTimeBehavior.FIRE_IF_NON_EMPTY,
            )
            | "Add up" >> hr.CombinePerKey(sum)
        )


class BestOfTeams(hr.PTransform[Any, hr.PCollection[tuple[str, tuple[int, str]]]]):
    """The best player of each team, with the points."""

    def expand(self, pcoll: hr.PCollection[Score]) -> hr.PCollection[tuple[str, tuple[int, str]]]:
        return (
            pcoll
            | "Totals" >> Totals()
            | "By team" >> hr.Map(by_team)
            | "Best" >> hr.CombinePerKey(max)
        )


def is_in_first_pane(total: Score, pane: Any = hr.DoFn.PaneInfoParam) -> bool:
    """Return whether a total is in the first pane of its player and window."""
    return bool(pane.is_first)


class BestOfFirstPanes(hr.PTransform[Any, hr.PCollection[tuple[str, tuple[int, str]]]]):
    """A wrong variant, which uses only the first pane of each total."""

    def expand(self, pcoll: hr.PCollection[Score]) -> hr.PCollection[tuple[str, tuple[int, str]]]:
        return (
            pcoll
            | "Totals" >> Totals()
            | "First panes" >> hr.Filter(is_in_first_pane)
            | "By team" >> hr.Map(by_team)
            | "Best" >> hr.CombinePerKey(max)
        )


def check(transform: hr.PTransform[Any, Any], runner: str = "local", cases: int = 100) -> None:
    """Check both laws on random streams.

    Timestamps are multiples of a minute, a tenth of a window. Elements are at most as late as the transform
    allows.
    """
    for law in (check_streaming_equals_batch, check_order_independence):
        law(transform, SCORES, lateness=LATENESS, unit=MINUTE, runner=runner, cases=cases)


def main(cases: int = 100) -> int:
    """Check the right transform and the wrong one."""
    check(BestOfTeams(), cases=cases)
    print("BestOfTeams keeps the laws.\n")
    try:
        check(BestOfFirstPanes(), cases=cases)
    except LawBroken as broken:
        print(f"BestOfFirstPanes does not:\n{broken}")
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main())
