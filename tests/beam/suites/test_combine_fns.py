"""CombineFns of Beam that change the accumulators that they are given."""

from __future__ import annotations

import operator
from collections import Counter
from functools import reduce

import apache_beam as beam
import pytest
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms import combiners, trigger, window
from apache_beam.transforms.core import CallableWrapperCombineFn

from headrace.beam import HeadraceRunner
from headrace.sdk.beam.programs.combine import own_combine_fn
from headrace.sdk.testing.laws.combine_laws import check_combine_fn
from headrace.sdk.testing.property_testing import st


class TopAsItIs(combiners.TopCombineFn):
    """The accumulator is sent as it is, so what it compares by is lost."""

    def compact(self, accumulator):
        return accumulator


class Consuming(beam.CombineFn):
    """Takes its accumulator apart for the output."""

    def create_accumulator(self):
        return []

    def add_input(self, accumulator, element):
        accumulator.append(element)
        return accumulator

    def merge_accumulators(self, accumulators):
        first, *others = accumulators
        for other in others:
            while other:
                first.append(other.pop())
        return first

    def extract_output(self, accumulator):
        found = []
        while accumulator:
            found.append(accumulator.pop())
        return sorted(found)


def add_in_place(counters):
    """Adds counters to the first one."""
    return reduce(operator.iadd, counters)


NUMBERS = {
    "largest": combiners.TopCombineFn(3),
    "smallest": combiners.TopCombineFn(3, reverse=True),
    "by key": combiners.TopCombineFn(3, key=operator.neg),
    "not compacted": TopAsItIs(3, reverse=True),
    "in a tuple": combiners.SingleInputTupleCombineFn(combiners.Smallest(2), sum),
    "consuming": Consuming(),
}


@pytest.mark.parametrize("fn", NUMBERS.values(), ids=NUMBERS)
def test_accumulators_keep_the_laws(fn):
    check_combine_fn(own_combine_fn(fn), st.integers(-5, 5))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("runner", [HeadraceRunner, BundleBasedDirectRunner])
@pytest.mark.parametrize(
    ("fn", "panes"),
    [
        (combiners.Smallest(2), [[5], [4, 5], [3, 4]]),
        (TopAsItIs(2, key=operator.neg), [[5], [4, 5], [3, 4]]),
        (Consuming(), [[5], [4, 5], [3, 4, 5]]),
    ],
    ids=["smallest", "not compacted", "consuming"],
)
def test_a_pane_leaves_its_accumulator_for_the_next_one(runner, fn, panes):
    stream = test_stream.TestStream()
    for number in (5, 4, 3):
        stream.add_elements([window.TimestampedValue(("k", number), number)])
    windows = beam.WindowInto(
        window.GlobalWindows(),
        trigger=trigger.Repeatedly(trigger.AfterCount(1)),
        accumulation_mode=trigger.AccumulationMode.ACCUMULATING,
    )
    options = beam.options.pipeline_options.PipelineOptions([], streaming=True)
    with beam.Pipeline(runner=runner(), options=options) as p:
        made = p | stream.advance_watermark_to_infinity() | windows | beam.CombinePerKey(fn)
        assert_that(made | beam.Values(), equal_to(panes))


def test_a_function_may_change_the_first_value():
    fn = own_combine_fn(CallableWrapperCombineFn(add_in_place))
    accumulator = fn.add_inputs(fn.create_accumulator(), [Counter(a=1), Counter(a=2)])
    assert fn.extract_output(accumulator) == fn.extract_output(accumulator) == Counter(a=3)
