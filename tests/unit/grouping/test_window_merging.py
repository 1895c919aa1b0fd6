"""What becomes of the states of windows that merge; and that it costs by what merges."""

from itertools import chain
from math import log2

import attrs
import pytest

from headrace.grouping.pane_output import merge_arrivals
from headrace.runners.contents.reductions import BagOf
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.triggers import (
    AccumulationMode,
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterWatermark,
    Never,
    Repeatedly,
    WindowingStrategy,
)
from headrace.triggers.trigger import NEVER
from headrace.windowing import Sessions, TimestampCombiner, WindowFn
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import interval
from tests.unit.triggers.counting import CountingTrigger, CountingWindow, heap_pushes
from tests.unit.triggers.one_key import OneKey, arrival


def seconds(start, end):
    return interval(start * SECOND, end * SECOND)


SESSIONS = Sessions(10)


def key_with(*rows, windows=SESSIONS, trigger=None, **more):
    """A key at which elements have arrived one by one."""
    key = OneKey(WindowingStrategy(windows, trigger or Never(), **more))
    for value, second in rows:
        key.arrive([(value, second * SECOND)])
    return key


def alive(key):
    return {window: state.content for window, state in key.state.windows.items()}


def test_windows_that_do_not_meet_stay_apart():
    key = key_with(("a", 0), ("b", 10))
    assert alive(key) == {seconds(0, 10): ["a"], seconds(10, 20): ["b"]}


def test_windows_that_meet_become_one():
    key = key_with(("a", 0), ("b", 15), ("c", 8))
    ((window, content),) = alive(key).items()
    assert (window, sorted(content)) == (seconds(0, 25), ["a", "b", "c"])


def test_order_is_kept_beside_the_windows():
    key = key_with(("a", 40), ("b", 0), ("c", 20), ("d", 25))
    assert key.state.order == [seconds(0, 10), seconds(20, 35), seconds(40, 50)]


def test_what_is_fresh_adds_up():
    key = key_with(("a", 0), ("b", 15), ("c", 8))
    (state,) = key.state.windows.values()
    assert state.pending == 3


def test_sizes_of_what_comes_together_add_up():
    key = key_with(trigger=Repeatedly(AfterBytes(2)))
    key.arrive([("a", 0), ("b", 5 * SECOND)])
    assert [said[1] for said in key.said] == [["a", "b"]]


def test_the_count_of_panes_goes_on_only_in_place():
    each = Repeatedly(AfterCount(1))
    in_place = key_with(("a", 0), ("b", 8), ("c", 3), trigger=each)
    assert [said[4].index for said in in_place.said] == [0, 0, 1]
    merged = key_with(("a", 0), ("b", 3), ("c", 12), trigger=each)
    assert [said[4].index for said in merged.said] == [0, 0, 0]


@pytest.mark.parametrize(
    ("combiner", "hold"),
    [
        (TimestampCombiner.OUTPUT_AT_EOW, seconds(0, 25).last),
        (TimestampCombiner.OUTPUT_AT_EARLIEST, 0),
        (TimestampCombiner.OUTPUT_AT_LATEST, 15 * SECOND),
    ],
)
def test_holds_unite(combiner, hold):
    key = key_with(("a", 0), ("b", 15), ("c", 8), timestamp_combiner=combiner)
    assert key.state.holds.moments == {seconds(0, 25): hold}
    assert key.state.hold == hold


def test_a_window_of_which_a_part_was_on_time_is_late():
    """Of two sessions the first has been on time; together they have had their pane on time."""
    late = AfterWatermark(early=AfterCount(9), late=AfterCount(1))
    key = key_with(("a", 0), ("b", 15), trigger=late, allowed_lateness=50 * SECOND)
    key.watermark(12 * SECOND)
    key.arrive([("c", 8 * SECOND)])
    key.watermark(25 * SECOND)
    assert [said[4].timing.name for said in key.said] == ["ON_TIME", "LATE"]


def test_a_window_whose_parts_held_nothing_holds_nothing():
    late = AfterWatermark(late=AfterCount(1))
    key = key_with(trigger=late, allowed_lateness=50 * SECOND)
    key.watermark(30 * SECOND)
    key.arrive([("a", 0), ("b", 15 * SECOND)])
    key.arrive([("c", 8 * SECOND)])
    assert key.state.hold == NEVER


def test_panes_that_stand_keep_the_watermark_until_they_are_taken_back():
    slow = AfterWatermark(early=AfterCount(2))
    mode = AccumulationMode.RETRACTING
    key = key_with(trigger=slow, accumulation_mode=mode, allowed_lateness=5 * SECOND)
    key.arrive([("a", 0), ("b", 5 * SECOND)])
    assert key.state.retraction_holds.moments == {seconds(0, 15): 20 * SECOND - 1}
    key.arrive([("c", 12 * SECOND)])
    assert key.state.retraction_holds.moments == {seconds(0, 22): 20 * SECOND - 1}
    key.arrive([("d", 13 * SECOND)])
    assert key.state.retraction_holds.moments == {seconds(0, 23): 28 * SECOND - 1}
    key.watermark(38 * SECOND - 1)
    assert key.state.hold == 28 * SECOND - 1
    key.watermark(38 * SECOND)
    assert key.state.hold == NEVER


def test_the_first_pane_that_stands_keeps_the_watermark():
    trigger = AfterEach(AfterCount(1), Repeatedly(AfterCount(2)))
    mode = AccumulationMode.RETRACTING
    key = key_with(("a", 15), ("b", 0), ("c", 8), trigger=trigger, accumulation_mode=mode)
    assert key.state.retraction_holds.moments == {seconds(0, 25): 10 * SECOND - 1}


def test_all_merges_of_a_bundle_happen_at_once():
    """Each price is valid until the next; the windows of all three move on by one."""
    key = key_with(("a", 0), ("b", 20), windows=ValidityWindows())
    key.arrive([("c", 10 * SECOND), ("d", 30 * SECOND)])
    bounds = [(float(w.start), float(w.end)) for w in sorted(key.state.windows)]
    assert [start for start, _ in bounds] == [0, 10, 20, 30]
    assert [end for _, end in bounds][:3] == [10, 20, 30]
    assert sorted(content[0] for content in alive(key).values()) == ["a", "b", "c", "d"]


def many(alive):
    """A key with so many sessions."""
    strategy = WindowingStrategy(Sessions(10), CountingTrigger(Never()))
    key = OneKey(strategy)
    key.take([arrival(seconds(n * 20, n * 20 + 10), [n], BagOf()) for n in range(alive)])
    return key


def comparisons(key, window):
    """How often windows are compared when an element arrives."""
    CountingWindow.compared.clear()
    key.take([arrival(window, ["new"], BagOf())])
    return CountingWindow.compared.total()


@pytest.mark.parametrize("number", [10, 1_000, 10_000])
def test_finding_what_merges_costs_by_the_logarithm_of_what_is_alive(number):
    middle = number // 2 * 20
    joins = CountingWindow(middle + 5, middle + 15)
    new = CountingWindow(-500, -490)
    for window in (joins, new):
        assert log2(number) < comparisons(many(number), window) <= 4 * log2(number) + 10


def test_merging_costs_by_what_merges():
    def cost(key):
        key.strategy.trigger.calls.clear()
        with heap_pushes() as pushed:
            key.take([arrival(seconds(105, 125), ["new"], BagOf())])
        return key.strategy.trigger.calls.total(), pushed.total()

    assert cost(many(10)) == cost(many(1_000))


class IntoTheFirst(WindowFn):
    """Seconds that lie apart while there are two of them; of three the first takes in the others."""

    def assign(self, context):
        start = context.timestamp.micros
        return [interval(start, start + SECOND)]

    def merge(self, merge_context):
        if len(merge_context.windows) > 2:
            merge_context.merge(merge_context.windows, min(merge_context.windows))

    def reach(self):
        return 60


def test_a_window_that_takes_in_others_goes_on_with_its_count():
    key = key_with(("a", 0), ("b", 5), windows=IntoTheFirst(), trigger=Repeatedly(AfterCount(1)))
    key.arrive([("c", 9 * SECOND)])
    assert [said[4].index for said in key.said] == [0, 0, 1]


def test_a_window_that_takes_in_others_late_goes_on_with_both_counts():
    late = AfterWatermark(late=AfterCount(1))
    windows = {"windows": IntoTheFirst(), "allowed_lateness": 60 * SECOND}
    key = key_with(("a", 0), ("b", 5), trigger=late, **windows)
    key.watermark(20 * SECOND)
    key.arrive([("c", 9 * SECOND)])
    panes = [said[4] for said in key.said]
    assert [(pane.index, pane.nonspeculative_index) for pane in panes] == [(0, 0), (0, 0), (1, 1)]


@pytest.mark.parametrize(("watermark", "hold"), [(-1, 10 * SECOND - 1), (0, NEVER)])
def test_a_window_that_shrinks_holds_until_the_watermark_is_past_it(watermark, hold):
    key = key_with(("a", 0), windows=ValidityWindows(), allowed_lateness=60 * SECOND)
    key.watermark(10 * SECOND + watermark)
    key.arrive([("b", 10 * SECOND)])
    assert key.state.holds.get(seconds(0, 10)) == hold


def test_arrivals_of_a_window_are_put_together_with_their_elements():
    some = [attrs.evolve(arrival(seconds(0, 9), [n], BagOf()), elements=([n],)) for n in range(3)]  # type: ignore[list-item]
    whole = merge_arrivals(seconds(0, 10), some, BagOf().merge)
    elements = list(chain.from_iterable(whole.elements))
    assert (sorted(whole.content), elements, whole.arrived.count) == ([0, 1, 2], [0, 1, 2], 3)  # type: ignore[comparison-overlap]


def test_only_what_stood_elsewhere_is_news():
    once = AfterEach(AfterCount(1), Repeatedly(AfterCount(9)))
    mode = AccumulationMode.RETRACTING
    key = key_with(
        ("a", 0),
        ("b", 5),
        ("c", 9),
        windows=IntoTheFirst(),
        trigger=once,
        accumulation_mode=mode,
    )
    assert [(said[0], said[1]) for said in key.said] == [(1, ["a"]), (1, ["b"])]
    (state,) = key.state.windows.values()
    assert state.pending == 2
