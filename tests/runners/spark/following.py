"""Runs on the stages of Spark's runner, event by event, with workers that may be killed on the way."""

from __future__ import annotations

from collections import Counter
from typing import Any

from headrace.sdk.encoding import encode_value
from headrace.sdk.testing.run_on_runner import Observation
from headrace.sdk.testing.runs import Run
from headrace.sdk.testing.script import Event
from tests.laws.event_by_event import Time, graph_of, listen

from .stages import Stream


class FollowingStages:
    """A run on the stages, event by event.

    Attributes:
        heard: what each grouping has heard and said until now.
    """

    def __init__(self, run: Run, groups: int, tasks: int, watched: bool = False) -> None:
        graph, self._taps = graph_of(run, watched)
        self.heard = [Observation() for _ in self._taps]
        self._read = next(iter(graph)).label
        self._stream = Stream(graph, groups, tasks)
        self._time = Time()

    def play(self, event: Event, killed: bool = False) -> None:
        """Let an event happen; if that is killed on the way, it happens again after a restart."""
        brought = self._time.pass_to(event)
        bundles = {} if brought is None else {self._read: brought}
        batch = bundles, {self._read: self._time.watermark}, self._time.now
        if killed:
            self._stream.die_in(*batch)
        listen(self.heard, self._taps, self._time.event, self._stream.round(*batch))


def unordered(heard: Observation) -> tuple[Any, ...]:
    """All of what was heard, but the order within an event."""
    panes = Counter((pane.event, encode_value(pane)) for pane in heard.panes)
    inputs = Counter(map(encode_value, heard.inputs))
    late = Counter(map(encode_value, heard.late))
    return panes, inputs, late, heard.dropped, heard.watermarks
