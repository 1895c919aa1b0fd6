"""Evictors: which values a pane keeps, in each accumulation mode, compared with plain Python."""

from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.sdk.combiners import evictors as evictors_module
from headrace.sdk.combiners.evictors import EvictCombineFn
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.laws import check_combine_fn
from headrace.triggers import AfterBytes, AfterCount, AfterElement, AfterWatermark, Repeatedly
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    into,
    watermark,
)

LAST_TWO = hr.CountEvictor(2)
EACH = Repeatedly(AfterCount(1))


def words(played) -> list[tuple[int, str]]:
    """The values of each pane as a word, and its diff."""
    return [(diff, "".join(values)) for diff, _, values in played.pairs]


def test_the_last_values_of_a_pane_are_kept_by_event_time(play):
    events = [arrive(at(3, "c"), at(1, "a")), arrive(at(4, "d"), at(2, "b")), END]
    assert words(play(events, into(FIXED), hr.GroupByKey(evictor=LAST_TWO))) == [(1, "cd")]


def test_the_values_of_the_last_seconds_are_kept(play):
    events = [arrive(at(5, "d"), at(1, "a"), at(3, "b"), at(3.5, "c")), END]
    evictor = hr.TimeEvictor(2)
    assert words(play(events, into(FIXED), hr.GroupByKey(evictor=evictor))) == [(1, "cd")]


@pytest.mark.parametrize(
    ("mode", "panes"),
    [
        (DISCARDING, [(1, "ab"), (1, "c"), (1, "")]),
        (ACCUMULATING, [(1, "ab"), (1, "bc"), (1, "bc")]),
        (RETRACTING, [(1, "ab"), (-1, "ab"), (1, "bc")]),
    ],
)
def test_an_evictor_sees_what_its_pane_holds(play, mode, panes):
    early = AfterWatermark(early=AfterCount(1))
    events = [arrive(at(1, "a"), at(2, "b")), arrive(at(3, "c")), END]
    played = play(events, into(FIXED, early, mode), hr.GroupByKey(evictor=LAST_TWO))
    assert words(played)[: len(panes)] == panes


@pytest.mark.parametrize("early", [AfterElement(str.isupper), AfterBytes(5)])  # each has two bytes
@pytest.mark.parametrize(
    ("last", "panes"),
    [
        (hr.GroupByKey(evictor=LAST_TWO), [(1, "bC"), (1, "Cd")]),
        (hr.combiners.Latest.PerKey(), [(1, "C"), (1, "d")]),
    ],
)
def test_a_trigger_sees_the_values_without_their_timestamps(play, early, last, panes):
    events = [arrive(at(1, "a")), arrive(at(2, "b"), at(3, "C")), arrive(at(4, "d")), END]
    played = play(events, into(FIXED, AfterWatermark(early=early), ACCUMULATING), last)
    assert words(played) == panes


def test_sessions_that_merge_keep_the_last_values_of_both(play):
    events = [arrive(at(1, "a"), at(2, "b")), arrive(at(15, "d")), arrive(at(9, "c")), END]
    played = play(events, into(SESSIONS), hr.GroupByKey(evictor=hr.CountEvictor(3)))
    assert words(played) == [(1, "bcd")]


def test_a_retraction_brings_an_evicted_value_back(play):
    # Sums per window of 10 in retracting mode, then the last two sums of 100.
    steps = [
        into(FIXED, AfterWatermark(late=AfterCount(1)), RETRACTING, lateness=50),
        hr.CombinePerKey(sum),
        hr.Filter(_is_small),
        "Hundred"
        >> into(
            hr.window.FixedWindows(100),
            AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
            RETRACTING,
            lateness=50,
        ),
        hr.GroupByKey(evictor=LAST_TWO),
    ]
    sums = [at(1, 1), at(11, 2), at(21, 3)]
    events = [arrive(*sums), watermark(31), arrive(at(22, 9)), END]
    played = play(events, *steps)
    assert [(diff, values) for diff, _, values in played.pairs][:3] == [
        (1, [2, 3]),
        (-1, [2, 3]),
        (1, [1, 2]),
    ]


def _is_small(pair):
    return pair[1] < 10


@pytest.mark.mode("batch")
def test_a_batch_combines_what_is_kept(runner):
    with TestPipeline(runner=runner) as p:
        values = [hr.TimestampedValue((n % 2, n), (7 * n) % 31) for n in range(31)]
        kept = p | hr.Create(values) | hr.GroupByKey(evictor=hr.CountEvictor(3))
        found = capture(kept | hr.CombineValues(sum))
    by_time = sorted(range(31), key=lambda n: (7 * n) % 31)
    expected = [(k, sum([n for n in by_time if n % 2 == k][-3:])) for k in (0, 1)]
    assert sorted(e.value for e in found.elements) == expected


# Laws

rows = st.tuples(st.integers(0, 200), st.integers(0, 3))


@pytest.mark.parametrize("evictor", [hr.CountEvictor(3), hr.TimeEvictor(0.00002)])
def test_the_combiner_obeys_the_laws_of_combiners(evictor):
    check_combine_fn(EvictCombineFn(evictor), rows)


evictors = st.builds(hr.CountEvictor, st.integers(1, 4)) | st.builds(
    hr.TimeEvictor, st.integers(1, 5)
)


def kept(evictor, values) -> list[Any]:
    """What an evictor keeps of (time, value) pairs, in plain Python."""
    ordered = sorted(values)
    if isinstance(evictor, hr.CountEvictor):
        return [value for _, value in ordered[max(0, len(ordered) - evictor.size) :]]
    return [value for time, value in ordered if time > ordered[-1][0] - evictor.duration]


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), evictors)
def test_random_streams_keep_what_plain_python_keeps_after_each_arrival(seed, evictor):
    check_each_arrival(seed, evictor)


def check_each_arrival(seed, evictor):
    choice = Random(seed)
    values = [(choice.randint(0, 9), choice.randint(0, 5)) for _ in range(choice.randint(1, 90))]
    stream, expected, arrived = TestStream(), [], 0
    while arrived < len(values):
        number = choice.randint(1, 40)
        part = values[arrived : arrived + number]
        stream = stream.add_elements([hr.TimestampedValue(("k", v), t) for t, v in part])
        arrived += number
        expected.append(kept(evictor, values[:arrived]))
    windows = hr.WindowInto(FIXED, trigger=EACH, accumulation_mode=ACCUMULATING)
    with TestPipeline() as p:
        found = capture(p | stream | windows | hr.GroupByKey(evictor=evictor))
    assert [e.value[1] for e in found.elements][: len(expected)] == expected


def keeps_the_first(patch):
    patch.setattr(hr.CountEvictor, "keep", lambda self, rows: rows[: self.size])


def keeps_the_last_to_arrive(patch):
    patch.setattr(evictors_module, "_ORDER", lambda row: 0)


def keeps_an_instant_too_much(patch):
    keep = hr.TimeEvictor.keep
    longer = lambda self: hr.TimeEvictor(self.duration + 1e-6)  # noqa: E731
    patch.setattr(hr.TimeEvictor, "keep", lambda self, rows: keep(longer(self), rows))


@pytest.mark.parametrize(
    "bug", [keeps_the_first, keeps_the_last_to_arrive, keeps_an_instant_too_much]
)
def test_random_streams_find_a_seeded_bug(bug, monkeypatch):
    bug(monkeypatch)
    search = settings(
        max_examples=100,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        search(given(st.integers(0, 1 << 32), evictors)(check_each_arrival))()


def test_it_evicts_before_the_pane_fires():
    combine = EvictCombineFn(hr.CountEvictor(2))
    accumulator = combine.create_accumulator()
    for n in range(10_000):
        accumulator = combine.add_input(accumulator, (n, n))
        assert len(accumulator[1]) < 128
    assert combine.extract_output(accumulator) == [9998, 9999]


# Refusals


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: hr.CountEvictor(0), "the size of CountEvictor is 0"),
        (lambda: hr.TimeEvictor(0), "the duration of TimeEvictor is 0"),
        (lambda: hr.GroupByKey(evictor=3), "GroupByKey has the evictor 3"),  # type: ignore[arg-type]
    ],
)
def test_what_is_not_an_evictor_is_refused(make, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        make()


def test_an_output_for_late_pairs_is_refused():
    windows = hr.WindowInto(FIXED, late_output_tag="late")
    pairs = hr.Pipeline() | hr.Create([("k", 1)]) | windows
    with pytest.raises(hr.PipelineError, match="has no output for late pairs") as raised:
        pairs | "Last two" >> hr.GroupByKey(evictor=LAST_TWO)
    assert "where: Last two" in str(raised.value)
