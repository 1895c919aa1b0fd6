"""Splittable DoFns: restrictions are claimed, deferred and resumed, and hold the watermark until they end."""

from typing import Any

import pytest

import headrace as hr
from headrace.io.restriction_trackers import (
    OffsetRange,
    OffsetRestrictionTracker,
    UnsplittableRestrictionTracker,
)
from headrace.io.watermark_estimators import (
    ManualWatermarkEstimator,
    MonotonicWatermarkEstimator,
    WalltimeWatermarkEstimator,
)
from headrace.options import PipelineOptions
from headrace.runners.splittable import restriction_keys
from headrace.sdk.pardo.splittable_dofn import SplitRestrictions, splittable
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.transforms.core import (
    ProcessContinuation,
    RestrictionProvider,
    WatermarkEstimatorProvider,
)
from headrace.transforms.userstate import BagStateSpec
from headrace.utils.timestamp import Duration, Timestamp
from headrace.windowing import FixedWindows, IntervalWindow, SlidingWindows, TimestampedValue


class Numbers(RestrictionProvider):
    """The numbers below an element, in parts of four."""

    def initial_restriction(self, element):
        return OffsetRange(0, element)

    def create_tracker(self, restriction):
        return OffsetRestrictionTracker(restriction)

    def split(self, element, restriction):
        return restriction.split(4)

    def restriction_size(self, element, restriction):
        return restriction.size()


class Whole(Numbers):
    """The same, in one part."""

    def split(self, element, restriction):
        yield restriction


NUMBERS = hr.DoFn.RestrictionParam(Numbers())
WHOLE = hr.DoFn.RestrictionParam(Whole())
MANUAL = hr.DoFn.WatermarkEstimatorParam(ManualWatermarkEstimator.default_provider())
MONOTONIC = hr.DoFn.WatermarkEstimatorParam(MonotonicWatermarkEstimator.default_provider())
WALLTIME = hr.DoFn.WatermarkEstimatorParam(WalltimeWatermarkEstimator.default_provider())


def claimed(tracker):
    """The positions that a tracker gives."""
    position = tracker.current_restriction().start
    while tracker.try_claim(position):
        yield position
        position += 1


class Below(hr.DoFn):
    """The numbers below an element."""

    def process(self, element, tracker=NUMBERS):
        yield from claimed(tracker)


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


class Itself(hr.DoFn, Numbers, WatermarkEstimatorProvider):
    """A DoFn that provides for itself, and has all kinds of parameters."""

    def initial_estimator_state(self, element, restriction):
        return Timestamp(restriction.stop)

    def create_watermark_estimator(self, estimator_state):
        return ManualWatermarkEstimator(estimator_state)

    def process(
        self,
        element,
        factor,
        tracker=hr.DoFn.RestrictionParam(),
        estimator=hr.DoFn.WatermarkEstimatorParam(),
        time=hr.DoFn.TimestampParam,
        window=hr.DoFn.WindowParam,
        more=0,
    ):
        first = float(estimator.current_watermark())
        for position in claimed(tracker):
            value = factor * position + more
            yield hr.TaggedOutput("odd", value) if position % 2 else (value, first, float(time))
            if position == 0:
                yield f"{float(window.start)}"


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


# Errors


class Outside(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        tracker.try_claim(-1)
        yield element


class Unfinished(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        tracker.try_claim(1)
        yield element


class Failing(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        yield from claimed(tracker)
        raise OSError("no such page")


class Continued(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        yield ProcessContinuation.resume()
        yield "too late"


class NoTracker(Whole):
    def create_tracker(self, restriction):
        return restriction


NO_TRACKER = hr.DoFn.RestrictionParam(NoTracker())


class Untracked(hr.DoFn):
    def process(self, element, tracker=NO_TRACKER):
        yield element


class Delayed(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        tracker.defer_remainder(3)
        yield element


@pytest.mark.mode("batch")
@pytest.mark.parametrize(
    ("dofn", "kind", "text"),
    [
        (Outside(), ValueError, "the offset -1 is before the range"),
        (Unfinished(), ValueError, "the offsets from 2 to 4 of .* were not claimed"),
        (Failing(), OSError, "no such page"),
        (Continued(), hr.ElementError, "yielded 'too late' after a ProcessContinuation"),
        (
            Untracked(),
            ValueError,
            "create_tracker must return a RestrictionTracker, not OffsetRange",
        ),
        (Delayed(), ValueError, "defer_remainder needs a Duration or Timestamp, not 3"),
    ],
    ids=lambda case: type(case).__name__ if isinstance(case, hr.DoFn) else "",
)
def test_an_error_names_the_step_and_the_element(runner, dofn, kind, text):
    with pytest.raises(kind, match=text) as raised, TestPipeline(runner) as p:
        _ = p | hr.Create([5]) | "read" >> hr.ParDo(dofn)
    notes = "\n".join(raised.value.__notes__)
    assert "on the element 5" in notes
    assert "in read" in notes


def test_an_error_of_a_provider_names_the_step_and_the_element():
    class Broken(Whole):
        def initial_restriction(self, element):
            raise OSError("no size")

    BROKEN = hr.DoFn.RestrictionParam(Broken())

    class Read(hr.DoFn):
        def process(self, element, tracker=BROKEN):
            yield element

    with pytest.raises(OSError, match="no size") as raised, TestPipeline() as p:
        _ = p | hr.Create([5]) | "read" >> hr.ParDo(Read())
    assert raised.value.__notes__ == ["on the element 5", "in read/Split"]


# Refusals


BAG = hr.DoFn.StateParam(BagStateSpec("bag"))


class Stateful(hr.DoFn):
    def process(self, element, tracker=WHOLE, bag=BAG):
        yield element


class Batches(hr.DoFn):
    def process(self, element, tracker=WHOLE):
        yield element

    def process_batch(self, batch: list[int]) -> Any:
        yield batch


class NoProvider(hr.DoFn):
    def process(self, element, tracker=hr.DoFn.RestrictionParam()):
        yield element


class NoParentheses(hr.DoFn):
    def process(self, element, tracker=hr.DoFn.RestrictionParam):
        yield element


class OnlyEstimator(hr.DoFn):
    def process(self, element, estimator=MANUAL):
        yield element


class Twice(hr.DoFn):
    def process(self, element, one=WHOLE, two=NUMBERS):
        yield element


class Starting(Below):
    def start_bundle(self, tracker=WHOLE):
        """Start."""


@pytest.mark.parametrize(
    ("dofn", "kind", "text"),
    [
        (Stateful, hr.UnsupportedError, "is splittable and has states or timers"),
        (Batches, hr.UnsupportedError, "is splittable and processes batches"),
        (NoProvider, hr.PipelineError, "NoProvider has no RestrictionProvider"),
        (NoParentheses, hr.PipelineError, "DoFn.RestrictionParam without parentheses"),
        (OnlyEstimator, hr.PipelineError, "but not for a restriction"),
        (Twice, hr.PipelineError, "process asks twice for"),
        (Starting, hr.PipelineError, "start_bundle asks for DoFn.RestrictionParam"),
    ],
)
def test_refused_dofns(dofn, kind, text):
    with pytest.raises(kind, match=text):
        hr.ParDo(dofn())


def some(value: Any) -> Any:
    """Return a value, of a type that is not checked."""
    return value


def test_refused_uses():
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    side = hr.pvalue.AsList(p | "side" >> hr.Create([2]))
    with pytest.raises(hr.UnsupportedError, match="side inputs are not supported"):
        _ = numbers | hr.ParDo(Itself(), side)
    with pytest.raises(hr.UnsupportedError, match="exception handling is not supported"):
        _ = numbers | hr.ParDo(Below()).with_exception_handling()
    with pytest.raises(hr.PipelineError, match="only DoFns are splittable"):
        hr.Map(some(lambda element, tracker=WHOLE: element))
    with pytest.raises(ValueError, match="needs a RestrictionProvider, not 3"):
        hr.DoFn.RestrictionParam(some(3))
    with pytest.raises(ValueError, match="needs a WatermarkEstimatorProvider, not 3"):
        hr.DoFn.WatermarkEstimatorParam(some(3))


def test_retractions_are_refused():
    p = hr.Pipeline()
    pairs = (
        p
        | hr.Create([("a", 1)])
        | hr.WindowInto(
            FixedWindows(5),
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.RETRACTING,
        )
    )
    with pytest.raises(hr.PipelineError, match="cannot take back the work of an element"):
        _ = pairs | hr.CombinePerKey(sum) | hr.Values() | hr.ParDo(Below())


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


# Bundle finalizers

FINALIZED: list[str] = []


class Finalizing(hr.DoFn):
    """Notes when its bundles are final; one note fails."""

    def start_bundle(self, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append("start"))

    def process(self, element, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append(element))
        yield element


class FinalizingParts(hr.DoFn):
    """The same, splittable."""

    def process(self, element, tracker=WHOLE, finalizer=hr.DoFn.BundleFinalizerParam):
        finalizer.register(lambda: FINALIZED.append(f"part of {element}"))
        yield from claimed(tracker)


class Noting(hr.io.Sink):
    """A sink that notes what it writes in the same list."""

    def write(self, batch):
        FINALIZED.extend(f"wrote {value}" for value in sorted(batch.bundle.values))


def test_finalizers_are_called_after_the_outputs_are_written(caplog):
    FINALIZED.clear()
    with TestPipeline() as p:
        numbers = p | hr.Create([2]) | hr.ParDo(Finalizing())
        _ = numbers | "parts" >> hr.ParDo(FinalizingParts()) | hr.Write(Noting())
    assert FINALIZED[:2] == ["wrote 0", "wrote 1"]
    assert sorted(map(str, FINALIZED[2:])) == ["2", "part of 2", "start"]


def test_an_error_of_a_finalizer_is_logged(caplog):
    class Wrong(hr.DoFn):
        def process(self, element, finalizer=hr.DoFn.BundleFinalizerParam):
            finalizer.register(lambda: 1 / 0)
            finalizer.register(lambda: FINALIZED.append("after"))
            yield element

    FINALIZED.clear()
    with TestPipeline() as p:
        _ = p | hr.Create([2]) | hr.ParDo(Wrong())
    assert FINALIZED == ["after"]
    assert "a function registered with a bundle finalizer failed" in caplog.text


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_finalizers_are_called_where_the_dofn_runs(runner, tmp_path):
    """On Spark when the next batch starts, which is after the first was committed."""
    noted = tmp_path / "noted"

    class Written(hr.DoFn):
        @hr.DoFn.unbounded_per_element()
        def process(self, element, tracker=WHOLE, finalizer=hr.DoFn.BundleFinalizerParam):
            for position in claimed(tracker):
                finalizer.register(lambda: noted.write_text("final"))
                yield position
                tracker.defer_remainder(Duration(0.001))
                return

    with TestPipeline(runner) as p:
        _ = p | hr.Create([4]) | hr.ParDo(Written())
    assert noted.read_text() == "final"
