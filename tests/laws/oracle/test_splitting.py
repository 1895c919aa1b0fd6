"""Windows that split, expired windows, late elements and timestamps, in the oracle alone.

Each example has been worked out by hand. All times are in microseconds, so that a window [0, 10) has
its last instant at 9.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tests.laws.oracle import contents, triggers, windows
from tests.laws.oracle.replay import GroupingResult, Stage, Strategy, replay
from tests.laws.oracle.window_history import GLOBAL, MAX, MIN, Element

END = ("watermark", MAX)
EACH = triggers.Repeatedly(triggers.AfterCount(1))
FIELDS = ("event", "diff", "window", "value")


def arrive(*rows: tuple[Any, ...]) -> tuple[str, list[Element]]:
    """Rows that arrive together: value, timestamp, and diff for retractions."""
    return "elements", [Element("a", *row) for row in rows]


def watermark_to(watermark: int) -> tuple[str, int]:
    return "watermark", watermark


def sessions(trigger: Any = EACH, lateness: int = 1000, gap: Any = 10, **more: Any) -> Strategy:
    """Retracting sessions."""
    strategy = Strategy(windows.Sessions(gap, 40), trigger, "RETRACTING", lateness)
    return attrs.evolve(strategy, **more)


def run(strategy: Strategy, *script: Any, changing: bool = True, **stage: Any) -> GroupingResult:
    return replay(script, [Stage(strategy, contents.Sum(), changing=changing, **stage)])[0]


def summary(result: GroupingResult, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(pane, name) for name in names or FIELDS) for pane in result.panes]


def dropped(result: GroupingResult) -> list[tuple[int, tuple[int, int]]]:
    return [(e.timestamp, window) for e, window in result.dropped]


# Merging and splitting


def test_retracting_the_link_of_two_sessions_splits_them() -> None:
    first = Strategy(windows.fixed(5), EACH, "RETRACTING", 1000)
    script = [
        ("elements", [Element(key, value, timestamp)])
        for key, value, timestamp in [("a", 5, 1), ("b", 5, 8), ("c", 5, 12), ("b", 1, 9)]
    ]
    swapped = Stage(sessions(), contents.Bag(), lambda key, value: (value, key), changing=True)
    _, result = replay(script, [Stage(first, contents.Sum()), swapped])
    assert summary(result, "event", "diff", "key", "window", "value", "index", "timestamp") == [
        (0, 1, 5, (4, 14), ["a"], 0, 13),
        (1, -1, 5, (4, 14), ["a"], 0, 13),
        (1, 1, 5, (4, 19), ["a", "b"], 0, 18),
        (2, -1, 5, (4, 19), ["a", "b"], 0, 18),
        (2, 1, 5, (4, 24), ["a", "b", "c"], 0, 23),
        (3, -1, 5, (4, 24), ["a", "b", "c"], 0, 23),
        (3, 1, 5, (4, 14), ["a"], 1, 13),
        (3, 1, 5, (14, 24), ["c"], 0, 23),
        (3, 1, 6, (9, 19), ["b"], 0, 18),
    ]


def test_the_timestamp_combines_all_elements_of_the_pane() -> None:
    first = Strategy(windows.fixed(20), EACH, "RETRACTING", 1000, timestamps="EARLIEST")
    second = Strategy(windows.fixed(10), EACH, "RETRACTING", 1000)
    stages = [Stage(first, contents.Sum()), Stage(second, contents.Sum(), changing=True)]
    one, two = replay([arrive((1, 1)), arrive((1, 15)), END], stages)
    assert [pane.timestamp for pane in one.panes] == [1, 1, 1]
    assert summary(two) == [(0, 1, (0, 10), 1), (1, -1, (0, 10), 1), (1, 1, (0, 10), 2)]


def test_an_element_in_time_merges_with_an_expired_session() -> None:
    script = [arrive((1, 0)), watermark_to(12), arrive((1, 9)), END]
    result = run(sessions(triggers.Default(), 0), *script, changing=False)
    assert summary(result, *FIELDS, "timing", "last", "index") == [
        (1, 1, (0, 10), 1, "ON_TIME", True, 0),
        (3, -1, (0, 10), 1, "ON_TIME", True, 0),
        (3, 1, (0, 19), 2, "LATE", True, 0),
    ]
    assert not result.dropped


def test_a_dropped_element_does_not_extend_a_session() -> None:
    once = sessions(triggers.AfterCount(1), mode="DISCARDING")
    result = run(once, arrive((1, 0)), arrive((1, 5)), END, changing=False)
    assert summary(result, *FIELDS, "last") == [(0, 1, (0, 10), 1, True)]
    assert dropped(result) == [(5, (5, 15))]


# Windows that split

LONG = [(40, 0), (5, 5), (5, 15), (5, 25)]
"""The gap of the first is 40, so that all are one session."""


def by_value() -> Strategy:
    return sessions(gap=lambda pair: pair[1])


def test_a_window_splits_in_three_and_merges_again() -> None:
    result = run(by_value(), arrive(*LONG), arrive((40, 0, -1)), arrive((40, 0)))
    assert summary(result, *FIELDS, "index") == [
        (0, 1, (0, 40), 55, 0),
        (1, -1, (0, 40), 55, 0),
        (1, 1, (5, 10), 5, 0),
        (1, 1, (15, 20), 5, 0),
        (1, 1, (25, 30), 5, 0),
        (2, -1, (5, 10), 5, 0),
        (2, -1, (15, 20), 5, 0),
        (2, -1, (25, 30), 5, 0),
        (2, 1, (0, 40), 55, 1),
    ]


def test_parts_of_a_fired_window_fire_at_once() -> None:
    """The trigger state of each part: one element since the last firing."""
    thrice = sessions(triggers.Repeatedly(triggers.AfterCount(3)))
    script = [arrive((1, 0), (1, 9), (1, 18)), arrive((1, 9, -1)), arrive((1, 5)), arrive((1, 6))]
    assert summary(run(thrice, *script)) == [
        (0, 1, (0, 28), 3),
        (1, -1, (0, 28), 3),
        (1, 1, (0, 10), 1),
        (1, 1, (18, 28), 1),
        (3, -1, (0, 10), 1),
        (3, 1, (0, 16), 3),
    ]


def test_a_window_that_shrinks_fires_at_once() -> None:
    thrice = sessions(triggers.Repeatedly(triggers.AfterCount(3)))
    script = [
        arrive((1, 0), (1, 4), (1, 8)),
        arrive((1, 4, -1)),
        arrive((1, 8, -1)),
        arrive((1, 0)),
    ]
    assert summary(run(thrice, *script)) == [
        (0, 1, (0, 18), 3),
        (2, -1, (0, 18), 3),
        (2, 1, (0, 10), 1),
        (3, -1, (0, 10), 1),
        (3, 1, (0, 10), 2),
    ]


def test_a_window_that_has_not_fired_splits_without_output() -> None:
    late = sessions(triggers.Repeatedly(triggers.AfterCount(5)))
    script = [arrive((1, 0), (1, 9), (1, 18)), arrive((1, 9, -1)), arrive((1, 0))]
    assert summary(run(late, *script)) == [
        (2, 1, (0, 10), 2)
    ]  # the other part has seen four elements


def test_a_pane_goes_to_the_part_that_contains_it() -> None:
    """The session of all three has not fired, so its split retracts nothing."""
    second = sessions(triggers.Repeatedly(triggers.AfterCount(2)))
    script = [arrive((1, 0), (1, 0)), arrive((1, 9)), arrive((1, 9, -1), (1, 18)), arrive((1, 19))]
    assert summary(run(second, *script), *FIELDS, "index") == [
        (0, 1, (0, 10), 2, 0),
        (2, -1, (0, 10), 2, 0),
        (2, 1, (0, 10), 2, 1),
        (3, 1, (18, 29), 2, 0),
    ]


def test_a_part_merges_with_another_window_in_the_same_event() -> None:
    """One window splits; one of its parts takes over the pane of another window, and a new element.

    That part fires at once with all its elements; its trigger does not fire it again.
    """
    script = [arrive((1, 0), (1, 9), (1, 18)), arrive((1, 35)), arrive((1, 9, -1), (1, 26))]
    assert summary(run(sessions(), *script), *FIELDS, "index") == [
        (0, 1, (0, 28), 3, 0),
        (1, 1, (35, 45), 1, 0),
        (2, -1, (0, 28), 3, 0),
        (2, 1, (0, 10), 1, 0),
        (2, -1, (35, 45), 1, 0),
        (2, 1, (18, 45), 3, 0),
    ]


def test_the_pane_of_an_empty_window_is_retracted_at_once() -> None:
    """When the window exists again, its pane indexes continue."""
    twice = sessions(triggers.Repeatedly(triggers.AfterCount(2)))
    script = [
        arrive((1, 0), (1, 1)),
        arrive((1, 0, -1)),
        arrive((1, 1, -1)),
        arrive((1, 0), (1, 1)),
    ]
    assert summary(run(twice, *script), *FIELDS, "index") == [
        (0, 1, (0, 11), 2, 0),
        (1, -1, (0, 11), 2, 0),
        (1, 1, (1, 11), 1, 0),
        (2, -1, (1, 11), 1, 0),
        (3, 1, (0, 11), 2, 1),
    ]


def test_an_unmatched_retraction_has_no_window() -> None:
    script = [arrive((1, 5, -1)), arrive((1, 0)), arrive((1, 5)), arrive((1, 5))]
    result = run(sessions(), *script)
    assert summary(result) == [(1, 1, (0, 10), 1), (3, -1, (0, 10), 1), (3, 1, (0, 15), 2)]
    assert not result.dropped


@pytest.mark.parametrize(("watermark", "value"), [(74, 4), (75, 5)])
def test_an_unmatched_retraction_is_forgotten_in_the_end(watermark: int, value: int) -> None:
    """The retraction at 5, in [5, 15), is kept until 15 plus the maximum gap."""
    long = sessions(
        lateness=0, windows=windows.Sessions(lambda pair: 60 if pair[1] == 2 else 10, 60)
    )
    script = [arrive((2, 0), (2, 50)), arrive((1, 5, -1)), watermark_to(watermark), arrive((1, 5))]
    result = run(long, *script)
    assert summary(result, "window", "value")[-1] == ((0, 110), value)
    assert not result.dropped


def test_parts_of_an_accumulating_window_wait_for_their_triggers() -> None:
    script = [arrive((1, 0)), arrive((1, 9)), arrive((1, 18)), arrive((1, 9, -1))]
    assert summary(run(sessions(mode="ACCUMULATING"), *script)) == [
        (0, 1, (0, 10), 1),
        (1, 1, (0, 19), 2),
        (2, 1, (0, 28), 3),
        (3, 1, (0, 10), 1),
        (3, 1, (18, 28), 1),
    ]


def test_a_discarding_window_does_not_split() -> None:
    script = [arrive((1, 0)), arrive((1, 9)), arrive((1, 18)), arrive((1, 9, -1))]
    result = run(sessions(mode="DISCARDING"), *script)
    assert summary(result)[-1] == (3, 1, (0, 28), -1)


def test_linked_windows_split() -> None:
    linked = sessions(windows=windows.Linked(3, near=2))
    script = [arrive((1, 0)), arrive((1, 10)), arrive((1, 5)), arrive((1, 5, -1))]
    assert summary(run(linked, *script)) == [
        (0, 1, (0, 3), 1),
        (1, 1, (10, 13), 1),
        (2, -1, (0, 3), 1),
        (2, -1, (10, 13), 1),
        (2, 1, (0, 13), 3),
        (3, -1, (0, 13), 3),
        (3, 1, (0, 3), 1),
        (3, 1, (10, 13), 1),
    ]


def test_a_validity_window_grows_when_the_next_one_is_retracted() -> None:
    """The pane from 5 on is retracted at once, the one before it when its window expires."""
    validity = sessions(windows=windows.Validity())
    script = [arrive((1, 0), (2, 5), (4, 9)), arrive((2, 5, -1)), END]
    assert summary(run(validity, *script)) == [
        (0, 1, (0, 5), 1),
        (0, 1, (5, 9), 2),
        (0, 1, (9, GLOBAL[1]), 4),
        (1, -1, (5, 9), 2),
        (2, -1, (0, 5), 1),
        (2, 1, (0, 9), 1),
    ]


# Windows after their expiry


def test_a_closed_window_emits_its_last_pane_again() -> None:
    """It merged into another window, which had not fired when it split."""
    script = [arrive((1, 0)), watermark_to(12), arrive((1, 9)), arrive((1, 9, -1)), END]
    result = run(sessions(triggers.Default(), 0), *script)
    assert summary(result, *FIELDS, "index", "timing", "last") == [
        (1, 1, (0, 10), 1, 0, "ON_TIME", True),
        (3, -1, (0, 10), 1, 0, "ON_TIME", True),
        (3, 1, (0, 10), 1, 1, "LATE", True),
    ]


def test_an_expired_part_fires_once() -> None:
    script = [
        arrive((1, 0)),
        arrive((1, 20)),
        watermark_to(12),
        arrive((1, 9), (1, 18)),
        arrive((1, 9, -1)),
        watermark_to(19),
        END,
    ]
    result = run(sessions(lateness=0), *script)
    assert summary(result, *FIELDS, "index", "timing", "last") == [
        (0, 1, (0, 10), 1, 0, "EARLY", False),
        (1, 1, (20, 30), 1, 0, "EARLY", False),
        (3, -1, (0, 10), 1, 0, "EARLY", False),
        (3, -1, (20, 30), 1, 0, "EARLY", False),
        (3, 1, (0, 30), 4, 0, "EARLY", False),
        (4, -1, (0, 30), 4, 0, "EARLY", False),
        (4, 1, (0, 10), 1, 1, "ON_TIME", True),
        (4, 1, (18, 30), 2, 0, "EARLY", False),
    ]


@pytest.mark.parametrize(("watermark", "value"), [(18, 2), (19, None), (20, None)])
def test_a_window_is_retained_until_no_element_in_time_can_merge_with_it(
    watermark: int, value: Any
) -> None:
    """The session of 0 is forgotten at 20; an element at 9 is in time up to 18."""
    result = run(
        sessions(triggers.Default(), 0, mode="ACCUMULATING"),
        arrive((1, 0)),
        watermark_to(watermark),
        arrive((1, 9)),
        END,
        changing=False,
    )
    assert [pane.value for pane in result.panes] == [1, value][: 1 + (value is not None)]
    assert dropped(result) == [(9, (9, 19))] * (value is None)


def test_the_watermark_is_held_while_a_last_pane_can_be_retracted() -> None:
    """The pane of [0, 10) can be retracted until 20, and the next grouping allows no lateness."""
    script = [arrive((1, 0)), watermark_to(12), watermark_to(19), watermark_to(20)]
    result = run(sessions(triggers.Default(), 0), *script, changing=False)
    assert result.watermarks == [MIN, 9, 9, 20]


# Late elements

TWO_ELEMENTS = arrive((1, 0), (1, 8))
"""A session from 0 to 18."""


@pytest.mark.parametrize(
    ("rows", "late"),
    [
        ([(1, 4)], []),
        ([(1, 2)], []),
        ([(1, 1)], [(1, (1, 11))]),
        ([(1, 2), (1, 1)], [(1, (1, 11))]),
        ([(1, 1), (1, 9)], [(1, (1, 11))]),
        ([(1, -20)], [(-20, (-20, -10))]),
    ],
    ids=["inside", "stretches", "too far", "one too far", "beside one in time", "alone"],
)
def test_an_element_of_an_expired_window_is_accepted_after_the_horizon(
    rows: Any, late: Any
) -> None:
    """At 11, the horizon is 1; the first session of the key is from 3 to 22."""
    begin = [watermark_to(11), arrive((1, 3), (1, 5), (1, 12)), watermark_to(14)]
    result = run(sessions(lateness=0), *begin, arrive(*rows), END, changing=False)
    assert dropped(result) == late
    assert result.panes[-1].value == 3 + len(rows) - len(late)


@pytest.mark.parametrize(("row", "late"), [((1, -2), []), ((1, -20), [(-20, (-20, -10))])])
def test_a_key_that_has_forgotten_nothing_accepts_all(row: Any, late: Any) -> None:
    result = run(
        sessions(lateness=0), TWO_ELEMENTS, watermark_to(12), arrive(row), END, changing=False
    )
    assert dropped(result) == late


def test_an_expired_window_accepts_no_element() -> None:
    result = run(
        sessions(lateness=0), TWO_ELEMENTS, watermark_to(18), arrive((1, 1)), END, changing=False
    )
    assert dropped(result) == [(1, (1, 11))]


def test_an_element_dropped_from_a_closed_window_merges_no_windows() -> None:
    """The element at 5 would merge with the closed session of 0, and that at 14 only through it."""
    once = sessions(triggers.AfterCount(2), mode="DISCARDING")
    result = run(once, arrive((1, 0), (1, 1)), arrive((1, 5), (1, 14)), END, changing=False)
    assert summary(result) == [(0, 1, (0, 11), 2), (2, 1, (14, 24), 1)]
    assert dropped(result) == [(5, (5, 15))]


# Timestamps


def fixed(timestamps: str) -> Strategy:
    """Windows of size 20 with an allowed lateness of 10."""
    return Strategy(windows.fixed(20), EACH, "RETRACTING", 10, timestamps)


def stamps(result: GroupingResult) -> list[tuple[int, int, int]]:
    return summary(result, "event", "diff", "timestamp")  # type: ignore[return-value]


def test_the_timestamp_of_a_late_element_is_bounded_by_the_lateness() -> None:
    result = run(
        fixed("EARLIEST"),
        arrive((1, 12)),
        watermark_to(15),
        arrive((1, 8)),
        arrive((1, 3)),
        watermark_to(20),
    )
    assert stamps(result) == [(0, 1, 12), (2, -1, 12), (2, 1, 8), (3, -1, 8), (3, 1, 5)]
    assert result.watermarks == [MIN, 15, 15, 15, 15]  # up to 5 + 10


def test_the_timestamp_is_the_latest_that_is_not_retracted() -> None:
    """The watermark is held at 4 + 10, since the timestamp of a pane may go back to 4."""
    script = [
        arrive((1, 4)),
        arrive((1, 9)),
        watermark_to(12),
        arrive((1, 9, -1)),
        watermark_to(20),
    ]
    result = run(fixed("LATEST"), *script)
    assert stamps(result) == [(0, 1, 4), (1, -1, 4), (1, 1, 9), (3, -1, 9), (3, 1, 4)]
    assert result.watermarks == [MIN, MIN, 12, 12, 14]
    constant = run(fixed("LATEST"), *script[:3], watermark_to(20), watermark_to(30), changing=False)
    assert constant.watermarks == [MIN, MIN, 12, 19, 30]


def test_each_part_has_the_timestamp_of_its_elements() -> None:
    script = [arrive((1, 0), (1, 9), (1, 18)), arrive((1, 9, -1))]
    earliest = run(sessions(timestamps="EARLIEST"), *script)
    assert summary(earliest, "diff", "window", "timestamp") == [
        (1, (0, 28), 0),
        (-1, (0, 28), 0),
        (1, (0, 10), 0),
        (1, (18, 28), 18),
    ]
    latest = run(sessions(timestamps="LATEST"), *script)
    assert [pane.timestamp for pane in latest.panes] == [18, 18, 0, 18]


def test_on_time_and_last_panes_combine_all_elements_too() -> None:
    """An ON_TIME pane without new elements, and the last pane, with a late element."""
    trigger = triggers.AfterWatermark(early=triggers.AfterCount(1), late=triggers.AfterCount(5))
    strategy = attrs.evolve(fixed("EARLIEST"), trigger=trigger)
    result = run(strategy, arrive((1, 12)), watermark_to(21), arrive((1, 11)), watermark_to(30))
    assert summary(result, *FIELDS, "timestamp", "timing") == [
        (0, 1, (0, 20), 1, 12, "EARLY"),
        (1, -1, (0, 20), 1, 12, "EARLY"),
        (1, 1, (0, 20), 1, 12, "ON_TIME"),
        (3, -1, (0, 20), 1, 12, "ON_TIME"),
        (3, 1, (0, 20), 2, 11, "LATE"),
    ]
    assert result.watermarks == [MIN, 21, 21, 30]


# Windows that a grouping behind keeps


@pytest.mark.parametrize(("windows_inherited", "reached"), [(True, 64), (False, 70)])
def test_inherited_windows_hold_the_watermark_near_their_start(
    windows_inherited: bool, reached: int
) -> None:
    """A session that starts at 50 is accepted until 50 + 5 + 10 - 1."""
    strategy = sessions(triggers.Default(), 5, mode="DISCARDING")
    strategy = attrs.evolve(strategy, windows=windows.Sessions(10))
    script = [
        arrive((1, 50)),
        watermark_to(55),
        watermark_to(62),
        watermark_to(70),
        watermark_to(75),
    ]
    result = run(strategy, *script, changing=False, windows_inherited=windows_inherited)
    assert result.watermarks == [MIN, 55, 62, reached, 75]
