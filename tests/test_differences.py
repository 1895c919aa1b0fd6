"""Where Headrace differs from Beam on purpose: the same programs on both, as the documentation says.

The page is docs/reference/differences.md. Streams run on Beam's bundle-based local runner, batches on
its FnApiRunner.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from datetime import timedelta
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

pytestmark = pytest.mark.filterwarnings("ignore")


class Seen(NamedTuple):
    """An element as it came out; lists are in order."""

    value: Any
    timestamp: float
    timing: str
    is_last: bool


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


def in_beam(program: Program, streaming: bool = True) -> list[Seen]:
    runner = "BundleBasedDirectRunner" if streaming else "FnApiRunner"
    _SEEN.clear()
    with BeamPipeline(runner, BeamOptions(["--streaming"] * streaming)) as p:
        program(beam, p) | "See" >> beam.Map(_see)
    return _SEEN.copy()


def here(program: Program) -> list[Seen]:
    with testing.TestPipeline() as p:
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


def test_beam_has_no_retractions() -> None:
    assert not hasattr(beam.trigger.AccumulationMode, "RETRACTING")
    assert hr.trigger.AccumulationMode.RETRACTING


# Lateness


def test_the_lateness_of_sessions_is_judged_after_merging() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 8)]).advance_watermark_to(14)
        stream = stream.add_elements([at(b, 2, "late")]).advance_watermark_to_infinity()
        return p | stream | b.WindowInto(b.window.Sessions(10)) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"])]
    assert values(here(program)) == [("k", ["a", "late"])]


def test_a_window_is_over_when_the_watermark_is_at_its_end() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to(60)
        stream = stream.add_elements([at(b, 5, "late")]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert values(in_beam(program)) == [("k", ["a"]), ("k", ["late"])]
    assert values(here(program)) == [("k", ["a"])]


def test_what_never_fired_goes_out_when_the_window_expires() -> None:
    def program(b: Any, p: Any) -> Any:
        ten = b.trigger.Repeatedly(b.trigger.AfterCount(10))
        pairs = p | b.Create([("k", 1), ("k", 2)])
        return pairs | minutes(b, **discarding(b, ten)) | b.GroupByKey()

    assert values(in_beam(program, streaming=False)) == []
    assert values(here(program)) == [("k", [1, 2])]


# Panes


def test_the_pane_at_the_expiry_is_the_last() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | minutes(b) | b.GroupByKey()

    assert [pane.is_last for pane in in_beam(program)] == [False]
    assert [pane.is_last for pane in here(program)] == [True]


def test_the_first_pane_after_the_end_of_the_window_is_on_time() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(70).add_elements([at(b, 10)])
        late = minutes(b, allowed_lateness=100)
        return p | stream.advance_watermark_to_infinity() | late | b.GroupByKey()

    assert [pane.timing for pane in in_beam(program)] == ["LATE"]
    assert [pane.timing for pane in here(program)] == ["ON_TIME"]


@pytest.mark.parametrize("combiner", ["OUTPUT_AT_EARLIEST", "OUTPUT_AT_LATEST"])
def test_an_element_behind_the_watermark_counts_at_the_watermark(combiner: str) -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).advance_watermark_to(20).add_elements([at(b, 10)])
        stamped = minutes(b, timestamp_combiner=getattr(b.window.TimestampCombiner, combiner))
        return p | stream.advance_watermark_to_infinity() | stamped | b.GroupByKey()

    assert [pane.timestamp for pane in in_beam(program)] == [59.999999]
    assert [pane.timestamp for pane in here(program)] == [20]


def test_empty_panes_are_a_matter_of_the_windowing() -> None:
    with pytest.raises(TypeError):
        minutes(beam, on_time_behavior=None)
    assert minutes(hr, on_time_behavior=hr.trigger.OnTimeBehavior.FIRE_IF_NON_EMPTY)


# Triggers


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


@pytest.mark.parametrize("name", ["AtPeriod", "AfterElement", "AfterBytes", "Never"])
def test_further_triggers(name: str) -> None:
    assert not hasattr(beam.trigger, name)
    assert hasattr(hr.trigger, name)


# While the pipeline is built


def test_a_test_stream_that_ends_is_bounded() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | b.GroupByKey()

    with pytest.raises(ValueError, match="unbounded PCollection with global windowing"):
        in_beam(program)
    assert values(here(program)) == [("k", ["a"])]


def test_collections_in_different_windows_cannot_be_flattened() -> None:
    def program(b: Any, p: Any) -> Any:
        one = p | "one" >> b.Create([("k", 1)]) | "ten" >> b.WindowInto(b.window.FixedWindows(10))
        two = p | "two" >> b.Create([("k", 2)]) | "day" >> b.WindowInto(b.window.FixedWindows(99))
        return (one, two) | b.Flatten() | b.GroupByKey()

    assert sorted(values(in_beam(program, streaming=False))) == [("k", [1]), ("k", [2])]
    with pytest.raises(hr.PipelineError, match="has the windows of"):
        here(program)


def test_a_global_combine_with_a_trigger_has_no_default() -> None:
    def program(b: Any, p: Any) -> Any:
        trigger = b.trigger.Repeatedly(b.trigger.AfterCount(1))
        windows = b.WindowInto(b.window.GlobalWindows(), **discarding(b, trigger))
        return p | b.Create([1, 2]) | windows | b.CombineGlobally(sum)

    assert values(in_beam(program, streaming=False)) == [3]
    with pytest.raises(hr.PipelineError, match="without_defaults"):
        here(program)


def test_types_are_not_inferred_from_code() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([1]) | b.Map(lambda x: x) | b.GroupByKey()

    with pytest.raises(beam.typehints.decorators.TypeCheckError):
        in_beam(program, streaming=False)
    with pytest.raises(hr.ElementError):
        here(program)


# Keys and values


def test_equal_keys_of_different_types_are_different() -> None:
    def grouped(b: Any, p: Any) -> Any:
        return p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")]) | b.GroupByKey()

    def combined(b: Any, p: Any) -> Any:
        pairs = p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")])
        return pairs | b.CombinePerKey(lambda names: " ".join(sorted(names)))

    assert len(in_beam(grouped, streaming=False)) == len(here(grouped)) == 3
    assert values(in_beam(combined, streaming=False)) == [(1, "bool float int")]
    assert len(here(combined)) == 3


@pytest.mark.parametrize("key", [{1, 2}, {"a": 1}], ids=repr)
def test_a_key_without_an_order_is_refused(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, "a")]) | b.GroupByKey() | b.Values()

    assert values(in_beam(program, streaming=False)) == [["a"]]
    with pytest.raises(hr.KeyEncodingError):
        here(program)


@pytest.mark.parametrize("key", [[1, 2], frozenset([1, 2])], ids=repr)
def test_lists_and_frozen_sets_can_be_keys_of_combines(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, 1), (key, 2)]) | b.CombinePerKey(sum) | b.Values()

    with pytest.raises(TypeError):
        in_beam(program, streaming=False)
    assert values(here(program)) == [3]


def test_a_grouping_gives_lists() -> None:
    def grouped(b: Any) -> Any:
        return b.Pipeline() | b.Create([("k", 1)]) | b.GroupByKey()

    assert "Iterable" in str(grouped(beam).element_type)
    assert "list" in str(grouped(hr).element_type)


def test_the_largest_of_nothing_is_none() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([]) | b.CombineGlobally(max)

    with pytest.raises(ValueError, match="empty"):
        in_beam(program, streaming=False)
    assert values(here(program)) == [None]


# Files


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


def test_times_may_be_written_in_more_ways() -> None:
    with pytest.raises(TypeError):
        beam.window.FixedWindows(timedelta(minutes=1))
    assert hr.window.FixedWindows(timedelta(minutes=1)) == hr.window.FixedWindows(60)
    with pytest.raises(TypeError):
        beam.utils.timestamp.Timestamp.of("2013-01-01T00:00:00Z")
    assert hr.Timestamp.of("2013-01-01T00:00:00Z") == 1_356_998_400
