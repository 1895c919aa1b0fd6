"""Watch and ReadByPolling: outputs are emitted once, until a condition ends the polling of an input."""

import logging
import pickle
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.io.watch import (
    PollFn,
    PollResult,
    after_iterations,
    after_time_since_new_output,
    after_total_of,
    all_of,
    either_of,
    never,
)
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.polling.poll_rounds import PollSpec
from headrace.sdk.polling.polled_source import PolledInputs
from headrace.testing import TestPipeline, capture
from tests.model.semantics.scenarios import END, FIXED, arrive, at, clock, into, watermark

SECOND = 1_000_000


def stamped(*outputs):
    return [hr.TimestampedValue(value, time) for value, time in outputs]


class Growing(PollFn):
    """Finds one more output at each poll, and is complete with the last one."""

    def __init__(self, last=3, watermark=None):
        self.last, self.watermark = last, watermark
        self.polls = {}

    def __call__(self, element):
        number = self.polls[element] = self.polls.get(element, 0) + 1
        found = stamped(*((f"{element}{n}", n) for n in range(1, number + 1)))
        if number >= self.last:
            return PollResult.complete(found)
        result = PollResult.incomplete(found)
        return result if self.watermark is None else result.with_watermark(self.watermark)


def always(element):
    return PollResult.incomplete(stamped((f"{element}!", 1)))


def later(element):
    return always(element).with_watermark(20)


def no_result(element):
    return ["a"]


def complete(element):
    return PollResult.complete(stamped((f"{element}!", 1)))


def new(element):
    """Find an output that no other poll finds; without state, which workers would not share."""
    return PollResult.incomplete(stamped((time.time_ns(), 1)))


# Watch on a Create, and ReadByPolling


@pytest.mark.mode("streaming")
def test_each_input_of_a_create_is_polled_until_it_is_complete_and_each_output_comes_once(runner):
    with TestPipeline(runner=runner) as p:
        found = capture(p | hr.Create(["x", "y"]) | hr.Watch(Growing(), 0.01))
        alone = capture(
            p | hr.io.ReadByPolling(once, 0.01, termination=after_iterations(3)), "alone"
        )
    assert sorted(found.values) == [(each, f"{each}{n}") for each in "xy" for n in (1, 2, 3)]
    assert sorted(float(each.timestamp) for each in found.elements) == [1, 1, 2, 2, 3, 3]
    assert [(each.value, float(each.timestamp)) for each in alone.elements] == [("tick", 7)]


def once():
    return PollResult.incomplete(["tick"], timestamp=7)


@pytest.mark.mode("streaming")
def test_windows_over_outputs_close_when_polling_ends(runner):
    with TestPipeline(runner=runner) as p:
        watched = p | hr.Create(["x", "y"]) | hr.Watch(Growing(3), 0.01)
        grouped = watched | hr.Map(as_total) | into(FIXED) | hr.CombinePerKey(sum)
        found = capture(grouped)
    assert found.values == [("all", 6)]


def as_total(pair):
    return "all", 1


def spec(fn, termination=None, **how):
    return PollSpec(fn, 10 * SECOND, termination or never(), **how)


def played(source, times, limit=10):
    """Read a source in rounds by a clock; return values, watermarks in seconds and positions."""
    rest = iter(times)
    reads = (Read("read", (), (), source),)
    rounds = SourceRounds(reads, limit, 0, wall=lambda: next(rest) * SECOND)
    position, found = rounds.start(), []
    while not rounds.is_finished(position):
        before = position
        position, bundles = rounds.read(position)
        read = [value for bundle in bundles.get("read", ()) for value in bundle.values]
        again = rounds.replay(before, position).get("read", ()) if position is not before else ()
        assert position is before or [value for b in again for value in b.values] == read
        found.append((read, position.watermarks["read"] / SECOND))
    return found


def test_a_poll_and_the_reading_of_its_outputs_are_separate_rounds_which_can_be_replayed():
    found = played(PolledInputs(spec(Growing(2)), ("a",), paired=False), [0, 0, 1, 9, 10, 11])
    assert [read for read, _ in found] == [[], ["a1"], [], [], ["a2"]]
    assert [mark for _, mark in found][1:4] == [1, 1, 1]


def test_the_watermark_waits_for_all_outputs_of_a_poll_and_for_all_inputs():
    complete = PolledInputs(
        spec(lambda _: PollResult.complete(stamped(("a", 5), ("b", 7)))), (0, 1)
    )
    marks = [mark for _, mark in played(complete, [0, 0, 1, 2, 3], limit=1)]
    assert max(marks[:-1]) < 5
    assert marks[-1] > 1e12
    explicit = PolledInputs(spec(Growing(2, watermark=4)), ("a",))
    assert played(explicit, [0, 0, 1, 10, 11])[1][1] == 4


def test_caught_up_means_that_each_input_was_polled_once():
    source = PolledInputs(spec(always), ("a", "b"), paired=False).available_now()
    assert sorted(played(source, [0, 0, 1])[1][0]) == ["a!", "b!"]


@pytest.mark.parametrize(
    ("condition", "polls"),
    [
        (after_iterations(3), 3),
        (after_total_of(25), 4),
        (after_time_since_new_output(15), 3),
        (either_of(after_iterations(2), never()), 2),
        (all_of(after_iterations(2), after_total_of(35)), 5),
    ],
)
def test_a_condition_ends_the_polling_of_an_input(condition, polls):
    calls = []

    def counted(element):
        calls.append(element)
        return always(element)

    played(PolledInputs(spec(counted, condition), ("a",)), range(0, 100, 5))
    assert len(calls) == polls


# Watch on a stream


def test_an_element_of_a_stream_is_polled_at_an_interval_of_processing_time(play):
    events = [arrive(at(0, "e")), clock(5), clock(5), clock(5), clock(5), clock(10), END]
    seen = play(events, hr.Values(), hr.Watch(new, 10, after_iterations(3)))
    assert [moment for _, moment in seen.moments] == [0, 10, 20]
    assert [float(element.timestamp) for element in seen.elements] == [1, 1, 1]
    assert {element.value[0] for element in seen.elements} == {"e"}


def test_polling_holds_the_watermark(play):
    events = [arrive(at(0, "e")), watermark(50)]
    held = play(events, hr.Values(), "watch" >> hr.Watch(always, 10))
    explicit = play(events, hr.Values(), "watch" >> hr.Watch(later, 10))
    done = play(events, hr.Values(), "watch" >> hr.Watch(complete, 10))
    assert held.watermark("watch/Poll") == 1
    assert explicit.watermark("watch/Poll") == 20
    assert done.watermark("watch/Poll") == 50


def test_at_the_end_of_a_window_its_elements_are_polled_a_last_time(play):
    events = [arrive(at(1, "e")), clock(5), watermark(20), clock(50), END]
    seen = play(events, hr.Values(), into(FIXED), hr.Watch(new, 10))
    assert [moment for _, moment in seen.moments] == [0, 5]


def test_equal_elements_are_polled_each_by_itself(play):
    events = [arrive(at(0, "e"), at(0, "e")), END]
    seen = play(events, hr.Values(), hr.Watch(always, 10, after_iterations(1)))
    assert seen.values == ["e!", "e!"]


# Watch on another bounded collection


@pytest.mark.mode("batch")
def test_elements_of_a_bounded_collection_are_polled_until_their_condition_is_true(runner):
    with TestPipeline(runner=runner) as p:
        named = p | hr.Create(["x"]) | hr.Map(str.upper)
        watched = named | hr.Watch(new, 0.01, termination=after_iterations(2))
        found = capture(watched)
    assert len({time for _, time in found.values}) == 2


# Which outputs are new


def outputs_of(*results, **how):
    rest = iter(results)
    polled = spec(lambda _: next(rest), after_iterations(len(results)), **how)
    found = played(PolledInputs(polled, ("a",), paired=False), range(0, 1000, 10))
    return [value for read, _ in found for value in read]


def test_outputs_are_compared_by_their_key_and_come_in_the_order_of_their_times():
    first = PollResult.incomplete(stamped(("b2", 2), ("a1", 1), ("a3", 3)))
    again = PollResult.incomplete(stamped(("a4", 4), ("c5", 5)))
    assert outputs_of(first, again) == ["a1", "b2", "a3", "a4", "c5"]
    with TestPipeline() as p:
        keyed = hr.io.ReadByPolling(
            Sequence(first, again), 0.01, after_iterations(2), output_key_fn=first_letter
        )
        found = capture(p | keyed)
    assert found.values == ["a1", "b2", "c5"]


def first_letter(text):
    return text[0]


class Sequence:
    """Returns results in turn."""

    def __init__(self, *results):
        self.rest = list(results)

    def __call__(self):
        return self.rest.pop(0)


def test_a_cursor_forgets_old_outputs_and_drops_what_is_older():
    old = PollResult.incomplete(stamped(("a", 1), ("b", 9)))
    late = PollResult.incomplete(stamped(("a", 1), ("b", 9), ("c", 5), ("d", 7), ("e", 10)))
    assert outputs_of(old, late, cursor=True, lateness=2 * SECOND) == ["a", "b", "d", "e"]
    assert outputs_of(old, late, cursor=True) == ["a", "b", "e"]
    assert outputs_of(old, late) == ["a", "b", "c", "d", "e"]


POLLS = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 9)), max_size=5), min_size=1)
"""What several polls return: outputs and their timestamps."""


@given(polls=POLLS, limit=st.integers(1, 4), restarts=st.sets(st.integers(0, 20)))
def test_each_output_comes_once_whatever_is_polled_read_and_restarted(polls, limit, restarts):
    results = iter(map(PollResult.incomplete, (stamped(*poll) for poll in polls)))
    polled = spec(lambda _: next(results), after_iterations(len(polls)))
    source = PolledInputs(polled, ("a",), paired=False)
    expected: dict[int, int] = {}
    for outputs in polls:
        for value, moment in sorted(outputs, key=lambda output: output[1]):
            expected.setdefault(value, moment)
    offset, read, finished, number = None, [], False, 0
    while not finished:
        if number in restarts:
            offset = pickle.loads(pickle.dumps(offset))
        batch = source.read_until(0, offset, limit, number * 10 * SECOND)
        offset, finished, number = batch.next_offset, batch.finished, number + 1
        records: Any = batch.records  # a polled source gives a list of TimestampedValues
        read += [(out.value, out.micros // SECOND) for out in records]
    assert read == list(expected.items())


def test_an_output_behind_the_watermark_is_logged(caplog):
    first, second = (PollResult.incomplete(stamped(pair)) for pair in (("a", 9), ("b", 5)))
    with caplog.at_level(logging.WARNING):
        assert outputs_of(first, second) == ["a", "b"]
    assert "1 new outputs behind the watermark Timestamp(9)" in caplog.text


# Refusals


def test_polling_of_a_bounded_collection_that_nothing_ends_is_refused():
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="nothing ends its polling") as refused:
        _ = p | hr.Create(["x"]) | hr.Map(str) | "watch" >> hr.Watch(always, 1)
    assert refused.value.where == "watch"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"poll_interval": 0}, "the poll_interval is 0"),
        ({"poll_interval": None}, "requires a poll_interval"),
        ({"poll_interval": 1, "allowed_lateness": -1}, "must not be negative, got -1"),
        ({"poll_interval": 1, "output_key_coder": hr.coders.PickleCoder()}, "encode equal keys"),
    ],
)
def test_arguments_that_are_not_valid_are_refused(arguments, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        hr.Watch(always, **arguments)


@pytest.mark.mode("streaming")
def test_a_poll_function_that_returns_no_result_is_an_error_with_the_step(runner):
    p = TestPipeline(runner=runner)
    _ = p | hr.Create(["x"]) | "watch" >> hr.Watch(no_result, 1)
    with pytest.raises(hr.PipelineError, match="returned \\['a'\\]") as raised:
        p.run().wait_until_finish()
    assert "in watch" in raised.value.__notes__
