"""Windows by count: what is emitted, and corrected, compared with lists in plain Python."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.sdk.batching import count_windows
from headrace.sdk.batching.count_windows import Ranked
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers import AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, GlobalWindows, IntervalWindow, Sessions
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from tests.model.semantics.scenarios import RETRACTING

pytestmark = pytest.mark.mode("streaming")

Step = tuple[int, Any]
"""A time, and the (key, value) that arrives, or None if the watermark advances to the time."""


def scripted(steps, open_end=False) -> TestStream:
    stream = TestStream(stays_open=open_end)
    for time, value in steps:
        if value is None:
            stream = stream.advance_watermark_to(time)
        else:
            stream = stream.add_elements([hr.TimestampedValue(value, time)])
    return stream


def changelog(runner, steps, size, every=None, lateness=0, open_end=False) -> list[Any]:
    """The lists that are emitted and retracted, with their timestamps."""
    windows = hr.WindowInto(GlobalWindows(), allowed_lateness=lateness)
    with TestPipeline(runner=runner) as p:
        counted = p | scripted(steps, open_end) | windows | hr.CountWindows(size, every)
        found = capture(counted)
    return [
        (e.diff, e.value[0], tuple(e.value[1]), e.timestamp.micros // 1_000_000)
        for e in found.elements
    ]


def oracle(steps, size, every, lateness, open_end) -> list[Any]:
    """The same in plain Python: all lists of all that was not late, again after each step."""
    watermark, added, changes = MIN_MICROS, [], []
    results: Counter[Any] = Counter()
    for time, value in [*steps, *([] if open_end else [(MAX_MICROS, None)])]:
        if value is None:
            watermark = time
        elif time + lateness >= watermark:
            added.append((*value, time))
        before, results = results, Counter()
        for key in {key for key, *_ in added}:
            own = sorted((t, v) for k, v, t in added if k == key and t < watermark)
            for end in range(every, len(own) + 1, every):
                part = own[max(0, end - size) : end]
                results[key, tuple(v for _, v in part), part[-1][0]] += 1
        changes += [(1, *each) for each in (results - before).elements()]
        changes += [(-1, *each) for each in (before - results).elements()]
    return changes


def k(time, value) -> Step:
    return time, ("k", value)


NINE = [k(t, t) for t in range(9)]


def test_tumbling_windows_have_each_value_once(runner):
    assert changelog(runner, NINE, 4) == [(1, "k", (0, 1, 2, 3), 3), (1, "k", (4, 5, 6, 7), 7)]


def test_sliding_windows_have_the_last_values(runner):
    assert changelog(runner, NINE, 5, every=3) == [
        (1, "k", (0, 1, 2), 2),
        (1, "k", (1, 2, 3, 4, 5), 5),
        (1, "k", (4, 5, 6, 7, 8), 8),
    ]


def test_windows_can_leave_values_out(runner):
    found = changelog(runner, NINE, 1, every=4)
    assert found == [(1, "k", (3,), 3), (1, "k", (7,), 7)]


def test_the_order_is_that_of_event_time_and_then_of_encodings(runner):
    shuffled = [k(3, "d"), k(1, "c"), k(1, "b"), k(0, "a")]
    assert changelog(runner, shuffled, 2) == [(1, "k", ("a", "b"), 1), (1, "k", ("c", "d"), 3)]


def test_a_value_counts_when_the_watermark_has_passed_it(runner):
    pair = [k(1, "a"), k(2, "b")]
    assert changelog(runner, [*pair, (2, None)], 2, open_end=True) == []
    assert changelog(runner, [*pair, (3, None)], 2, open_end=True) == [(1, "k", ("a", "b"), 2)]


def test_a_late_value_moves_those_after_it(runner):
    late = [k(1, "a"), k(3, "c"), k(4, "d"), k(5, "e"), (6, None), k(2, "b")]
    assert changelog(runner, late, 2, lateness=4) == [
        (1, "k", ("a", "c"), 3),
        (1, "k", ("d", "e"), 5),
        (-1, "k", ("a", "c"), 3),
        (1, "k", ("a", "b"), 2),
        (-1, "k", ("d", "e"), 5),
        (1, "k", ("c", "d"), 4),
    ]
    assert changelog(runner, late, 2, lateness=3) == [
        (1, "k", ("a", "c"), 3),
        (1, "k", ("d", "e"), 5),
    ]


def test_values_are_counted_per_window_of_the_input(runner):
    with TestPipeline(runner=runner) as p:
        counted = p | scripted(NINE) | hr.WindowInto(FixedWindows(5)) | hr.CountWindows(2)
        found = capture(counted)
    first, second = IntervalWindow(0, 5), IntervalWindow(5, 10)
    assert [(e.value[1], e.window) for e in found.elements] == [
        ([0, 1], first),
        ([2, 3], first),
        ([5, 6], second),
        ([7, 8], second),
    ]


def test_a_value_that_is_retracted_moves_those_after_it(runner):
    windows = hr.WindowInto(
        FixedWindows(2),
        trigger=AfterWatermark(late=AfterCount(1)),
        accumulation_mode=RETRACTING,
        allowed_lateness=9,
    )
    steps = [k(0, 1), k(2, 3), k(4, 5), k(6, 7), (8, None), k(0, 1), (9, None)]
    with TestPipeline(runner=runner) as p:
        sums = p | scripted(steps) | windows | hr.CombinePerKey(sum)
        everywhere = hr.WindowInto(GlobalWindows(), allowed_lateness=9)
        found = capture(sums | everywhere | hr.CountWindows(2))
    assert [(e.diff, e.value[1]) for e in found.elements] == [
        (1, [1, 3]),
        (1, [5, 7]),
        (-1, [1, 3]),
        (1, [2, 3]),
    ]


@pytest.mark.mode("batch")
def test_a_batch_has_the_lists_of_the_stream(runner):
    steps = [k((5 * n) % 23, n) for n in range(23)]
    stream = changelog(runner, steps, 6, every=2)
    with TestPipeline(runner=runner) as p:
        read = p | hr.Create([hr.TimestampedValue(value, time) for time, value in steps])
        found = capture(read | hr.CountWindows(6, every=2))
    assert [tuple(e.value[1]) for e in found.elements] == [values for _, _, values, _ in stream]


# Random streams


@st.composite
def random_steps(draw) -> list[Step]:
    """Steps whose watermark advances; values are around it: many of them are late."""
    choice = Random(draw(st.integers(0, 1 << 32)))
    watermark = 3
    steps: list[Step] = []
    for _ in range(draw(st.integers(10, 20))):
        if choice.random() < 0.75:
            time = max(0, watermark + choice.randint(-4, 3))
            steps.append((time, (choice.choice("kkkl"), choice.randint(0, 5))))
        else:
            watermark += choice.randint(1, 4)
            steps.append((watermark, None))
    return steps


hows = st.tuples(st.integers(1, 5), st.integers(1, 5), st.sampled_from([4, 8, 1, 0]), st.booleans())


def check(runner, steps, how):
    size, every, lateness, open_end = how
    found = changelog(runner, steps, size, every, lateness, open_end)
    assert Counter(found) == Counter(oracle(steps, size, every, lateness, open_end))


def check_locally(steps, how):
    check("local", steps, how)


@given(random_steps(), hows)
def test_random_streams_emit_the_changes_of_lists_in_plain_python(steps, how):
    check_locally(steps, how)


def test_a_long_stream_emits_the_changes_of_lists_in_plain_python(runner):
    steps: list[Step] = [((7 * n) % 13 + n // 3, ("kl"[n % 2], n)) for n in range(30)]
    for n in range(3, 30, 5):
        steps.insert(n, (n, None))
    check(runner, steps, (4, 3, 6, False))


def forgets_too_much(patch):
    since = Ranked.since
    patch.setattr(Ranked, "since", lambda self, at, size, every: since(self, at, size - 1, every))


def never_moves_later_values(patch):
    patch.setattr(count_windows, "_common", lambda one, other: min(len(one), len(other)))


def orders_by_arrival(patch):
    patch.setattr(count_windows, "insort", lambda rows, row, key: rows.append(row))


@pytest.mark.parametrize("bug", [forgets_too_much, never_moves_later_values, orders_by_arrival])
def test_random_streams_find_a_seeded_bug(bug, monkeypatch):
    bug(monkeypatch)
    search = settings(
        max_examples=300,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        search(given(random_steps(), hows)(check_locally))()


# Refusals


@pytest.mark.parametrize("numbers", [{"size": 0}, {"size": 2.0}, {"size": 2, "every": True}])
def test_what_is_not_a_number_of_values_is_refused(numbers):
    with pytest.raises(hr.PipelineError, match="use a whole number greater than 0"):
        hr.CountWindows(**numbers)


def test_windows_that_merge_are_refused():
    p = hr.Pipeline()
    pairs = p | hr.Create([("k", 1)]) | hr.WindowInto(Sessions(5))
    with pytest.raises(hr.PipelineError, match="cannot merge") as raised:
        pairs | "Three" >> hr.CountWindows(3)
    assert "where: Three" in str(raised.value)


def test_elements_that_are_no_pairs_are_refused():
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="needs \\(key, value\\) pairs"):
        p | hr.Create([1]) | hr.CountWindows(3)
