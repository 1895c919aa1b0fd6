"""check_window_fn passes what is sound, and says of the rest which law it breaks."""

from __future__ import annotations

from itertools import count
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, given, settings

from headrace.sdk.testing.runs.batch_oracle import merged_windows
from headrace.sdk.testing.runs.linked_windows import LinkedWindows
from headrace.testing.laws import LawBroken, check_window_fn
from headrace.testing.strategies import Where, patience, wheres
from headrace.windowing import (
    Duration,
    FixedWindows,
    IntervalWindow,
    NonMergingWindowFn,
    Sessions,
    WindowFn,
)


class Behind(NonMergingWindowFn):
    """Windows that end before their element."""

    def assign(self, context: Any) -> Any:
        return [IntervalWindow(context.timestamp - 10, context.timestamp)]


@attrs.define
class Changing(NonMergingWindowFn):
    """Every other time another window."""

    numbers: Any = attrs.field(factory=count)

    def assign(self, context: Any) -> Any:
        return [IntervalWindow(context.timestamp, context.timestamp + 1 + next(self.numbers) % 2)]


class Starting(WindowFn):
    """Windows of ten seconds that merge somehow."""

    def assign(self, context: Any) -> Any:
        return [IntervalWindow(context.timestamp, context.timestamp + 10)]


class CutsShort(Starting):
    """Merges into what the first two have in common."""

    def merge(self, merge_context: Any) -> None:
        windows = sorted(set(merge_context.windows))
        if len(windows) > 1 and windows[0].end > windows[1].start:
            merge_context.merge(windows[:2], IntervalWindow(windows[1].start, windows[0].end))


class MergesPairs(Starting):
    """Merges two neighbours that overlap, and leaves the third for the next time."""

    def merge(self, merge_context: Any) -> None:
        windows = sorted(set(merge_context.windows))
        if len(windows) > 1 and windows[0].end > windows[1].start:
            merge_context.merge(windows[:2], windows[0].union(windows[1]))


class UpToThirty(Starting):
    """Sessions that never become longer than thirty seconds: what fits in depends on who was first."""

    def merge(self, merge_context: Any) -> None:
        groups: list[list[Any]] = []
        for window in sorted(set(merge_context.windows)):
            fits = groups and window.start < max(w.end for w in groups[-1])
            if fits and window.end - groups[-1][0].start <= 30:
                groups[-1].append(window)
            else:
                groups.append([window])
        for group in groups:
            end = max(w.end for w in group)
            merge_context.merge(group, IntervalWindow(group[0].start, end))


SPOILT = {
    Behind: "an element lies in its windows",
    Changing: "the same element always gets the same windows",
    CutsShort: "an element lies in the window that its own window becomes",
    MergesPairs: "merged windows do not merge again|merged windows do not depend on earlier merges",
    UpToThirty: "merged windows do not depend on earlier merges",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPOILT, ids=lambda kind: kind.__name__)
def test_a_law_that_is_broken_is_named(kind: type[WindowFn]) -> None:
    with pytest.raises(LawBroken, match=SPOILT[kind]) as raised:
        check_window_fn(kind(), cases=300)
    assert kind.__name__ in raised.value.given
    assert "Timestamp(" in str(raised.value)
    assert "what to do: " in str(raised.value)


@settings(max_examples=30, suppress_health_check=[HealthCheck.nested_given])
@given(wheres())
def test_the_window_functions_that_are_drawn_are_sound(where: Where) -> None:
    micros = where.scale
    check_window_fn(
        where.window_fn, [("a", 1), ("b", 6)], micros.unit / 1e6, micros.origin / 1e6, cases=15
    )


def test_window_functions_that_look_at_the_element() -> None:
    check_window_fn(Sessions(patience, max_gap=7), [("a", 1), ("a", 6)])
    check_window_fn(FixedWindows(3600), unit=600)


def windows_of(seconds: list[int]) -> list[list[float]]:
    """What windows three seconds long become that merge if they are two seconds apart."""
    linked = LinkedWindows(3, 2)
    windows = [linked.assign(WindowFn.AssignContext(second))[0] for second in seconds]
    become = sorted(set(merged_windows(linked, windows).values()))
    return [[window.start.micros / 1e6, window.end.micros / 1e6] for window in become]


@pytest.mark.parametrize(
    ("seconds", "windows"),
    [
        ([0, 5], [[0, 8]]),
        ([0, 6], [[0, 3], [6, 9]]),
        ([0, 10, 5], [[0, 13]]),
        ([0, 1, 20], [[0, 4], [20, 23]]),
    ],
)
def test_linked_windows_merge_if_they_are_near(seconds: list[int], windows: Any) -> None:
    assert windows_of(seconds) == windows


def test_linked_windows_reach_back_to_the_furthest_window_that_they_merge_with() -> None:
    assert LinkedWindows(3, 2).reach() == Duration(5)
