"""A script played by a pipeline on Beam's bundle-based local runner, which has watermarks and a clock.

It is the one of Beam's local runners written in Python that runs a TestStream. Which event let a
pane out is not told: panes come in order for each key and window.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.triggers import WindowingStrategy
from headrace.windowing.time import MAX_MICROS
from tests.beam_reference import in_beam
from tests.beam_reference.kit import SECOND, UNKNOWN, Event
from tests.oracle.story import GLOBAL, Pane

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import apache_beam as beam
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.testing.test_stream import TestStream
    from apache_beam.utils.windowed_value import PaneInfoTiming

LATER = 232_792_560 * SECOND
"""Microseconds by which event time is set forward, as the clock of the runner begins at 0 and has to be
behind the ends of windows. All sizes up to 20 seconds divide it, so windows lie as before."""

_PANES: list[Pane] = []
"""What a pipeline says; its functions are pickled, and find nothing else of this process."""


def play(script: Sequence[Event], windowing: WindowingStrategy) -> list[Pane]:
    """The panes of a script whose watermark goes to the end of time."""
    _PANES.clear()
    options = PipelineOptions(["--streaming", "--allow_unsafe_triggers"])
    into = beam.WindowInto(
        in_beam.window_fn(windowing.window_fn),
        trigger=in_beam.trigger(windowing.trigger),
        accumulation_mode=in_beam.mode(windowing.accumulation_mode),
        allowed_lateness=in_beam.duration(windowing.allowed_lateness),
    )
    with run_dry(), beam.Pipeline("BundleBasedDirectRunner", options) as p:
        p | stream(script) | into | beam.GroupByKey() | beam.Map(_listen)
    return _PANES.copy()


@contextmanager
def run_dry() -> Iterator[None]:
    """Take it for an end that nothing is left to do, though elements are that never fired.

    They hold the watermark. The runner means to say so, but raises what is not an exception.
    """
    try:
        yield
    except TypeError as error:
        if str(error) != "exceptions must derive from BaseException":
            raise


def stream(script: Sequence[Event]) -> Any:
    """A script as a test stream of Beam's, event time set forward."""
    said, now = TestStream(), 0
    for kind, what in script:
        if kind == "elements":
            said = said.add_elements([_stamped(*row) for row in what])
        elif kind == "clock":
            said, now = said.advance_processing_time((what - now) / SECOND), what
        elif what == MAX_MICROS:
            said = said.advance_watermark_to_infinity()
        else:
            said = said.advance_watermark_to(in_beam.instant(what + LATER))
    return said


def _stamped(key: str, value: int, timestamp: int, diff: int) -> Any:
    assert diff == 1, "Beam has no retractions"
    return beam.window.TimestampedValue((key, value), in_beam.instant(timestamp + LATER))


def _listen(
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
        event=UNKNOWN,
    )
    _PANES.append(pane if pane.window == GLOBAL else _set_back(pane))


def _set_back(pane: Pane) -> Pane:
    start, end = pane.window
    return attrs.evolve(pane, window=(start - LATER, end - LATER), timestamp=pane.timestamp - LATER)
