"""The local runner reads sources: in batch mode, in streaming mode, and for as long as they go on."""

from threading import Event
from typing import Any

import pytest

import headrace as hr
from headrace.io import Batch, UnboundedSource
from headrace.options import PipelineOptions
from headrace.runners.local import LocalRun
from headrace.testing import Capture, TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.triggers import AccumulationMode, AfterCount, AfterProcessingTime, Repeatedly
from headrace.windowing import FixedWindows
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.unit.runners.sources import DONE, Lines, SteppedClock, Topic, at, clock

__all__ = ["clock"]  # a fixture

STREAMING = ["--streaming"]
FIXED = hr.WindowInto(FixedWindows(10))
EACH = hr.WindowInto(
    FixedWindows(10),
    trigger=Repeatedly(AfterCount(1)),
    accumulation_mode=AccumulationMode.DISCARDING,
)

TWO = Lines({"p": [at(1, "a"), at(12, "b")], "q": [at(2, "c")]})


def grouped(source, policy=None, *, windows=FIXED, flags=()):
    """What a grouping says of a source: lists of values with the timing of their pane."""
    with TestPipeline(argv=list(flags)) as p:
        captured = capture(p | hr.Read(source, policy) | windows | hr.GroupByKey())
    return said(captured)


def said(captured):
    return [("".join(sorted(e.value[1])), e.pane.timing.name) for e in captured.elements]


@pytest.mark.parametrize("flags", [[], STREAMING], ids=["batch", "streaming"])
def test_all_partitions_of_a_bounded_source_are_read(flags):
    assert sorted(grouped(TWO, flags=flags)) == [("ac", "ON_TIME"), ("b", "ON_TIME")]


@pytest.mark.parametrize("flags", [[], STREAMING], ids=["batch", "streaming"])
def test_values_without_timestamps_lie_at_the_beginning_of_time(flags):
    with TestPipeline(argv=flags) as p:
        captured = capture(p | hr.Read(Lines({"p": ["a"], "q": []})))
    (element,) = captured.elements
    assert (element.value, element.timestamp) == ("a", hr.window.MIN_TIMESTAMP)


@pytest.mark.parametrize("flags", [[], STREAMING], ids=["batch", "streaming"])
def test_a_source_without_partitions_is_empty(flags):
    assert grouped(Lines({}), flags=flags) == []


def test_a_bounded_source_is_read_as_a_stream_of_batches():
    """At most so many of each partition at once: what comes together fires together."""
    letters = Lines({"p": [at(1, letter) for letter in "abcde"]})
    flags = [*STREAMING, "--max-records-per-batch=2"]
    panes = [letters for letters, _ in grouped(letters, windows=EACH, flags=flags)]
    assert panes == ["ab", "cd", "e"]
    assert [letters for letters, _ in grouped(letters, windows=EACH)] == ["abcde"]


def test_the_watermark_follows_the_elements_by_a_policy():
    letters = Lines({"p": [at(1, "a"), at(5, "b"), at(12, "c"), at(3, "d"), at(25, "e")]})
    flags = [*STREAMING, "--max-records-per-batch=1"]
    in_order = grouped(letters, hr.Monotonic(), flags=flags)
    assert in_order == [("ab", "ON_TIME"), ("c", "ON_TIME"), ("e", "ON_TIME")]
    bounded_delay = grouped(letters, hr.BoundedOutOfOrderness(10), flags=flags)
    assert bounded_delay == [("abd", "ON_TIME"), ("c", "ON_TIME"), ("e", "ON_TIME")]


def test_without_a_policy_a_bounded_source_is_complete_when_it_ends():
    letters = Lines({"p": [at(25, "a"), at(1, "b")], "q": [at(2, "c")] * 3})
    flags = [*STREAMING, "--max-records-per-batch=1"]
    assert sorted(grouped(letters, flags=flags)) == [("a", "ON_TIME"), ("bccc", "ON_TIME")]


# Sources that need not end


def test_an_unbounded_source_is_read_from_offset_to_offset(clock):
    topic = Topic({"p": [[at(1, "a")], [at(2, "b")], DONE]})
    grouped(topic, flags=["--max-records-per-batch=7"])
    assert topic.asked == [("p", None, 7), ("p", 1, 7), ("p", 2, 7)]


def test_a_finished_partition_is_not_asked_again(clock):
    topic = Topic({"p": [Batch([at(1, "a")], None, finished=True)], "q": [[], [], DONE]})
    assert grouped(topic) == [("a", "ON_TIME")]
    assert [partition for partition, *_ in topic.asked] == ["p", "q", "q", "q"]


def test_the_source_itself_can_say_how_far_it_is_complete(clock):
    topic = Topic({"p": [[at(1, "a")], Batch([], None, watermark=10), [at(2, "b")], DONE]})
    assert grouped(topic) == [("a", "ON_TIME")]


def test_the_slowest_partition_counts(clock):
    """p is far ahead, but q has more to say of the first window."""
    topic = Topic(
        {"p": [[at(1, "a")], [at(50, "b")], DONE], "q": [[at(2, "c")], [at(3, "d")], DONE]}
    )
    assert sorted(grouped(topic, hr.Monotonic())) == [("acd", "ON_TIME"), ("b", "ON_TIME")]


def test_a_partition_that_is_finished_holds_nothing_back(clock):
    topic = Topic({"p": [[at(1, "a")], [at(50, "b")], [], [at(2, "late")], DONE], "q": [DONE]})
    assert grouped(topic, hr.Monotonic()) == [("a", "ON_TIME"), ("b", "ON_TIME")]


QUIET: list[Any] = []
IDLE: dict[str, list[Any]] = {
    "p": [
        [at(1, "a")],
        *([at(30 + n, "b")] if n % 2 else QUIET for n in range(9)),
        [at(2, "d")],
        DONE,
    ],
    "q": [[at(3, "c")], *[QUIET] * 12, DONE],
}


@pytest.mark.parametrize(("timeout", "first"), [(3, "ac"), (60, "acd")])
def test_a_partition_that_is_idle_holds_nothing_back_after_a_while(clock, timeout, first):
    """q says something once; four seconds later p is behind itself."""
    policy = hr.Monotonic(idle_timeout=timeout)
    assert sorted(grouped(Topic(IDLE), policy)) == [(first, "ON_TIME"), ("bbbb", "ON_TIME")]


def test_processing_time_goes_on_while_nothing_comes(clock):
    delayed = hr.WindowInto(
        FixedWindows(10),
        trigger=Repeatedly(AfterProcessingTime(3)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    topic = Topic({"p": [[at(1, "a")], *[[]] * 6, [at(2, "b")], *[[]] * 6, DONE]})
    with TestPipeline() as p:
        captured = capture(p | hr.Read(topic) | delayed | hr.GroupByKey())
    assert [e.value[1] for e in captured.elements] == [["a"], ["b"]]
    first, second = (float(e.now) for e in captured.elements)
    assert (first, second - first > 3) == (3, True)


def test_bounded_and_unbounded_sources_go_together(clock):
    topic = Topic({"p": [[at(1, "a")], [], DONE]})
    with TestPipeline() as p:
        both = (p | "topic" >> hr.Read(topic), p | "lines" >> hr.Read(TWO)) | hr.Flatten()
        captured = capture(both | FIXED | hr.GroupByKey())
    assert sorted(said(captured)) == [("aac", "ON_TIME"), ("b", "ON_TIME")]


class Endless(UnboundedSource):
    """Says the same for ever; tells when it has been asked often enough."""

    def __init__(self, record=("k", "a")):
        self.record = record
        self.flows = Event()
        self.asked = 0

    def read(self, partition, offset, limit):
        self.asked += 1
        if self.asked > 3:
            self.flows.set()
        return Batch([hr.TimestampedValue(self.record, 1)], 0, watermark=2)


class Noting(Capture):
    """A capture that notes whether it was closed."""

    closed = False

    def close(self):
        self.closed = True


@pytest.fixture
def endless():
    """A running pipeline that would never end, its source, and what it has given out."""
    source, sink = Endless(), Noting()
    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | hr.Read(source) | FIXED | hr.GroupByKey() | hr.Write(sink)
    result = p.run()
    assert source.flows.wait(10)
    yield result, source, sink
    result.cancel()


def test_a_run_that_need_not_end_goes_on_in_the_background(endless):
    result, *_ = endless
    assert result.state == "RUNNING"
    assert result.wait_until_finish(duration=10) == "RUNNING"


def test_what_is_drained_comes_out(endless):
    """No further record is read, and time goes to its end."""
    result, source, sink = endless
    assert result.drain() == "DONE"
    asked = source.asked
    ((pair, *_),) = sink.elements
    assert (pair[0], len(pair[1])) == ("k", asked)
    assert sink.closed
    assert result.wait_until_finish() == "DONE"


def test_what_is_cancelled_is_lost(endless):
    result, _, sink = endless
    assert result.cancel() == "CANCELLED"
    assert sink.elements == []
    assert result.wait_until_finish() == "CANCELLED"


def test_metrics_can_be_seen_while_it_runs(endless):
    result, *_ = endless
    assert result.metrics().steps["Read(Endless)"].elements_out >= 3


def test_an_error_in_the_background_is_raised_where_one_waits():
    source = Endless()
    p = hr.Pipeline(options=PipelineOptions([]))
    _ = p | hr.Read(source) | "fail" >> hr.Map(lambda pair: 1 / 0)
    result = p.run()
    with pytest.raises(ZeroDivisionError) as error:
        result.wait_until_finish()
    assert "in fail" in error.value.__notes__
    assert result.state == "FAILED"
    with pytest.raises(ZeroDivisionError):
        result.cancel()


def test_a_pipeline_waits_for_an_error_in_the_background():
    with pytest.raises(ZeroDivisionError), hr.Pipeline(options=PipelineOptions([])) as p:
        _ = p | hr.Read(Endless()) | hr.Map(lambda pair: 1 / 0)


def test_a_source_can_be_drained_while_it_is_read():
    """The last batch of one partition comes as the run is told to read no further."""

    class Closing(Topic):
        def read(self, partition, offset, limit):
            run._drained.set()
            return Batch([at(1, "a")], None, finished=True)

    p = hr.Pipeline(options=PipelineOptions([]))
    captured = capture(p | hr.Read(Closing({"p": [], "q": []})) | FIXED | hr.GroupByKey())
    run = LocalRun(p.graph, p.options)
    run.start().wait_until_finish()
    assert captured.values in ([("k", ["a"])], [("k", ["a", "a"])])


def test_a_source_that_is_drained_between_two_rounds_comes_to_the_end_of_time(clock):
    class Waiting(Topic):
        def read(self, partition, offset, limit):
            if offset:
                run._drained.set()
            return super().read(partition, offset, limit)

    p = hr.Pipeline(options=PipelineOptions([]))
    captured = capture(p | hr.Read(Waiting({"p": [[at(1, "a")], []]})) | FIXED | hr.GroupByKey())
    run = LocalRun(p.graph, p.options)
    run.start().wait_until_finish()
    assert captured.values == [("k", ["a"])]


def test_a_script_that_is_drained_says_nothing_more():
    p = hr.Pipeline(options=PipelineOptions([]))
    stream = p | TestStream().add_elements(["a"]).add_elements(["b"])
    captured = capture(stream | hr.Map(lambda value: run._drained.set() or value))  # type: ignore[has-type]
    run = LocalRun(p.graph, p.options)
    run.start().wait_until_finish()
    assert captured.values == ["a"]
    assert run.metrics().steps["TestStream"].watermark == MAX_MICROS


def test_the_wall_clock_is_asked_for_processing_time():
    stepped = SteppedClock(5)
    assert stepped.now() == 5_000_000
    with TestPipeline() as p:
        captured = capture(p | hr.Create(["a"]))
    (element,) = captured.elements
    assert element.now > hr.Timestamp.from_rfc3339("2020-01-01T00:00:00Z")


def test_results_of_streams_can_be_asserted(clock):
    topic = Topic({"p": [[at(1, "a")], [at(2, "b")], DONE]})
    with TestPipeline() as p:
        keys = p | hr.Read(topic) | hr.Values()
        assert_that(keys, equal_to(["b", "a"]))
