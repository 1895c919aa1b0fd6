"""Gatherings: whichever is chosen, a grouping gets to know the same of what arrived."""

from collections import Counter
from itertools import chain, repeat
from typing import NamedTuple

import attrs
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import headrace as hr
from headrace.errors import ElementError, KeyEncodingError
from headrace.grouping.bundle import Bundle
from headrace.grouping.facts import facts_of
from headrace.runners.contents.grouping_paths import Execution, path_of
from headrace.runners.contents.reductions import BagOf, reduction_of
from headrace.runners.precombine import Input, per_window, precombiner_for
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_row import RowPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner, merge_combined
from headrace.runners.precombine.per_window import PlainPrecombiner
from headrace.sdk.groups.combine_fn import combine_fn_of
from headrace.sdk.testing.runs.run import patience
from headrace.triggers import AfterBytes, AfterElement, Repeatedly, WindowingStrategy
from headrace.windowing import FixedWindows, GlobalWindows, Sessions, SlidingWindows
from headrace.windowing.sessions import overlapping
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import interval

KEYS = ["a", 1, 1.0, True, ("a", 1), ("a", True)]

rows = st.tuples(st.sampled_from(KEYS), st.integers(0, 9), st.integers(-20, 20))
bundles = st.lists(st.lists(rows, min_size=1, max_size=8), max_size=4)

ALIGNED = [
    GlobalWindows(),
    FixedWindows(10),
    SlidingWindows(10, 5),
    SlidingWindows(10, 4),
    SlidingWindows(5, 10),
]
SESSIONS = [Sessions(3), Sessions(patience, max_gap=7)]
REDUCTIONS = [BagOf(), reduction_of(combine_fn_of(sum, (), {}), changing=False)]


def input_of(window_fn, assigns_windows=True, **more):
    return Input(
        label="group",
        source="windows",
        strategy=WindowingStrategy(window_fn, **more),
        changing=False,
        assigns_windows=assigns_windows,
        keeps_late=False,
    )


def precombiner_of(input_, reduction, execution=Execution.STREAMING):
    """The precombiner for an input without retractions and late outputs."""
    collect = path_of(facts_of(input_.strategy), execution).collect
    return precombiner_for(collect, input_, reduction)


def bundle_of(rows, at_once=False):
    """A bundle of pairs; all at the time of the first, if at once."""
    pairs = [(key, value) for key, value, _ in rows]
    times = [time * SECOND for *_, time in rows]
    return Bundle(pairs, repeat(times[0]) if at_once else times)


def gathered(precombiner, bundles):
    """What arrives: for each key and window, with those that overlap together, content and count."""
    for bundle in bundles:
        precombiner.add(bundle)
    found = {}
    for identity, key, arrivals in precombiner.drain():
        assert identity not in found
        if arrivals:
            found[identity] = repr(key), list(map(settled, groups(precombiner, arrivals)))
    assert list(precombiner.drain()) == []
    return found


def groups(precombiner, arrivals):
    """The arrivals of a key by the windows that they lie in, once these have merged."""
    arrivals = sorted(arrivals, key=lambda arrival: arrival.window)
    if not precombiner.input.strategy.window_fn.is_merging():
        return [[arrival] for arrival in arrivals]
    united = [window for _, window in overlapping(arrival.window for arrival in arrivals)]
    return [[a for a in arrivals if a.window.intersects(window)] for window in united]


def settled(arrivals):
    start = min(arrival.window[0] for arrival in arrivals)
    end = max(arrival.window[1] for arrival in arrivals)
    contents = [arrival.content for arrival in arrivals]
    lists = isinstance(contents[0], list)
    content = sorted(chain.from_iterable(contents)) if lists else sum(contents)
    return interval(start, end), content, sum(arrival.arrived.count for arrival in arrivals)


@pytest.mark.parametrize("assigns", [True, False])
@pytest.mark.parametrize("reduction", REDUCTIONS, ids=["list", "sum"])
@pytest.mark.parametrize(
    ("window_fn", "kind", "execution"),
    [
        *((fn, PlainPrecombiner, Execution.STREAMING) for fn in ALIGNED),
        *((fn, SessionPrecombiner, Execution.STREAMING) for fn in SESSIONS),
        *((fn, PlainPrecombiner, Execution.SHUFFLED) for fn in SESSIONS),
    ],
)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=bundles, at_once=st.booleans(), fold_at=st.sampled_from([1, 3, 1_000]))
def test_every_kind_gathers_what_single_elements_say(
    monkeypatch, window_fn, kind, execution, reduction, assigns, rows, at_once, fold_at
):
    monkeypatch.setattr(per_window, "FOLD_AT", fold_at)
    input_ = input_of(window_fn, assigns)
    arriving = [bundle_of(each, at_once) for each in rows]
    if not assigns:
        assign = attrs.evolve(input_, assigns_windows=True).windows
        arriving = [attrs.evolve(bundle, windows=assign(bundle)) for bundle in arriving]
    chosen = precombiner_of(input_, reduction, execution)
    assert type(chosen) is kind
    assert gathered(chosen, arriving) == gathered(ElementPrecombiner(input_, reduction), arriving)


@pytest.mark.parametrize("window_fn", [*ALIGNED, *SESSIONS])
def test_a_gathering_is_empty_once_it_has_been_drained(window_fn):
    precombiner = precombiner_of(input_of(window_fn), BagOf())
    first = gathered(precombiner, [bundle_of([("a", 1, 0), (True, 2, 0)])])
    again = gathered(precombiner, [bundle_of([("a", 1, 0), (True, 2, 0)])])
    assert first == again


def test_values_are_folded_before_they_are_too_many(monkeypatch):
    """However many come, no more of them wait than that."""
    monkeypatch.setattr(per_window, "FOLD_AT", 10)
    largest: Counter[int] = Counter()

    class Watched(BagOf):
        def of(self, values, diffs=None):
            largest[len(values)] += 1
            return [sum(values)]

    precombiner = PlainPrecombiner(input_of(GlobalWindows()), Watched())
    for _ in range(7):
        precombiner.add(bundle_of([("a", 1, 0)] * 5))
    ((_, _, (arrival,)),) = precombiner.drain()
    assert (max(largest), sum(arrival.content), arrival.arrived.count) == (10, 35, 35)


class Eager(Sessions):
    """Sessions that end at once with an element of 9."""

    def assign(self, context):
        start = context.timestamp.micros
        gap = 1 if context.element[1] == 9 else self.gap_size.micros  # type: ignore[union-attr]
        return [interval(start, start + gap)]

    def reach(self):
        return self.gap_size


def test_sessions_of_ones_own_are_assigned_by_their_own_rule():
    precombiner = precombiner_of(input_of(Eager(60)), BagOf())
    found = gathered(precombiner, [bundle_of([("a", 1, 0), ("a", 9, 90)])])
    assert found["a"][1] == [
        (interval(0, 60 * SECOND), [1], 1),
        (interval(90 * SECOND, 90 * SECOND + 1), [9], 1),
    ]


def test_what_is_late_keeps_its_own_window():
    precombiner = precombiner_of(input_of(Sessions(10), allowed_lateness=5 * SECOND), BagOf())
    precombiner.watermark = 15 * SECOND
    precombiner.add(bundle_of([("a", 1, 4), ("a", 2, 0), ("a", 3, 0), ("b", 4, -9), ("a", 5, 9)]))
    found = {key: arrivals for _, key, arrivals in precombiner.drain()}
    windows = {key: [(a.window, a.content) for a in arrivals] for key, arrivals in found.items()}
    assert windows == {
        "a": [(interval(4 * SECOND, 19 * SECOND), [1, 5]), (interval(0, 10 * SECOND), [2, 3])],
        "b": [(interval(-9 * SECOND, SECOND), [4])],
    }
    assert list(precombiner.drain()) == []


def test_an_element_may_have_been_put_into_several_sessions():
    windows = (interval(0, 10), interval(20, 30))
    bundle = Bundle([("a", 1), ("a", 2)], [0, 25], [windows, (interval(25, 35),)])
    found = gathered(
        precombiner_of(input_of(Sessions(1), assigns_windows=False), BagOf()), [bundle]
    )
    assert found["a"][1] == [(interval(0, 10), [1], 1), (interval(20, 35), [1, 2], 2)]


class Pair(NamedTuple):
    """A pair with names."""

    key: str
    value: int


def test_sessions_are_given_out_in_order_and_apart():
    precombiner = precombiner_of(input_of(Sessions(10)), BagOf())
    precombiner.add(bundle_of([("a", n, time) for n, time in enumerate([50, 0, 30, 15, 8])]))
    ((_, _, arrivals),) = precombiner.drain()
    assert [arrival.window for arrival in arrivals] == [
        interval(0, 25 * SECOND),
        interval(30 * SECOND, 40 * SECOND),
        interval(50 * SECOND, 60 * SECOND),
    ]
    assert [arrival.latest for arrival in arrivals] == [arrival.window.last for arrival in arrivals]
    assert [arrival.earliest for arrival in arrivals] == [a.window.last for a in arrivals]


def test_sessions_do_not_leave_time():
    precombiner = precombiner_of(input_of(Sessions(10)), BagOf())
    last = MAX_MICROS - 1
    precombiner.add(Bundle([("a", 1), ("a", 2)], [0, last]))
    ((_, _, arrivals),) = precombiner.drain()
    assert [arrival.window for arrival in arrivals] == [
        interval(0, 10 * SECOND),
        interval(last, MAX_MICROS),
    ]


def only(precombiner, bundle):
    precombiner.add(bundle)
    ((_, _, (arrival,)),) = precombiner.drain()
    return arrival


def test_single_elements_say_the_earliest_and_the_latest():
    precombiner = ElementPrecombiner(input_of(FixedWindows(60)), BagOf())
    arrival = only(precombiner, bundle_of([("a", 1, 7), ("a", 2, 3), ("a", 3, 5)]))
    assert (arrival.earliest, arrival.latest) == (3 * SECOND, 7 * SECOND)


def test_single_elements_are_asked_what_the_trigger_wants_to_know():
    is_odd, is_big = (lambda n: n % 2), (lambda n: n > 5)
    trigger = hr.trigger.AfterAny(AfterElement(is_odd), AfterElement(is_big), AfterBytes(100))
    input_ = input_of(GlobalWindows(), trigger=Repeatedly(trigger))
    arrival = only(precombiner_of(input_, BagOf()), bundle_of([("a", 2, 0), ("a", 8, 0)]))
    assert arrival.arrived.matched_predicates == {is_big}
    assert arrival.arrived.size == 4


def test_elements_are_kept_only_for_a_late_output():
    bundle = bundle_of([("a", 1, 0)])
    kept = attrs.evolve(input_of(GlobalWindows()), keeps_late=True)
    assert only(ElementPrecombiner(input_of(GlobalWindows()), BagOf()), bundle).elements == ()
    ((element,),) = only(ElementPrecombiner(kept, BagOf()), bundle).elements
    assert (element.value, element.timestamp) == (1, 0)


@pytest.mark.parametrize("at_once", [False, True])
def test_elements_of_sessions_are_kept_one_by_one_for_a_late_output(at_once):
    input_ = attrs.evolve(input_of(Sessions(3)), keeps_late=True)
    precombiner = RowPrecombiner(input_, BagOf())
    precombiner.add(bundle_of([("a", 1, 0)]))
    precombiner.add(bundle_of([("b", 2, 5), (True, 3, 6)], at_once))
    keys, contents, elements = precombiner.rows()
    assert (keys, contents) == (["a", "b", True], [[1], [2], [3]])
    times = [0, 5 * SECOND, (5 if at_once else 6) * SECOND]
    assert [(e.value, e.timestamp, e.windows) for e in elements.rows()] == [
        (value, time, (interval(time, time + 3 * SECOND),))
        for value, time in zip([1, 2, 3], times, strict=True)
    ]
    assert precombiner.rows().keys == []


def test_an_element_in_several_sessions_is_kept_in_each():
    windows = (interval(0, 5), interval(20, 25))
    precombiner = RowPrecombiner(input_of(Sessions(5), assigns_windows=False), BagOf())
    precombiner.add(Bundle([("a", 1)], [0], [windows]))
    assert [element.windows for element in precombiner.rows().elements.rows()] == [
        (window,) for window in windows
    ]


def test_an_error_names_the_element_that_is_not_combined():
    broken = reduction_of(combine_fn_of(sum, (), {}), changing=False)
    precombiner = RowPrecombiner(input_of(Sessions(5)), broken)
    precombiner.add(bundle_of([("a", 1, 0), ("b", "two", 0)]))
    with pytest.raises(TypeError) as raised:
        precombiner.rows()
    assert "('b', 'two')" in "".join(raised.value.__notes__)


def test_retractions_are_taken_off():
    input_ = attrs.evolve(input_of(GlobalWindows()), changing=True)
    pairs = [("a", "x"), ("a", "y"), ("a", "x")]
    bundle = Bundle(pairs, [0, 0, 0], diffs=[1, 1, -1])
    reduction = reduction_of(None, changing=True)
    arrival = only(ElementPrecombiner(input_, reduction), bundle)
    assert reduction.result(arrival.content) == ["y"]
    assert arrival.arrived.count == 3


@pytest.mark.parametrize("value", [3, "ab", ("a",), ("a", 1, 2), ["a", 1], None])
@pytest.mark.parametrize("window_fn", [GlobalWindows(), Sessions(1)])
def test_what_is_no_pair_is_refused(window_fn, value):
    precombiner = precombiner_of(input_of(window_fn), BagOf())
    with pytest.raises(ElementError, match=r"is not a \(key, value\) pair") as refusal:
        precombiner.add(Bundle([("a", 1), value]))
    assert refusal.value.where == "group"


def test_pairs_may_be_tuples_of_ones_own():
    precombiner = precombiner_of(input_of(GlobalWindows()), BagOf())
    assert only(precombiner, Bundle([Pair("a", 1)])).content == [1]


def test_a_key_without_an_encoding_is_refused():
    precombiner = precombiner_of(input_of(GlobalWindows()), BagOf())
    with pytest.raises(KeyEncodingError):
        precombiner.add(Bundle([({1}, 1)]))


def test_sessions_of_a_key_merge_with_their_numbers():
    sessions = [(20, 30, ["d"], 1), (0, 10, ["a", "b"], 2), (5, 12, ["c"], 1)]
    merged = merge_combined("quay", sessions, lambda one, other: one + other)
    assert merged == [(0, 12, ["a", "b", "c"], 3), (20, 30, ["d"], 1)]


def test_an_error_of_merging_sessions_names_the_key():
    with pytest.raises(TypeError) as caught:
        merge_combined("quay", [(0, 10, "a", 1), (5, 12, 1, 1)], lambda one, other: one + other)
    assert caught.value.__notes__ == ["for the key 'quay'"]
