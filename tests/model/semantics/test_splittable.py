"""Splittable DoFns: restrictions are claimed, deferred and resumed, and hold the watermark until they end."""

import pytest

import headrace as hr
from headrace.io.restriction_trackers import (
    OffsetRange,
    OffsetRestrictionTracker,
    UnsplittableRestrictionTracker,
)
from headrace.options import PipelineOptions
from headrace.runners.splittable import restriction_keys
from headrace.sdk.pardo.splittable_dofn import SplitRestrictions, splittable
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.transforms.core import (
    ProcessContinuation,
)
from headrace.utils.timestamp import Duration, Timestamp
from headrace.windowing import FixedWindows, IntervalWindow, SlidingWindows, TimestampedValue
from tests.model.semantics.restrictions import (
    MANUAL,
    MONOTONIC,
    WALLTIME,
    WHOLE,
    Below,
    Itself,
    Whole,
    claimed,
    some,
)


@pytest.mark.mode("batch")
def test_a_batch_reads_all_parts(runner):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([3, 10]) | hr.ParDo(Below()), equal_to([*range(3), *range(10)]))


class InSteps(hr.DoFn):
    """The numbers below an element, two in a call; the rest is deferred in one of several ways."""

    def __init__(self, way):
        self.way = way

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=WHOLE):
        for position in claimed(tracker):
            yield position
            if position % 2:
                if self.way == "yield":
                    yield ProcessContinuation.resume()
                elif self.way == "defer":
                    tracker.defer_remainder()
                elif self.way == "delay":
                    tracker.defer_remainder(Duration(0.01))
                elif self.way == "time":
                    tracker.defer_remainder(Timestamp(5))
                return ProcessContinuation.resume() if self.way == "return" else None


class Bounded(InSteps):
    """The same for a batch."""

    @hr.DoFn.bounded_per_element()
    def process(self, element, tracker=WHOLE):
        return (yield from super().process(element, tracker))


WAYS = ["yield", "return", "defer", "delay", "time"]


@pytest.mark.mode("streaming")
@pytest.mark.parametrize("way", WAYS)
def test_a_stream_goes_on_with_what_was_deferred(runner, way):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([5]) | hr.ParDo(InSteps(way)), equal_to([*range(5)]))


@pytest.mark.mode("batch")
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_goes_on_at_once_with_what_was_deferred(runner, way):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([5]) | hr.ParDo(Bounded(way)), equal_to([*range(5)]))


class Result(hr.DoFn):
    """A process that is no generator."""

    def process(self, element, tracker=WHOLE):
        position = tracker.current_restriction().start
        if not tracker.try_claim(position):
            return None
        more = [ProcessContinuation.resume(0)] if position < 2 else []
        return [position, *more] if position < 3 else ProcessContinuation.resume()


@pytest.mark.mode("batch")
def test_a_list_can_end_with_a_continuation_and_a_continuation_can_be_the_result(runner):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([3]) | hr.ParDo(Result()), equal_to([0, 1, 2]))


class Stamped(hr.DoFn):
    """A number for each second, in steps; its watermark is that of an estimator."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=WHOLE, estimator=MANUAL):
        for position in claimed(tracker):
            yield TimestampedValue(position, position)
            estimator.set_watermark(Timestamp(position + 1))
            if position % 2:
                tracker.defer_remainder()
                return


class Observed(hr.DoFn):
    """The same, by the timestamps of its outputs."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=WHOLE, estimator=MONOTONIC):
        for position in claimed(tracker):
            yield TimestampedValue(position, position)
            if position % 2:
                return ProcessContinuation.resume()


@pytest.mark.mode("streaming")
@pytest.mark.parametrize("dofn", [Stamped(), Observed()], ids=["manual", "monotonic"])
def test_windows_fire_once_and_nothing_is_late(runner, dofn):
    with TestPipeline(runner) as p:
        numbers = p | hr.Create([7]) | hr.ParDo(dofn) | hr.WindowInto(FixedWindows(3))
        sums = numbers | hr.WithKeys("k") | hr.CombinePerKey(sum) | hr.Values()
        assert_that(sums, equal_to([0 + 1 + 2, 3 + 4 + 5, 6]))


def test_the_watermark_of_an_estimator_is_the_output_watermark():
    """Windows that are complete fire while the restriction goes on."""
    stream = TestStream().add_elements([8], event_timestamp=0).advance_watermark_to(100)
    for _ in range(2):
        stream = stream.advance_processing_time(1)
    with TestPipeline() as p:
        numbers = p | stream | hr.ParDo(Stamped()) | hr.WindowInto(FixedWindows(4))
        pairs = numbers | hr.WithKeys("k") | hr.GroupByKey() | hr.Values()
        found = capture(pairs)
        rest = capture(numbers, "numbers")
    assert found.values[0] == [0, 1, 2, 3]
    assert sorted(rest.values) == [*range(8)]


class Walls(hr.DoFn):
    """The wall clock is the watermark."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=WHOLE, estimator=WALLTIME):
        for _ in claimed(tracker):
            now = estimator.current_watermark()
            yield TimestampedValue(Timestamp.now() >= now, now)


@pytest.mark.mode("streaming")
def test_the_wall_clock_as_watermark(runner):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([2]) | hr.ParDo(Walls()), equal_to([True, True]))


@pytest.mark.mode("batch")
def test_the_dofn_as_provider_with_arguments_windows_and_outputs(runner):
    with TestPipeline(runner) as p:
        numbers = p | hr.Create([TimestampedValue(3, 11)]) | hr.WindowInto(SlidingWindows(20, 10))
        found = numbers | hr.ParDo(Itself(), 10, more=1).with_outputs("odd", main="even")
        even = [(1, 3.0, 11.0), (21, 3.0, 11.0)]
        assert_that(found.even, equal_to([*even, *even, "0.0", "10.0"]))
        assert_that(found.odd, equal_to([11, 11]), label="odd")


def test_a_dofn_that_does_not_ask_for_its_window_is_called_once():
    with TestPipeline() as p:
        numbers = p | hr.Create([TimestampedValue(2, 11)]) | hr.WindowInto(SlidingWindows(20, 10))
        found = capture(numbers | hr.ParDo(Below()))
    windows = IntervalWindow(0, 20), IntervalWindow(10, 30)
    assert [(e.value, set(e.windows)) for e in found.elements] == [
        (n, {*windows}) for n in range(2)
    ]


def test_an_unsplittable_restriction_is_read_in_one_piece(monkeypatch):
    class Unsplit(Whole):
        def create_tracker(self, restriction):
            return UnsplittableRestrictionTracker(OffsetRestrictionTracker(restriction))

    UNSPLIT = hr.DoFn.RestrictionParam(Unsplit())

    class All(hr.DoFn):
        @hr.DoFn.unbounded_per_element()
        def process(self, element, tracker=UNSPLIT):
            yield len([*claimed(tracker)])

    monkeypatch.setattr(restriction_keys, "CLAIMS", 2)
    with TestPipeline() as p:
        assert_that(p | hr.Create([5]) | hr.ParDo(All()), equal_to([5]))


# Ends of a run


class Endless(hr.DoFn):
    """Numbers without an end; some wait for the next round."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=WHOLE):
        for position in claimed(tracker):
            yield position
            if position % 10 == 9:
                tracker.defer_remainder(Duration(0.001))
                return


class ToTen(Whole):
    """Endless work, of which a drained run does ten numbers more."""

    def truncate(self, element, restriction):
        return OffsetRange(restriction.start, restriction.start + 10)


TO_TEN = hr.DoFn.RestrictionParam(ToTen())


class ToNone(Whole):
    """Work of which a drained run does nothing more."""

    def truncate(self, element, restriction):
        return None


TO_NONE = hr.DoFn.RestrictionParam(ToNone())


class EndlessToTen(Endless):
    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=TO_TEN):
        yield from super().process(element, tracker)


def test_an_endless_run_is_drained_and_truncated():
    p = hr.Pipeline()
    numbers = capture(p | hr.Create([10**12]) | hr.ParDo(EndlessToTen()))
    result = p.run()
    while len(numbers.values) < 20:
        assert result.wait_until_finish(10) == "RUNNING"
    assert result.drain() == "DONE"
    assert numbers.values == [*range(len(numbers.values))]
    assert len(numbers.values) % 10 == 0


def test_an_endless_run_can_be_cancelled():
    p = hr.Pipeline()
    numbers = capture(p | hr.Create([10**12]) | hr.ParDo(Endless()))
    result = p.run()
    while len(numbers.values) < 20:
        assert result.wait_until_finish(10) == "RUNNING"
    assert result.cancel() == "CANCELLED"


class Unbounded(Whole):
    """Work that may have no end, whose truncation is all that is left."""

    def create_tracker(self, restriction):
        return UnboundedTracker(restriction)

    def truncate(self, element, restriction):
        return restriction


class UnboundedTracker(OffsetRestrictionTracker):
    def is_bounded(self):
        return False


UNBOUNDED = hr.DoFn.RestrictionParam(Unbounded())


class Unmarked(hr.DoFn):
    """It does not say that it may have no end."""

    def process(self, element, tracker=UNBOUNDED):
        for position in claimed(tracker):
            yield position
            if position % 10 == 9:
                return ProcessContinuation.resume(0.001)


class Marked(Unmarked):
    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=UNBOUNDED):
        return (yield from super().process(element, tracker))


@pytest.mark.mode("batch")
def test_a_batch_refuses_work_without_an_end_when_it_is_deferred(runner):
    with TestPipeline(runner) as p:
        assert_that(p | hr.Create([5]) | hr.ParDo(Unmarked()), equal_to([*range(5)]))
    with (
        pytest.raises(hr.ElementError, match="a batch would not end") as no,
        TestPipeline(runner) as p,
    ):
        _ = p | hr.Create([50]) | "read" >> hr.ParDo(Unmarked())
    assert "The element is 50" in no.value.remedy
    assert "in read" in no.value.__notes__


def test_drained_work_without_an_end_stops_when_it_is_deferred():
    p = hr.Pipeline()
    numbers = capture(p | hr.Create([10**12]) | hr.ParDo(Marked()))
    result = p.run()
    while len(numbers.values) < 20:
        assert result.wait_until_finish(10) == "RUNNING"
    assert result.drain() == "DONE"
    assert len(numbers.values) % 10 == 0


class Waiting(hr.DoFn):
    """Three positions, and then a wait of an hour."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, tracker=TO_NONE):
        for position in claimed(tracker):
            yield position
            if position == 2:
                tracker.defer_remainder(Duration(3600))
                return


@pytest.mark.mode("streaming")
def test_a_run_until_it_has_caught_up_waits_for_no_restriction(runner):
    with TestPipeline(runner, options=PipelineOptions(["--until-caught-up"])) as p:
        assert_that(p | hr.Create([5]) | hr.ParDo(Waiting()), equal_to([0, 1, 2]))


def test_parts_have_keys_of_their_own_so_that_workers_share_them():
    declared = some(splittable(Below()))
    keys = [key for key, _ in SplitRestrictions(declared).process(400)]
    assert len(set(keys)) == 100
    assert 30 < sum(key % 2 for key in keys) < 70


def test_explain_shows_restrictions():
    p = hr.Pipeline()
    _ = p | hr.Create([5]) | "read" >> hr.ParDo(Stamped())
    text = str(hr.explain(p))
    assert "SplittableParDo 'read'" in text
    assert "restrictions: Whole" in text
    assert "watermark: ManualWatermarkEstimator.default_provider()" in text
    assert "work for an element: may have no end" in text
