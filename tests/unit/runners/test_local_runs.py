"""Runs of the local runner: batch and streaming agree, scripts go side by side, nothing is left to chance."""

import gc
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.runners.engine.gc_tuning import infrequent_gc
from headrace.sdk.testing.strategies.windowing import aligned, merging, windowings
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers import AccumulationMode, AfterCount, AfterProcessingTime, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows
from headrace.windowing.time.units import SECOND
from tests.unit.runners.sources import Lines, at

# Batch and streaming

rows = st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(-30, 30))
groupings = st.sampled_from(
    [hr.GroupByKey, lambda: hr.CombinePerKey(hr.combiners.ToListCombineFn())]
)


def panes(rows, windowing, grouping, flags):
    """All that comes out of a grouping of rows, from a source of two partitions."""
    elements = [at(second, value, key) for key, value, second in rows]
    source = hr.Read(Lines({"p": elements[::2], "q": elements[1::2]}))
    with TestPipeline(argv=[*flags, "--allow_unsafe_triggers"]) as p:
        captured = capture(p | source | hr.WindowInto(windowing) | grouping())
    return captured.elements


def contents(elements):
    """What the panes less their retractions hold, by key, window and value."""
    held: Counter[Any] = Counter()
    for element in elements:
        key, values = element.value
        for value in values:
            held[key, element.windows, value] += element.diff
    return +held


def last_panes(elements):
    """What the last pane of each key and window holds."""
    last = {(e.value[0], e.windows): sorted(e.value[1]) for e in elements}
    return Counter((*place, value) for place, values in last.items() for value in values)


SAID = {
    AccumulationMode.DISCARDING: contents,
    AccumulationMode.ACCUMULATING: last_panes,
    AccumulationMode.RETRACTING: contents,
}

STREAMING = ["--streaming", "--max-records-per-batch=2"]


@settings(max_examples=50)
@given(aligned().flatmap(windowings), st.lists(rows, max_size=12), groupings)
def test_a_stream_of_a_bounded_source_says_what_a_batch_says(windowing, rows, grouping):
    said = SAID[windowing.accumulation_mode]
    streamed = said(panes(rows, windowing, grouping, STREAMING))
    assert streamed == said(panes(rows, windowing, grouping, []))
    assert sum(streamed.values()) == expected(windowing, rows)


@settings(max_examples=50)
@given(
    merging().flatmap(lambda where: windowings(where, [AccumulationMode.RETRACTING])),
    st.lists(rows, max_size=12),
    groupings,
)
def test_also_where_windows_merge_if_it_retracts(windowing, rows, grouping):
    streamed = contents(panes(rows, windowing, grouping, STREAMING))
    assert streamed == contents(panes(rows, windowing, grouping, []))
    assert sum(streamed.values()) == len(rows)


def expected(windowing, rows):
    """In how many windows elements lie."""
    times = [second * SECOND for *_, second in rows]
    columns = windowing.window_fn.assign_column(rows, times)
    return sum(len(windows) for _, windows in zip(rows, columns, strict=False))


@pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_many_panes_of_a_batch_come_in_order_of_their_keys(flags):
    """More than go on as one bundle."""
    pairs = [(n, n) for n in range(20_000)]
    with TestPipeline(argv=flags) as p:
        captured = capture(p | hr.Create(pairs) | hr.CombinePerKey(sum))
    assert captured.values == pairs


# Scripts

EACH = hr.WindowInto(
    GlobalWindows(),
    trigger=Repeatedly(AfterCount(1)),
    accumulation_mode=AccumulationMode.DISCARDING,
)


def test_several_scripts_go_on_event_by_event():
    letters = TestStream().add_elements(["a"]).add_elements(["b"]).advance_watermark_to_infinity()
    digits = TestStream().add_elements(["1"]).add_elements(["2"]).advance_watermark_to_infinity()
    with TestPipeline() as p:
        both = (p | "letters" >> letters, p | "digits" >> digits) | hr.Flatten()
        captured = capture(both | hr.WithKeys("k") | EACH | hr.GroupByKey())
    assert [sorted(values) for _, values in captured.values] == [["1", "a"], ["2", "b"]]


def test_the_watermark_of_several_scripts_is_the_least():
    ahead = TestStream(stays_open=True).add_elements([at(1, "a")]).advance_watermark_to(50)
    behind = TestStream(stays_open=True).add_elements([at(2, "b")]).advance_watermark_to(5)
    with TestPipeline() as p:
        both = (p | "ahead" >> ahead, p | "behind" >> behind) | "both" >> hr.Flatten()
        captured = capture(both | hr.WindowInto(FixedWindows(10)) | hr.GroupByKey())
    assert captured.values == []
    assert p.result is not None
    assert p.result.metrics().steps["both"].watermark == 5 * SECOND


def test_a_script_that_is_over_waits_for_the_others():
    short = TestStream().add_elements([at(1, "a")]).advance_watermark_to_infinity()
    long = TestStream()
    for second in (2, 3, 4):
        long = long.add_elements([at(second, "b")])
    with TestPipeline() as p:
        both = (p | "s" >> short, p | "l" >> long.advance_watermark_to_infinity()) | hr.Flatten()
        captured = capture(both | hr.WindowInto(FixedWindows(10)) | hr.GroupByKey())
    ((_, values),) = captured.values
    assert sorted(values) == ["a", "b", "b", "b"]


def test_all_scripts_tell_one_processing_time():
    delayed = hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterProcessingTime(10)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    clock = TestStream(stays_open=True)
    for seconds in (6, 9, 1):
        clock = clock.advance_processing_time(seconds)
    data = TestStream(stays_open=True).add_elements([("k", "a")])
    with TestPipeline() as p:
        _ = p | "clock" >> clock
        captured = capture(p | "data" >> data | delayed | hr.GroupByKey())
    (element,) = captured.elements
    assert (element.value, float(element.now)) == (("k", ["a"]), 16)


def test_a_script_goes_with_a_bounded_source():
    script = TestStream().add_elements([at(1, "a")]).advance_watermark_to_infinity()
    with TestPipeline() as p:
        both = (p | "s" >> script, p | "c" >> hr.Create([at(2, "b")])) | hr.Flatten()
        captured = capture(both | hr.WindowInto(FixedWindows(10)) | hr.GroupByKey())
    ((_, values),) = captured.values
    assert sorted(values) == ["a", "b"]


def test_one_collection_can_be_read_twice():
    with TestPipeline() as p:
        once = p | hr.Create([("k", 1)])
        captured = capture((once, once) | hr.Flatten() | hr.GroupByKey())
    assert captured.values == [("k", [1, 1])]


class Batches(hr.io.Sink):
    """Keeps number, processing time and elements of what is written, and when it is over."""

    def __init__(self):
        self.written = []

    def open(self):
        self.written.append("open")

    def write(self, batch):
        self.written.append((batch.id, batch.now, batch.bundle.values))

    def close(self):
        self.written.append("close")


def test_a_sink_gets_a_numbered_batch_of_each_round_that_has_something():
    sink = Batches()
    script = TestStream().add_elements(["a", "b"]).advance_processing_time(5).add_elements(["c"])
    with TestPipeline() as p:
        _ = p | script | hr.Write(sink)
    assert sink.written == ["open", (0, 0, ["a", "b"]), (1, 5 * SECOND, ["c"]), "close"]


def test_a_sink_that_gets_nothing_is_opened_and_closed():
    sink = Batches()
    with TestPipeline() as p:
        _ = p | hr.Create([]) | hr.Write(sink)
    assert sink.written == ["open", "close"]


# Nothing is left to chance


def busy():
    """Eleven elements of five keys a second, some of them too late."""
    stream = TestStream()
    for second in range(30):
        stream = stream.add_elements([at(second + n % 7, n, f"key {n % 5}") for n in range(11)])
        stream = stream.advance_processing_time(3).advance_watermark_to(second + 1)
    return stream.advance_watermark_to_infinity()


def a_run():
    """Everything that comes out of a pipeline of two groupings, in order."""
    mode = AccumulationMode.RETRACTING
    early = hr.trigger.AfterWatermark(early=AfterProcessingTime(7))
    sessions = hr.WindowInto(hr.window.Sessions(3), trigger=early, accumulation_mode=mode)
    fixed = hr.WindowInto(FixedWindows(10), trigger=early, accumulation_mode=mode)
    with TestPipeline() as p:
        one = p | busy() | sessions | "one" >> hr.GroupByKey()
        captured = capture(one, "first")
        sized = one | hr.MapTuple(lambda key, values: (len(values), key)) | fixed
        again = capture(sized | "two" >> hr.GroupByKey(), "second")
    return captured.elements, again.elements


def test_two_runs_say_the_same_in_the_same_order():
    first, second = a_run(), a_run()
    assert len(first[0]) > 50
    assert first == second


# Progress and garbage


@pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])
def test_progress_counts_what_is_read(capsys, flags):
    with TestPipeline(argv=["--progress", *flags]) as p:
        _ = p | hr.Create(range(12_345))
    printed = capsys.readouterr()
    assert "  12,345 records  " in printed.err
    assert not printed.out


def test_without_a_terminal_a_run_is_silent(capsys):
    with TestPipeline() as p:
        _ = p | hr.Create(range(12_345))
    assert capsys.readouterr() == ("", "")


PYTHON_DEFAULTS = (700, 10, 10)
"""The thresholds of the garbage collector in Python 3.11."""


def test_garbage_is_collected_as_before_when_a_run_is_over():
    before = gc.get_threshold()
    with TestPipeline() as p:
        _ = p | hr.Create([1])
    assert gc.get_threshold() == before


def test_what_small_runs_leave_behind_is_collected():
    """Each leaves some 200 objects that only the garbage collector frees.

    Other tests have no effect: their objects are not counted, and the thresholds are Python's, even while one
    of their streams still runs.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*PYTHON_DEFAULTS)
    try:
        gc.collect()
        for _ in range(200):
            with hr.Pipeline() as p:
                _ = p | hr.Create([("a", 1), ("b", 2)]) | hr.CombinePerKey(sum)
        assert gc.collect() < 10_000
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def test_runs_at_the_same_time_leave_no_trace_on_the_garbage_collector():
    before = gc.get_threshold()
    first, second = infrequent_gc(), infrequent_gc()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
