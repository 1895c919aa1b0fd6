"""Side inputs of splittable DoFns: all parts of an element see the same values, whenever they go on."""

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.windowing import FixedWindows, TimestampedValue
from tests.model.semantics.restrictions import NUMBERS, claimed


class Beside(hr.DoFn):
    """The numbers below an element, one in a call, each with side inputs, which it changes."""

    def process(self, element, rates, tracker=NUMBERS, names=None):
        for position in claimed(tracker):
            yield position, sorted(rates), names
            rates.append("changed")
            tracker.defer_remainder()
            return


FIVE = [(n, [1, 2], {"a": 7}) for n in range(5)]


@pytest.mark.mode("batch")
def test_the_parts_of_an_element_get_side_inputs_by_place_and_by_name(runner):
    with TestPipeline(runner) as p:
        rates = hr.pvalue.AsList(p | "rates" >> hr.Create([1, 2]))
        names = hr.pvalue.AsDict(p | "names" >> hr.Create([("a", 7)]))
        found = p | hr.Create([5]) | hr.ParDo(Beside(), rates, names=names)
        assert_that(found, equal_to(FIVE))


class BesideForever(Beside):
    """The same for a stream."""

    @hr.DoFn.unbounded_per_element()
    def process(self, element, rates, tracker=NUMBERS, names=None):
        yield from super().process(element, rates, tracker, names)


@pytest.mark.mode("streaming")
def test_the_parts_of_an_element_in_a_stream_get_side_inputs(runner):
    with TestPipeline(runner) as p:
        rates = hr.pvalue.AsList(p | "rates" >> hr.Create([1, 2]))
        names = hr.pvalue.AsDict(p | "names" >> hr.Create([("a", 7)]))
        found = p | hr.Create([5]) | hr.ParDo(BesideForever(), rates, names=names)
        assert_that(found, equal_to(FIVE))


def minutes(pcoll, label, **how):
    return pcoll | f"{label} windows" >> hr.WindowInto(FixedWindows(60), **how)


@pytest.mark.mode("streaming")
def test_an_element_waits_for_its_window_of_a_side_input(runner):
    """Its parts see no other window, and what follows is not late."""
    orders = TestStream().add_elements([TimestampedValue(3, 10)]).advance_watermark_to(90)
    rates = TestStream().add_elements([]).add_elements([TimestampedValue(n, n) for n in (20, 80)])
    with TestPipeline(runner) as p:
        main = minutes(p | "orders" >> orders, "order")
        side = minutes(p | "rates" >> rates, "rate")
        found = main | hr.ParDo(Beside(), hr.pvalue.AsList(side))
        counts = minutes(found, "found") | hr.WithKeys("k") | hr.combiners.Count.PerKey()
        assert_that(found, equal_to([(n, [20], None) for n in range(3)]), "parts")
        assert_that(counts, equal_to([("k", 3)]), "counts")


def test_a_part_that_goes_on_sees_no_later_pane():
    """A new element does."""
    stream = TestStream().add_elements([2], event_timestamp=0)
    for _ in range(3):
        stream = stream.advance_processing_time(1)
    stream = stream.add_elements([1], event_timestamp=0).advance_watermark_to_infinity()
    rates = TestStream().add_elements([TimestampedValue(5, 0)])
    rates = rates.advance_processing_time(1).add_elements([TimestampedValue(6, 0)])
    with TestPipeline() as p:
        trigger = hr.trigger.Repeatedly(hr.trigger.AfterCount(1))
        how = {"trigger": trigger, "accumulation_mode": hr.AccumulationMode.DISCARDING}
        side = minutes(p | "rates" >> rates, "rate", **how)
        main = minutes(p | "elements" >> stream, "element")
        found = capture(main | hr.ParDo(Beside(), hr.pvalue.AsList(side)))
    assert found.values == [(0, [5], None), (1, [5], None), (0, [5, 6], None)]


@pytest.mark.mode("streaming")
def test_an_element_in_several_windows_is_read_once_for_each(runner):
    windows = hr.window.SlidingWindows(10, 5)
    with TestPipeline(runner) as p:
        side = p | "rates" >> TestStream().add_elements([TimestampedValue(n, n) for n in (2, 12)])
        main = p | "main" >> TestStream().add_elements([TimestampedValue(2, 7)])
        rates = hr.pvalue.AsList(side | "rate windows" >> hr.WindowInto(windows))
        found = main | hr.WindowInto(windows) | hr.ParDo(Beside(), rates)
        assert_that(found, equal_to([(n, [rate], None) for n in range(2) for rate in (2, 12)]))


def test_an_argument_that_cannot_be_made_is_an_error_of_the_step():
    p = hr.Pipeline()
    rates = hr.pvalue.AsSingleton(p | "rates" >> hr.Create([1, 2]))
    _ = p | hr.Create([5]) | "read" >> hr.ParDo(Beside(), rates)
    with pytest.raises(hr.PipelineError, match="has 2: ") as error:
        p.run()
    assert "read" in error.value.where
