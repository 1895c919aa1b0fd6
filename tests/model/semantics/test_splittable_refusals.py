"""Splittable DoFns that fail or are refused: errors name step and element, refusals say what to change."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline
from headrace.transforms.core import (
    ProcessContinuation,
)
from headrace.transforms.userstate import BagStateSpec
from headrace.windowing import FixedWindows
from tests.model.semantics.restrictions import (
    MANUAL,
    NUMBERS,
    WHOLE,
    Below,
    Whole,
    claimed,
    some,
)

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


def test_refused_uses():
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
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
