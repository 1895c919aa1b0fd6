"""Runs a script as a pipeline on Beam's bundle-based local runner, which has watermarks and a clock.

It is the only local runner of Beam's written in Python that runs a TestStream. It does not tell which event
caused a pane: panes are ordered per key and window.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.triggers import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.beam.reference import in_beam
from tests.beam.reference.kit import SECOND, UNKNOWN_EVENT, ScriptEvent
from tests.laws.oracle.window_history import GLOBAL, Pane

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.transforms.window import TimestampedValue
    from apache_beam.utils.windowed_value import PaneInfoTiming

SHIFT = 232_792_560 * SECOND
"""Microseconds by which event times are shifted, since the clock of the runner starts at 0 and has to be
before the ends of windows. All sizes up to 20 seconds divide it, so windows stay aligned."""

_PANES: list[Pane] = []
"""The output of a pipeline; its functions are pickled, and reach nothing else of this process."""


def run_in_beam(script: Sequence[ScriptEvent], windowing: WindowingStrategy) -> list[Pane]:
    """The panes of a script whose watermark advances to the end of time."""
    _PANES.clear()
    options = PipelineOptions(["--streaming", "--allow_unsafe_triggers"])
    into = beam.WindowInto(
        in_beam.window_fn(windowing.window_fn),
        trigger=in_beam.trigger(windowing.trigger),
        accumulation_mode=in_beam.mode(windowing.accumulation_mode),
        allowed_lateness=in_beam.duration(windowing.allowed_lateness),
    )
    with ignore_stall(), beam.Pipeline("BundleBasedDirectRunner", options) as p:
        p | stream(script) | into | beam.GroupByKey() | beam.Map(_collect_pane)
    return _PANES.copy()


@contextmanager
def ignore_stall() -> Iterator[None]:
    """Ignore the error of a runner that stalls with elements that never fired.

    They hold the watermark. The runner means to report this, but raises something that is not an exception.
    """
    try:
        yield
    except TypeError as error:
        if str(error) != "exceptions must derive from BaseException":
            raise


def stream(script: Sequence[ScriptEvent]) -> Any:
    """A script as a Beam test stream, with event times shifted."""
    test_stream, now = TestStream(), 0
    for kind, what in script:
        if kind == "elements":
            test_stream = test_stream.add_elements([_stamped(*row) for row in what])
        elif kind == "clock":
            test_stream, now = test_stream.advance_processing_time((what - now) / SECOND), what
        elif what == MAX_MICROS:
            test_stream = test_stream.advance_watermark_to_infinity()
        else:
            test_stream = test_stream.advance_watermark_to(in_beam.instant(what + SHIFT))
    return test_stream


def _stamped(key: str, value: int, timestamp: int, diff: int) -> Any:
    assert diff == 1, "Beam has no retractions"
    return TimestampedValue((key, value), in_beam.instant(timestamp + SHIFT))


def _collect_pane(
    pair: Any,
    timestamp: Any = beam.DoFn.TimestampParam,
    window: Any = beam.DoFn.WindowParam,
    info: Any = beam.DoFn.PaneInfoParam,
) -> None:
    key, values = pair
    pane = Pane(
        key=key,
        window=(window.start.micros, window.end.micros),
        value=sorted(values),
        diff=1,
        timestamp=timestamp.micros,
        timing=PaneInfoTiming.to_string(info.timing),
        index=info.index,
        nonspeculative=info.nonspeculative_index,
        first=info.is_first,
        last=info.is_last,
        event=UNKNOWN_EVENT,
    )
    _PANES.append(pane if pane.window == GLOBAL else _shifted_back(pane))


def _shifted_back(pane: Pane) -> Pane:
    start, end = pane.window
    return attrs.evolve(pane, window=(start - SHIFT, end - SHIFT), timestamp=pane.timestamp - SHIFT)
