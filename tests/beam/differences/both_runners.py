"""Runs a program on Headrace and on Beam, and collects its output on both sides."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
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

    from tests.beam.reference.local_runner import ignore_stall


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
    with ignore_stall(), BeamPipeline(runner, options) as p:
        program(beam, p) | "See" >> beam.Map(_see)
    return _SEEN.copy()


def in_headrace(program: Program, flags: Sequence[str] = ()) -> list[Seen]:
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
