"""Windows that come apart, that are kept after their end, that take nothing in: the oracle alone.

Each example has been worked out by hand. All times are in microseconds, so that a window [0, 10) has
its last instant at 9.
"""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from tests.oracle import contents, triggers, windows
from tests.oracle.replay import Played, Stage, Strategy, replay
from tests.oracle.story import GLOBAL, MAX, MIN, Element

END = ("watermark", MAX)
EACH = triggers.Repeatedly(triggers.AfterCount(1))
SAID = ("event", "diff", "window", "value")


def come(*rows: tuple[Any, ...]) -> tuple[str, list[Element]]:
    """Rows that come together: value, timestamp, and diff, if they go."""
    return "elements", [Element("a", *row) for row in rows]


def until(watermark: int) -> tuple[str, int]:
    return "watermark", watermark


def sessions(trigger: Any = EACH, lateness: int = 1000, gap: Any = 10, **more: Any) -> Strategy:
    """Retracting sessions."""
    strategy = Strategy(windows.Sessions(gap, 40), trigger, "RETRACTING", lateness)
    return attrs.evolve(strategy, **more)


def play(strategy: Strategy, *script: Any, changing: bool = True, **stage: Any) -> Played:
    return replay(script, [Stage(strategy, contents.Sum(), changing=changing, **stage)])[0]


def said(played: Played, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(pane, name) for name in names or SAID) for pane in played.panes]


def dropped(played: Played) -> list[tuple[int, tuple[int, int]]]:
    return [(e.timestamp, window) for e, window in played.dropped]


# The examples of the issue


def test_a_retraction_that_joined_two_sessions_leaves_two() -> None:
    first = Strategy(windows.fixed(5), EACH, "RETRACTING", 1000)
    script = [
        ("elements", [Element(key, value, timestamp)])
        for key, value, timestamp in [("a", 5, 1), ("b", 5, 8), ("c", 5, 12), ("b", 1, 9)]
    ]
    swapped = Stage(sessions(), contents.Bag(), lambda key, value: (value, key), changing=True)
    _, played = replay(script, [Stage(first, contents.Sum()), swapped])
    assert said(played, "event", "diff", "key", "window", "value", "index", "timestamp") == [
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


def test_a_pane_is_stamped_by_all_that_it_stands_for() -> None:
    first = Strategy(windows.fixed(20), EACH, "RETRACTING", 1000, timestamps="EARLIEST")
    second = Strategy(windows.fixed(10), EACH, "RETRACTING", 1000)
    stages = [Stage(first, contents.Sum()), Stage(second, contents.Sum(), changing=True)]
    one, two = replay([come((1, 1)), come((1, 15)), END], stages)
    assert [pane.timestamp for pane in one.panes] == [1, 1, 1]
    assert said(two) == [(0, 1, (0, 10), 1), (1, -1, (0, 10), 1), (1, 1, (0, 10), 2)]


def test_an_element_in_time_finds_the_session_that_has_expired() -> None:
    script = [come((1, 0)), until(12), come((1, 9)), END]
    played = play(sessions(triggers.Default(), 0), *script, changing=False)
    assert said(played, *SAID, "timing", "last", "index") == [
        (1, 1, (0, 10), 1, "ON_TIME", True, 0),
        (3, -1, (0, 10), 1, "ON_TIME", True, 0),
        (3, 1, (0, 19), 2, "LATE", True, 0),
    ]
    assert not played.dropped


def test_a_dropped_element_stretches_no_session() -> None:
    once = sessions(triggers.AfterCount(1), mode="DISCARDING")
    played = play(once, come((1, 0)), come((1, 5)), END, changing=False)
    assert said(played, *SAID, "last") == [(0, 1, (0, 10), 1, True)]
    assert dropped(played) == [(5, (5, 15))]


# Windows that come apart

LONG = [(40, 0), (5, 5), (5, 15), (5, 25)]
"""The first of these lasts for 40, so that all are one session."""


def by_value() -> Strategy:
    return sessions(gap=lambda pair: pair[1])


def test_a_window_comes_apart_into_three_and_a_part_that_returns_makes_it_one() -> None:
    played = play(by_value(), come(*LONG), come((40, 0, -1)), come((40, 0)))
    assert said(played, *SAID, "index") == [
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


def test_what_is_left_of_a_window_speaks_whatever_its_trigger_says() -> None:
    """The trigger goes on in each part: it has heard of one element since it fired."""
    thrice = sessions(triggers.Repeatedly(triggers.AfterCount(3)))
    script = [come((1, 0), (1, 9), (1, 18)), come((1, 9, -1)), come((1, 5)), come((1, 6))]
    assert said(play(thrice, *script)) == [
        (0, 1, (0, 28), 3),
        (1, -1, (0, 28), 3),
        (1, 1, (0, 10), 1),
        (1, 1, (18, 28), 1),
        (3, -1, (0, 10), 1),
        (3, 1, (0, 16), 3),
    ]


def test_a_window_that_gets_smaller_speaks_at_once_and_one_that_does_not_waits() -> None:
    thrice = sessions(triggers.Repeatedly(triggers.AfterCount(3)))
    script = [come((1, 0), (1, 4), (1, 8)), come((1, 4, -1)), come((1, 8, -1)), come((1, 0))]
    assert said(play(thrice, *script)) == [
        (0, 1, (0, 18), 3),
        (2, -1, (0, 18), 3),
        (2, 1, (0, 10), 1),
        (3, -1, (0, 10), 1),
        (3, 1, (0, 10), 2),
    ]


def test_a_window_that_has_said_nothing_has_nothing_to_correct() -> None:
    late = sessions(triggers.Repeatedly(triggers.AfterCount(5)))
    script = [come((1, 0), (1, 9), (1, 18)), come((1, 9, -1)), come((1, 0))]
    assert said(play(late, *script)) == [(2, 1, (0, 10), 2)]  # the other one has heard of four


def test_an_output_goes_to_the_part_in_whose_window_it_lies() -> None:
    """The session of all three has not fired, so nothing is taken back when it comes apart."""
    second = sessions(triggers.Repeatedly(triggers.AfterCount(2)))
    script = [come((1, 0), (1, 0)), come((1, 9)), come((1, 9, -1), (1, 18)), come((1, 19))]
    assert said(play(second, *script), *SAID, "index") == [
        (0, 1, (0, 10), 2, 0),
        (2, -1, (0, 10), 2, 0),
        (2, 1, (0, 10), 2, 1),
        (3, 1, (18, 29), 2, 0),
    ]


def test_an_arrival_joins_what_is_left_with_another_window() -> None:
    """One window comes apart; one of its parts takes over the output of another, and a new element.

    That part speaks at once of all that it holds, and its trigger has nothing more to say.
    """
    script = [come((1, 0), (1, 9), (1, 18)), come((1, 35)), come((1, 9, -1), (1, 26))]
    assert said(play(sessions(), *script), *SAID, "index") == [
        (0, 1, (0, 28), 3, 0),
        (1, 1, (35, 45), 1, 0),
        (2, -1, (0, 28), 3, 0),
        (2, 1, (0, 10), 1, 0),
        (2, -1, (35, 45), 1, 0),
        (2, 1, (18, 45), 3, 0),
    ]


def test_a_window_of_which_nothing_is_left_is_taken_back_at_once() -> None:
    """And when it comes back, its numbers go on."""
    twice = sessions(triggers.Repeatedly(triggers.AfterCount(2)))
    script = [come((1, 0), (1, 1)), come((1, 0, -1)), come((1, 1, -1)), come((1, 0), (1, 1))]
    assert said(play(twice, *script), *SAID, "index") == [
        (0, 1, (0, 11), 2, 0),
        (1, -1, (0, 11), 2, 0),
        (1, 1, (1, 11), 1, 0),
        (2, -1, (1, 11), 1, 0),
        (3, 1, (0, 11), 2, 1),
    ]


def test_what_is_owed_waits_in_no_window() -> None:
    script = [come((1, 5, -1)), come((1, 0)), come((1, 5)), come((1, 5))]
    played = play(sessions(), *script)
    assert said(played) == [(1, 1, (0, 10), 1), (3, -1, (0, 10), 1), (3, 1, (0, 15), 2)]
    assert not played.dropped


@pytest.mark.parametrize(("watermark", "value"), [(74, 4), (75, 5)])
def test_what_is_owed_is_forgotten_in_the_end(watermark: int, value: int) -> None:
    """The retraction of an element at 5, in [5, 15), is owed until 15 and the largest gap are over."""
    long = sessions(
        lateness=0, windows=windows.Sessions(lambda pair: 60 if pair[1] == 2 else 10, 60)
    )
    script = [come((2, 0), (2, 50)), come((1, 5, -1)), until(watermark), come((1, 5))]
    played = play(long, *script)
    assert said(played, "window", "value")[-1] == ((0, 110), value)
    assert not played.dropped


def test_accumulating_panes_of_what_is_left_come_when_triggers_say() -> None:
    script = [come((1, 0)), come((1, 9)), come((1, 18)), come((1, 9, -1))]
    assert said(play(sessions(mode="ACCUMULATING"), *script)) == [
        (0, 1, (0, 10), 1),
        (1, 1, (0, 19), 2),
        (2, 1, (0, 28), 3),
        (3, 1, (0, 10), 1),
        (3, 1, (18, 28), 1),
    ]


def test_a_discarding_window_stays_whole() -> None:
    script = [come((1, 0)), come((1, 9)), come((1, 18)), come((1, 9, -1))]
    played = play(sessions(mode="DISCARDING"), *script)
    assert said(played)[-1] == (3, 1, (0, 28), -1)


def test_windows_that_are_linked_come_apart() -> None:
    linked = sessions(windows=windows.Linked(3, near=2))
    script = [come((1, 0)), come((1, 10)), come((1, 5)), come((1, 5, -1))]
    assert said(play(linked, *script)) == [
        (0, 1, (0, 3), 1),
        (1, 1, (10, 13), 1),
        (2, -1, (0, 3), 1),
        (2, -1, (10, 13), 1),
        (2, 1, (0, 13), 3),
        (3, -1, (0, 13), 3),
        (3, 1, (0, 3), 1),
        (3, 1, (10, 13), 1),
    ]


def test_a_window_of_validity_grows_when_the_next_one_goes() -> None:
    """What was valid from 5 on is taken back at once; what was until then when its window expires."""
    validity = sessions(windows=windows.Validity())
    script = [come((1, 0), (2, 5), (4, 9)), come((2, 5, -1)), END]
    assert said(play(validity, *script)) == [
        (0, 1, (0, 5), 1),
        (0, 1, (5, 9), 2),
        (0, 1, (9, GLOBAL[1]), 4),
        (1, -1, (5, 9), 2),
        (2, -1, (0, 5), 1),
        (2, 1, (0, 9), 1),
    ]


# Windows that are kept after their end


def test_a_window_that_has_spoken_its_last_speaks_its_last_again() -> None:
    """It became part of another one, which had not fired when it came apart."""
    script = [come((1, 0)), until(12), come((1, 9)), come((1, 9, -1)), END]
    played = play(sessions(triggers.Default(), 0), *script)
    assert said(played, *SAID, "index", "timing", "last") == [
        (1, 1, (0, 10), 1, 0, "ON_TIME", True),
        (3, -1, (0, 10), 1, 0, "ON_TIME", True),
        (3, 1, (0, 10), 1, 1, "LATE", True),
    ]


def test_a_part_that_has_expired_speaks_at_once_and_no_more() -> None:
    script = [
        come((1, 0)),
        come((1, 20)),
        until(12),
        come((1, 9), (1, 18)),
        come((1, 9, -1)),
        until(19),
        END,
    ]
    played = play(sessions(lateness=0), *script)
    assert said(played, *SAID, "index", "timing", "last") == [
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
def test_a_window_is_kept_until_nothing_in_time_can_reach_it(watermark: int, value: Any) -> None:
    """The session of 0 is gone at 20; an element at 9 is in time up to 18."""
    played = play(
        sessions(triggers.Default(), 0, mode="ACCUMULATING"),
        come((1, 0)),
        until(watermark),
        come((1, 9)),
        END,
        changing=False,
    )
    assert [pane.value for pane in played.panes] == [1, value][: 1 + (value is not None)]
    assert dropped(played) == [(9, (9, 19))] * (value is None)


def test_the_watermark_waits_for_what_may_take_back_a_last_pane() -> None:
    """The pane of [0, 10) can be taken back until 20, and groupings behind allow no lateness."""
    script = [come((1, 0)), until(12), until(19), until(20)]
    played = play(sessions(triggers.Default(), 0), *script, changing=False)
    assert played.watermarks == [MIN, 9, 9, 20]


# What is late

BOTH = come((1, 0), (1, 8))
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
def test_an_element_whose_window_has_expired_is_taken_as_far_as_nothing_is_gone(
    rows: Any, late: Any
) -> None:
    """At 11 all is known that ends after 1; the key begins with a session, from 3 to 22."""
    begin = [until(11), come((1, 3), (1, 5), (1, 12)), until(14)]
    played = play(sessions(lateness=0), *begin, come(*rows), END, changing=False)
    assert dropped(played) == late
    assert played.panes[-1].value == 3 + len(rows) - len(late)


@pytest.mark.parametrize(("row", "late"), [((1, -2), []), ((1, -20), [(-20, (-20, -10))])])
def test_a_key_that_was_there_from_the_beginning_knows_all(row: Any, late: Any) -> None:
    played = play(sessions(lateness=0), BOTH, until(12), come(row), END, changing=False)
    assert dropped(played) == late


def test_no_element_is_absorbed_by_a_window_that_has_expired() -> None:
    played = play(sessions(lateness=0), BOTH, until(18), come((1, 1)), END, changing=False)
    assert dropped(played) == [(1, (1, 11))]


def test_what_is_dropped_from_a_closed_window_joins_it_with_no_other() -> None:
    """The element at 5 would lie in the closed session of 0, and the one at 14 only through it."""
    once = sessions(triggers.AfterCount(2), mode="DISCARDING")
    played = play(once, come((1, 0), (1, 1)), come((1, 5), (1, 14)), END, changing=False)
    assert said(played) == [(0, 1, (0, 11), 2), (2, 1, (14, 24), 1)]
    assert dropped(played) == [(5, (5, 15))]


# Timestamps


def fixed(timestamps: str) -> Strategy:
    """Windows of 20 with 10 of lateness."""
    return Strategy(windows.fixed(20), EACH, "RETRACTING", 10, timestamps)


def stamps(played: Played) -> list[tuple[int, int, int]]:
    return said(played, "event", "diff", "timestamp")  # type: ignore[return-value]


def test_an_element_behind_the_watermark_stamps_its_pane_as_far_as_the_lateness() -> None:
    played = play(
        fixed("EARLIEST"), come((1, 12)), until(15), come((1, 8)), come((1, 3)), until(20)
    )
    assert stamps(played) == [(0, 1, 12), (2, -1, 12), (2, 1, 8), (3, -1, 8), (3, 1, 5)]
    assert played.watermarks == [MIN, 15, 15, 15, 15]  # up to 5 + 10


def test_the_latest_of_what_is_left_stamps_the_pane() -> None:
    """The watermark never goes further than 4 + 10, for a pane may have to go back to 4."""
    script = [come((1, 4)), come((1, 9)), until(12), come((1, 9, -1)), until(20)]
    played = play(fixed("LATEST"), *script)
    assert stamps(played) == [(0, 1, 4), (1, -1, 4), (1, 1, 9), (3, -1, 9), (3, 1, 4)]
    assert played.watermarks == [MIN, MIN, 12, 12, 14]
    constant = play(fixed("LATEST"), *script[:3], until(20), until(30), changing=False)
    assert constant.watermarks == [MIN, MIN, 12, 19, 30]


def test_each_part_is_stamped_by_what_it_holds() -> None:
    script = [come((1, 0), (1, 9), (1, 18)), come((1, 9, -1))]
    earliest = play(sessions(timestamps="EARLIEST"), *script)
    assert said(earliest, "diff", "window", "timestamp") == [
        (1, (0, 28), 0),
        (-1, (0, 28), 0),
        (1, (0, 10), 0),
        (1, (18, 28), 18),
    ]
    latest = play(sessions(timestamps="LATEST"), *script)
    assert [pane.timestamp for pane in latest.panes] == [18, 18, 0, 18]


def test_a_pane_at_the_end_of_its_window_is_stamped_so_too() -> None:
    """An on-time pane that holds nothing new, and the last one, with a late element."""
    trigger = triggers.AfterWatermark(early=triggers.AfterCount(1), late=triggers.AfterCount(5))
    strategy = attrs.evolve(fixed("EARLIEST"), trigger=trigger)
    played = play(strategy, come((1, 12)), until(21), come((1, 11)), until(30))
    assert said(played, *SAID, "timestamp", "timing") == [
        (0, 1, (0, 20), 1, 12, "EARLY"),
        (1, -1, (0, 20), 1, 12, "EARLY"),
        (1, 1, (0, 20), 1, 12, "ON_TIME"),
        (3, -1, (0, 20), 1, 12, "ON_TIME"),
        (3, 1, (0, 20), 2, 11, "LATE"),
    ]
    assert played.watermarks == [MIN, 21, 21, 30]


# Windows that a grouping behind keeps


@pytest.mark.parametrize(("inherited", "reached"), [(True, 64), (False, 70)])
def test_windows_that_are_kept_behind_hold_the_watermark_near_their_start(
    inherited: bool, reached: int
) -> None:
    """A session that reaches back to 50 may come until 50 + 5 + 10 - 1."""
    strategy = sessions(triggers.Default(), 5, mode="DISCARDING")
    strategy = attrs.evolve(strategy, windows=windows.Sessions(10))
    script = [come((1, 50)), until(55), until(62), until(70), until(75)]
    played = play(strategy, *script, changing=False, inherited=inherited)
    assert played.watermarks == [MIN, 55, 62, reached, 75]
