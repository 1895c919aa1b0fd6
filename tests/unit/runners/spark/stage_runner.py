"""Runs on the stages of the Spark runner, event by event, with workers that may be killed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Observation
from headrace.sdk.testing.streams.script import ScriptEvent
from tests.laws.event_by_event import Time, graph_of, observe

from .stages import Stream


class StageRunner:
    """A run on the stages, event by event.

    Attributes:
        heard: the observations of each grouping so far.
    """

    def __init__(self, run: Run, groups: int, tasks: int, watched: bool = False) -> None:
        graph, self._taps = graph_of(run, watched)
        self.heard = [Observation() for _ in self._taps]
        self._read = next(iter(graph)).label
        self._stream = Stream(graph, groups, tasks)
        self._time = Time()

    def play(self, event: ScriptEvent, killed: bool = False) -> None:
        """Process an event; if the workers are killed, process it again after a restart."""
        brought = self._time.advance(event)
        bundles = {} if brought is None else {self._read: brought}
        batch = bundles, {self._read: self._time.watermark}, self._time.now
        if killed:
            self._stream.die_in(*batch)
        observe(self.heard, self._taps, self._time.event, self._stream.round(*batch))


def unordered(heard: Observation) -> tuple[Any, ...]:
    """An observation without the order within an event."""
    panes = Counter((pane.event, encode_value(pane)) for pane in heard.panes)
    inputs = Counter(map(encode_value, heard.inputs))
    late = Counter(map(encode_value, heard.late))
    return panes, inputs, late, heard.dropped, heard.watermarks
