"""Deliberate differences from Beam: errors and types while a pipeline is built."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import headrace as hr
from tests.beam.differences.both_runners import (
    at,
    beam,
    difference,
    discarding,
    in_beam,
    in_headrace,
    minutes,
    script,
    values,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@difference("A test stream that ends is bounded")
def test_a_test_stream_that_ends_is_bounded() -> None:
    def program(b: Any, p: Any) -> Any:
        stream = script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return p | stream | b.GroupByKey()

    with pytest.raises(ValueError, match="unbounded PCollection with global windowing"):
        in_beam(program)
    assert values(in_headrace(program)) == [("k", ["a"])]


@difference("Flatten of different windows")
def test_collections_in_different_windows_cannot_be_flattened() -> None:
    def program(b: Any, p: Any) -> Any:
        one = p | "one" >> b.Create([("k", 1)]) | "ten" >> b.WindowInto(b.window.FixedWindows(10))
        two = p | "two" >> b.Create([("k", 2)]) | "day" >> b.WindowInto(b.window.FixedWindows(99))
        return (one, two) | b.Flatten() | b.GroupByKey()

    assert sorted(values(in_beam(program, streaming=False))) == [("k", [1]), ("k", [2])]
    with pytest.raises(hr.PipelineError, match="has the windows of"):
        in_headrace(program)


@difference("Flatten of a collection with itself")
def test_a_collection_that_is_merged_with_itself_comes_out_twice() -> None:
    def program(b: Any, p: Any) -> Any:
        one = p | script(b).add_elements([at(b, 1)]).advance_watermark_to_infinity()
        return (one, one) | b.Flatten()

    assert values(in_beam(program)) == [("k", "a")]
    assert values(in_headrace(program)) == [("k", "a")] * 2


@difference("Defaults of global combines")
def test_a_global_combine_with_a_trigger_has_no_default() -> None:
    def program(b: Any, p: Any) -> Any:
        trigger = b.trigger.Repeatedly(b.trigger.AfterCount(1))
        windows = b.WindowInto(b.window.GlobalWindows(), **discarding(b, trigger))
        return p | b.Create([1, 2]) | windows | b.CombineGlobally(sum)

    assert values(in_beam(program, streaming=False)) == [3]
    with pytest.raises(hr.PipelineError, match="without_defaults"):
        in_headrace(program)


@difference("Tags that nobody declares")
def test_a_tag_that_nobody_declares_is_an_error() -> None:
    def program(b: Any, p: Any) -> Any:
        tag = b.pvalue.TaggedOutput
        both = b.FlatMap(lambda x: [x, tag("bda", x)]).with_outputs("bad", main="good")
        return (p | b.Create([1]) | both)["good"]

    assert values(in_beam(program, streaming=False)) == [1]
    with pytest.raises(hr.ElementError, match="the declared tags are 'bad'"):
        in_headrace(program)


@difference("Types")
def test_types_are_not_inferred_from_code() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([1]) | b.Map(lambda x: x) | b.GroupByKey()

    with pytest.raises(beam.typehints.decorators.TypeCheckError):
        in_beam(program, streaming=False)
    with pytest.raises(hr.ElementError):
        in_headrace(program)


@difference("Errors")
def test_errors_have_classes_of_their_own() -> None:
    with pytest.raises(ValueError, match="lateness") as ours:
        minutes(hr, allowed_lateness=-1)
    assert isinstance(ours.value, hr.HeadraceError)
    assert not hasattr(beam, "BeamError")
