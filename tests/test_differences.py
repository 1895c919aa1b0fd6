"""Where Headrace differs from Beam on purpose: the same programs on both, as the documentation says.

The page is docs/reference/differences.md: each of its sections is shown by one test. Streams run on
Beam's bundle-based local runner, batches on its FnApiRunner.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import headrace as hr
from headrace import testing

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    beam = pytest.importorskip("apache_beam", reason="Beam is what this compares with")
    from apache_beam.options.pipeline_options import PipelineOptions as BeamOptions
    from apache_beam.testing.test_pipeline import TestPipeline as BeamPipeline
    from apache_beam.testing.test_stream import TestStream as BeamStream

    from tests.beam_reference.local_runner import run_dry

pytestmark = pytest.mark.filterwarnings("ignore")


class Seen(NamedTuple):
    """An element as it came out; lists are in order."""

    value: Any
    timestamp: float
    timing: str
    is_last: bool


def difference(section: str) -> Any:
    """Mark the test that shows what a section of the page says."""
    return pytest.mark.difference(section)


Program = Callable[[Any, Any], Any]
"""Applied to a pipeline, given the module, Beam's or ours."""

_SEEN: list[Seen] = []


def _see(
    value: Any,
    timestamp: Any = beam.DoFn.TimestampParam,
    pane: Any = beam.DoFn.PaneInfoParam,
) -> None:
    timing = beam.utils.windowed_value.PaneInfoTiming.to_string(pane.timing)
    _SEEN.append(Seen(_in_order(value), float(timestamp), timing, pane.is_last))


def _in_order(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_in_order, value))
    return sorted(value) if isinstance(value, list) else value


def in_beam(program: Program, streaming: bool = True, flags: Sequence[str] = ()) -> list[Seen]:
    runner = "BundleBasedDirectRunner" if streaming else "FnApiRunner"
    _SEEN.clear()
    options = BeamOptions([*flags, *["--streaming"] * streaming])
    with run_dry(), BeamPipeline(runner, options) as p:
        program(beam, p) | "See" >> beam.Map(_see)
    return _SEEN.copy()


def here(program: Program, flags: Sequence[str] = ()) -> list[Seen]:
    with testing.TestPipeline(argv=list(flags)) as p:
        found = testing.capture(program(hr, p))
    return [
        Seen(_in_order(e.value), float(e.timestamp), e.pane.timing.name, e.pane.is_last)
        for e in found.elements
    ]


def values(seen: list[Seen]) -> list[Any]:
    return [element.value for element in seen]


def script(b: Any) -> Any:
    """An empty test stream whose watermark is at 0."""
    return (BeamStream if b is beam else testing.TestStream)().advance_watermark_to(0)


def at(b: Any, instant: float, value: Any = "a") -> Any:
    return b.window.TimestampedValue(("k", value), instant)


def minutes(b: Any, **how: Any) -> Any:
    return b.WindowInto(b.window.FixedWindows(60), **how)


def discarding(b: Any, trigger: Any) -> dict[str, Any]:
    return {"trigger": trigger, "accumulation_mode": b.trigger.AccumulationMode.DISCARDING}


# Refinement


@difference("Retracting mode")
def test_beam_has_no_retractions() -> None:
    assert not hasattr(beam.trigger.AccumulationMode, "RETRACTING")
    assert hr.trigger.AccumulationMode.RETRACTING


# Lateness


@difference("Sessions: after merging")
def test_the_lateness_of_sessions_is_judged_after_merging() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 8)]).advance_watermark_to(14)
        stream = stream.add_elements([at(b, 2, "late")]).advance_watermark_to_infinity()
        return p | stream | b.WindowInto(b.window.Sessions(10)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(here(program)) == [("k", ["a", "late"])]


@difference("How far windows reach")
def test_windows_that_merge_say_how_far_they_reach() -> None:
    def merging(b: Any) -> Any:
        class Merging(b.window.WindowFn):
            def assign(self, context: Any) -> Any:
                return [b.window.IntervalWindow(context.timestamp, context.timestamp + 10)]

            def merge(self, merge_context: Any) -> None:
                pass

            def get_window_coder(self) -> Any:
                return beam.coders.coders.IntervalWindowCoder()

        return Merging()

    assert beam.WindowInto(merging(beam))
    with pytest.raises(hr.PipelineError, match="does not say how far they reach"):
        hr.WindowInto(merging(hr))


@difference("What a closed window drops")
def test_what_a_closed_window_drops_changes_nothing() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 0)]).add_elements([at(b, 5)])
        stream = stream.add_elements([at(b, 12, "b")]).advance_watermark_to_infinity()
        once = discarding(b, b.trigger.AfterCount(1))
        return p | stream | b.WindowInto(b.window.Sessions(10), **once) | b.GroupByKey()

    unsafe = ["--allow_unsafe_triggers"]
    assert values(in_beam(program, flags=unsafe)) == [("k", ["a"])]
    assert values(here(program, flags=unsafe)) == [("k", ["a"]), ("k", ["b"])]


@difference("The end of a window")
def test_a_window_is_over_when_the_watermark_is_at_its_end() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(60)
        stream = stream.add_elements([at(b, 5, "late")]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", ["late"])]
    assert values(here(program)) == [("k", ["a"])]


@difference("What never fired")
def test_what_never_fired_goes_out_when_the_window_expires() -> None:
    def program(b: Any, p: Any) -> Any:
        ten = b.trigger.Repeatedly(b.trigger.AfterCount(10))
        pairs = p | b.Create([("k", 1), ("k", 2)])
        return pairs | minutes(b, **discarding(b, ten)) | b.GroupByKey()

    assert values(in_beam(program, streaming=False)) == []
    assert values(here(program)) == [("k", [1, 2])]


@difference("Windows that have expired")
def test_an_expired_window_says_nothing_more() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.advance_processing_time(100).advance_watermark_to_infinity()
        often = discarding(b, b.trigger.Repeatedly(b.trigger.AfterProcessingTime(100)))
        return p | stream | minutes(b, **often) | b.GroupByKey()

    assert [(pane.timing, pane.is_last) for pane in in_beam(program)] == [("LATE", False)]
    assert [(pane.timing, pane.is_last) for pane in here(program)] == [("ON_TIME", True)]


@pytest.mark.parametrize(("reached", "joined"), [(12, True), (20, False)])
def test_a_session_that_has_expired_is_kept_for_one_gap(reached: int, joined: bool) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 0)]).advance_watermark_to(reached)
        stream = stream.add_elements([at(b, 12, "b"), at(b, 9, "c")])
        mode = b.trigger.AccumulationMode.ACCUMULATING
        sessions = b.WindowInto(
            b.window.Sessions(10), trigger=b.trigger.DefaultTrigger(), accumulation_mode=mode
        )
        return p | stream.advance_watermark_to_infinity() | sessions | b.GroupByKey()

    both = [("k", ["a"]), ("k", ["a", "b", "c"])]
    assert values(in_beam(program)) == (both if joined else [("k", ["a"]), ("k", ["b"])])
    assert values(here(program)) == (both if joined else [("k", ["a"]), ("k", ["b"])])


# Panes


@difference("assert_that sees the net content")
def test_assert_that_sees_what_is_left() -> None:
    with testing.TestPipeline() as p:
        stream = script(hr).add_elements([at(hr, 1)]).advance_watermark_to(60)
        stream = stream.add_elements([at(hr, 2)]).advance_watermark_to_infinity()
        trigger = hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1))
        mode = hr.trigger.AccumulationMode.RETRACTING
        how = minutes(hr, trigger=trigger, accumulation_mode=mode, allowed_lateness=99)
        counted = p | stream | how | hr.combiners.Count.PerKey()
        everything = testing.capture(counted)
        testing.assert_that(counted, testing.equal_to([("k", 2)]))
    assert [(e.value, e.diff) for e in everything.elements] == [
        (("k", 1), 1),
        (("k", 1), -1),
        (("k", 2), 1),
    ]


@difference("The last pane")
def test_the_pane_at_the_expiry_is_the_last() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert [pane.is_last for pane in in_beam(program)] == [False]
    assert [pane.is_last for pane in here(program)] == [True]


@difference("On time or late")
def test_the_first_pane_after_the_end_of_the_window_is_on_time() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(70).add_elements([at(b, 10)])
        late = minutes(b, allowed_lateness=100)
        return p | stream.advance_watermark_to_infinity() | late | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["LATE"]
    assert [pane.timing for pane in here(program)] == ["ON_TIME"]


@difference("Timestamps behind the watermark")
@pytest.mark.parametrize("combiner", ["OUTPUT_AT_EARLIEST", "OUTPUT_AT_LATEST"])
def test_an_element_behind_the_watermark_counts_at_the_watermark(combiner: str) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(20).add_elements([at(b, 10)])
        stamped = minutes(b, timestamp_combiner=getattr(b.window.TimestampCombiner, combiner))
        return p | stream.advance_watermark_to_infinity() | stamped | b.GroupByKey()

    assert [pane.timestamp for pane in in_beam(program)] == [59.999999]
    assert [pane.timestamp for pane in here(program)] == [20]


@difference("Timestamps of retracting panes")
@pytest.mark.parametrize(("combiner", "latest"), [("EARLIEST", 1), ("LATEST", 5)])
def test_a_retracting_pane_is_stamped_by_all_that_it_holds(combiner: str, latest: float) -> None:
    def program(b: Any, p: Any, mode: str) -> Any:
        stream = script(b).add_elements([at(b, 1)]).add_elements([at(b, 5)])
        each = minutes(
            b,
            trigger=b.trigger.AfterWatermark(early=b.trigger.AfterCount(1)),
            accumulation_mode=getattr(b.trigger.AccumulationMode, mode),
            timestamp_combiner=getattr(b.window.TimestampCombiner, f"OUTPUT_AT_{combiner}"),
        )
        return p | stream.advance_watermark_to_infinity() | each | b.GroupByKey()

    accumulating, retracting = (
        [pane.timestamp for pane in here(partial(program, mode=mode))]
        for mode in ("ACCUMULATING", "RETRACTING")
    )
    assert accumulating == [1, 5, 59.999999]
    assert retracting == [1, 1, latest, latest, latest]


@difference("On-time and closing behaviour")
def test_empty_panes_are_a_matter_of_the_windowing() -> None:
    with pytest.raises(TypeError):
        minutes(beam, on_time_behavior=None)
    assert minutes(hr, on_time_behavior=hr.trigger.OnTimeBehavior.FIRE_IF_NON_EMPTY)


@difference("Timing where the clock fires")
def test_the_moment_of_a_timer_is_not_the_watermark() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_processing_time(100)
        trigger = b.trigger.AfterWatermark(early=b.trigger.AfterProcessingTime(100))
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to_infinity() | grouped

    assert [(pane.value, pane.timing) for pane in in_beam(program)] == [(("k", ["a"]), "LATE")]
    assert [(pane.value, pane.timing) for pane in here(program)] == [
        (("k", ["a"]), "EARLY"),
        (("k", []), "ON_TIME"),
    ]


@difference("Timing and the output watermark")
def test_what_is_early_goes_by_the_input_watermark() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.add_elements([at(b, 2)]).advance_watermark_to_infinity()
        pairs = b.trigger.Repeatedly(b.trigger.AfterCount(2))
        return p | stream | minutes(b, **discarding(b, pairs), allowed_lateness=99) | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["EARLY"]
    assert [pane.timing for pane in here(program)] == ["ON_TIME"]


@difference("Timing of merged sessions")
def test_a_merged_session_remembers_that_a_part_of_it_was_not_early() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(12).add_elements([at(b, 1)])
        stream = stream.add_elements([at(b, 8)]).advance_watermark_to_infinity()
        each = discarding(b, b.trigger.Repeatedly(b.trigger.AfterCount(1)))
        sessions = b.WindowInto(b.window.Sessions(10), **each, allowed_lateness=99)
        return p | stream | sessions | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["LATE", "EARLY"]
    assert [pane.timing for pane in here(program)] == ["ON_TIME", "LATE"]


# Triggers


@difference("Watermark triggers of merged sessions")
def test_a_merged_session_waits_for_its_own_end() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(12)
        for instant in (8, 9):
            stream = stream.add_elements([at(b, instant, instant)])
        trigger = b.trigger.AfterWatermark(late=b.trigger.AfterCount(1))
        how = discarding(b, trigger)
        sessions = b.WindowInto(b.window.Sessions(10), **how, allowed_lateness=99)
        return p | stream.advance_watermark_to_infinity() | sessions | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [8]), ("k", [9])]
    assert values(here(program)) == [("k", ["a"]), ("k", [8, 9])]


@difference("Several watermark triggers")
def test_two_watermark_triggers_fire_once() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        both = b.trigger.AfterAll(b.trigger.DefaultTrigger(), b.trigger.DefaultTrigger())
        return p | stream | minutes(b, **discarding(b, both)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [])]
    assert values(here(program)) == [("k", ["a"])]


@difference("A watermark trigger in a sequence")
def test_a_watermark_trigger_in_a_sequence_needs_no_element() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        trigger = b.trigger.AfterEach(b.trigger.AfterCount(1), b.trigger.AfterWatermark())
        return p | stream | minutes(b, **discarding(b, trigger)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(here(program)) == [("k", ["a"]), ("k", [])]


@difference("Timers of early firings")
def test_what_early_firings_waited_for_is_over_with_them() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.advance_processing_time(10).advance_watermark_to_infinity()
        early, late = b.trigger.AfterProcessingTime(10), b.trigger.AfterProcessingTime(5)
        trigger = b.trigger.AfterWatermark(early=early, late=late)
        how = discarding(b, trigger)
        return p | stream | minutes(b, **how, allowed_lateness=999) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", [])]
    assert values(here(program)) == [("k", ["a"])]


@difference("What did not fire in AfterAny")
def test_what_did_not_fire_in_any_of_several_starts_anew() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b)
        for instant in (1, 2, 3):
            stream = stream.add_elements([at(b, instant, instant)])
        either = b.trigger.AfterAny(b.trigger.Always(), b.trigger.AfterCount(2))
        then = b.trigger.Repeatedly(b.trigger.AfterWatermark())
        trigger = b.trigger.AfterEach(either, then)
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to(59).advance_watermark_to_infinity() | grouped

    assert [pane.timing for pane in in_beam(program)] == ["EARLY", "EARLY", "ON_TIME"]
    assert [pane.timing for pane in here(program)][:3] == ["EARLY", "EARLY", "EARLY"]


@difference("The end of OrFinally")
def test_or_finally_goes_on_if_both_parts_fire_and_the_second_does_not_finish() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(70)
        stream = stream.add_elements([at(b, 2)]).advance_watermark_to_infinity()
        t = b.trigger
        until = t.OrFinally(t.AfterWatermark(), t.DefaultTrigger())
        trigger = t.AfterEach(until, t.Repeatedly(t.AfterCount(10)))
        how = discarding(b, trigger)
        return p | stream | minutes(b, **how, allowed_lateness=99) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(here(program)) == [("k", ["a"]), ("k", ["a"])]


@difference("AfterAny within a repetition")
def test_any_of_several_triggers_starts_anew_after_it_has_fired() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b)
        for instant in (1, 2, 3):
            stream = stream.add_elements([at(b, instant, instant)]).advance_processing_time(20)
        early = b.trigger.AfterAny(b.trigger.AfterCount(10), b.trigger.AfterProcessingTime(10))
        trigger = b.trigger.AfterWatermark(early=early)
        grouped = minutes(b, **discarding(b, trigger)) | b.GroupByKey()
        return p | stream.advance_watermark_to_infinity() | grouped

    assert values(in_beam(program)) == [("k", [1]), ("k", [2, 3])]
    assert values(here(program)) == [("k", [1]), ("k", [2]), ("k", [3]), ("k", [])]


@difference("Continuations")
def test_time_and_either_of_two_continue_otherwise() -> None:
    either = "OrFinally(AfterCount(2), AfterWatermark())"
    theirs, ours = (vars(module.trigger) for module in (beam, hr))
    synchronized = theirs["AfterProcessingTime"](60).get_continuation_trigger()
    assert type(synchronized).__name__ == "_AfterSynchronizedProcessingTime"
    assert ours["AfterProcessingTime"](60).get_continuation_trigger() == (
        ours["AfterProcessingTime"](0)
    )
    assert repr(eval(either, dict(theirs)).get_continuation_trigger()) == (
        "OrFinally(AfterCount(1), AfterWatermark())"
    )
    assert repr(eval(either, dict(ours)).get_continuation_trigger()) == (
        "Repeatedly(OrFinally(AfterCount(1), AfterWatermark()))"
    )


@difference("Further triggers")
@pytest.mark.parametrize("name", ["AtPeriod", "AfterElement", "AfterBytes", "Never"])
def test_further_triggers(name: str) -> None:
    assert not hasattr(beam.trigger, name)
    assert hasattr(hr.trigger, name)


# While the pipeline is built


@difference("A test stream that ends is bounded")
def test_a_test_stream_that_ends_is_bounded() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | b.GroupByKey()

    with pytest.raises(ValueError, match="unbounded PCollection with global windowing"):
        in_beam(program)
    assert values(here(program)) == [("k", ["a"])]


@difference("Flatten of different windows")
def test_collections_in_different_windows_cannot_be_flattened() -> None:
    def program(b: Any, p: Any) -> Any:
        one = p | "one" >> b.Create([("k", 1)]) | "ten" >> b.WindowInto(b.window.FixedWindows(10))
        two = p | "two" >> b.Create([("k", 2)]) | "day" >> b.WindowInto(b.window.FixedWindows(99))
        return (one, two) | b.Flatten() | b.GroupByKey()

    assert sorted(values(in_beam(program, streaming=False))) == [("k", [1]), ("k", [2])]
    with pytest.raises(hr.PipelineError, match="has the windows of"):
        here(program)


@difference("Defaults of global combines")
def test_a_global_combine_with_a_trigger_has_no_default() -> None:
    def program(b: Any, p: Any) -> Any:
        trigger = b.trigger.Repeatedly(b.trigger.AfterCount(1))
        windows = b.WindowInto(b.window.GlobalWindows(), **discarding(b, trigger))
        return p | b.Create([1, 2]) | windows | b.CombineGlobally(sum)

    assert values(in_beam(program, streaming=False)) == [3]
    with pytest.raises(hr.PipelineError, match="without_defaults"):
        here(program)


@difference("Types")
def test_types_are_not_inferred_from_code() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([1]) | b.Map(lambda x: x) | b.GroupByKey()

    with pytest.raises(beam.typehints.decorators.TypeCheckError):
        in_beam(program, streaming=False)
    with pytest.raises(hr.ElementError):
        here(program)


@difference("Errors")
def test_errors_have_classes_of_their_own() -> None:
    with pytest.raises(ValueError, match="lateness") as ours:
        minutes(hr, allowed_lateness=-1)
    assert isinstance(ours.value, hr.HeadraceError)
    assert not hasattr(beam, "BeamError")


# Keys and values


@difference("Equal keys of different types")
def test_equal_keys_of_different_types_are_different() -> None:
    def grouped(b: Any, p: Any) -> Any:
        return p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")]) | b.GroupByKey()

    def combined(b: Any, p: Any) -> Any:
        pairs = p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")])
        return pairs | b.CombinePerKey(lambda names: " ".join(sorted(names)))

    assert len(in_beam(grouped, streaming=False)) == len(here(grouped)) == 3
    assert values(in_beam(combined, streaming=False)) == [(1, "bool float int")]
    assert len(here(combined)) == 3


@difference("Sets and dicts as keys")
@pytest.mark.parametrize("key", [{1, 2}, {"a": 1}], ids=repr)
def test_a_key_without_an_order_is_refused(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, "a")]) | b.GroupByKey() | b.Values()

    assert values(in_beam(program, streaming=False)) == [["a"]]
    with pytest.raises(hr.KeyEncodingError):
        here(program)


@difference("Lists and frozen sets as keys")
@pytest.mark.parametrize("key", [[1, 2], frozenset([1, 2])], ids=repr)
def test_lists_and_frozen_sets_can_be_keys_of_combines(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, 1), (key, 2)]) | b.CombinePerKey(sum) | b.Values()

    with pytest.raises(TypeError):
        in_beam(program, streaming=False)
    assert values(here(program)) == [3]


@difference("Values of a group")
def test_a_grouping_gives_lists() -> None:
    def grouped(b: Any) -> Any:
        return b.Pipeline() | b.Create([("k", 1)]) | b.GroupByKey()

    assert "Iterable" in str(grouped(beam).element_type)
    assert "list" in str(grouped(hr).element_type)


@difference("The smallest and largest of nothing")
def test_the_largest_of_nothing_is_none() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([]) | b.CombineGlobally(max)

    with pytest.raises(ValueError, match="empty"):
        in_beam(program, streaming=False)
    assert values(here(program)) == [None]


# Files


@difference("Types of CSV")
def test_types_of_csv_are_not_those_of_pandas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("minutes,code\n5,01069\n,10115\n")

    def program(b: Any, p: Any) -> Any:
        return p | b.io.ReadFromCsv(str(tmp_path / "a.csv")) | b.Map(tuple)

    assert set(map(repr, values(in_beam(program, streaming=False)))) == {
        "(5.0, 1069)",
        "(None, 10115)",
    }
    assert values(here(program)) == [(5, "01069"), (None, "10115")]


# Time


@difference("Ways to write times")
def test_times_may_be_written_in_more_ways() -> None:
    with pytest.raises(TypeError):
        beam.window.FixedWindows(timedelta(minutes=1))
    assert hr.window.FixedWindows(timedelta(minutes=1)) == hr.window.FixedWindows(60)
    with pytest.raises(TypeError):
        beam.utils.timestamp.Timestamp.of("2013-01-01T00:00:00Z")
    assert hr.Timestamp.of("2013-01-01T00:00:00Z") == 1_356_998_400


@difference("Calendar windows")
def test_calendar_windows_are_there() -> None:
    assert not hasattr(beam.window, "CalendarWindows")
    months = hr.window.CalendarWindows.months(1, timezone="America/New_York")
    march, april = hr.Timestamp.of("2013-03-10T00:00:00Z"), hr.Timestamp.of("2013-04-10T00:00:00Z")
    assert months != march != april


@difference("Watermark policies")
@pytest.mark.parametrize("name", ["BoundedOutOfOrderness", "Monotonic", "Percentile", "FromSource"])
def test_watermark_policies_are_values(name: str) -> None:
    assert not hasattr(beam, name)
    assert hasattr(hr.windowing, name)


@difference("Names that Beam does not have")
@pytest.mark.parametrize("name", ["InnerJoin", "LeftJoin", "RightJoin", "FullJoin", "explain"])
def test_further_names(name: str) -> None:
    assert not hasattr(beam, name)
    assert hasattr(hr, name)


# The page


def _marks(test: Any) -> list[pytest.Mark]:
    return list(getattr(test, "pytestmark", [])) if callable(test) else []


PAGE = Path(__file__).parent.parent / "docs" / "reference" / "differences.md"


def test_each_section_of_the_page_is_shown_by_a_test(request: pytest.FixtureRequest) -> None:
    shown = [
        mark.args[0]
        for test in vars(request.module).values()
        for mark in _marks(test)
        if mark.name == "difference"
    ]
    sections = re.findall("^### (.*)$", PAGE.read_text(), re.MULTILINE)
    assert sorted(shown) == sorted(sections)
