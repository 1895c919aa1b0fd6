"""The built-in metrics of a step: elements in and out, panes by timing, dropped elements."""

from __future__ import annotations

from collections import Counter
from copy import copy

import attrs

from headrace.windowing.time.timestamps import MIN_MICROS


@attrs.define
class StepMetrics:
    """The built-in metrics of one step of a pipeline.

    Attributes:
        elements_in: number of input elements.
        elements_out: number of output elements, over all outputs.
        late_dropped: number of elements that a grouping dropped because their window had expired, counted
            per window.
        panes: number of panes of a grouping by the name of their timing, without retractions.
        retractions: number of retractions that a grouping emitted.
        watermark: output watermark in microseconds.
        unlikely_timestamp: a timestamp after the year 2200, in microseconds, that the step supplied; 0 if
            there is none. The run warns of it.
        past_timer: by how many microseconds the clock was past the time of a timer of processing time, if by
            more than a year; 0 if there is none. The run warns of it.

    >>> StepMetrics(elements_in=3).elements_in
    3
    """

    elements_in: int = 0
    elements_out: int = 0
    late_dropped: int = 0
    panes: Counter[str] = attrs.field(factory=Counter)
    retractions: int = 0
    watermark: int = MIN_MICROS
    unlikely_timestamp: int = 0
    past_timer: int = 0

    def add(self, other: StepMetrics) -> None:
        """Add other metrics of the same step; keep the later watermark."""
        self.elements_in += other.elements_in
        self.elements_out += other.elements_out
        self.late_dropped += other.late_dropped
        self.panes.update(other.panes)
        self.retractions += other.retractions
        self.watermark = max(self.watermark, other.watermark)
        self.unlikely_timestamp = max(self.unlikely_timestamp, other.unlikely_timestamp)
        self.past_timer = max(self.past_timer, other.past_timer)

    def copy(self) -> StepMetrics:
        """Return a copy."""
        return attrs.evolve(self, panes=Counter(self.panes))

    def since(self, before: StepMetrics | None) -> StepMetrics:
        """Return the metrics since an earlier copy, with the watermark of now.

        >>> StepMetrics(elements_in=5).since(StepMetrics(elements_in=3)).elements_in
        2
        """
        if before is None:
            return self.copy()
        return StepMetrics(
            elements_in=self.elements_in - before.elements_in,
            elements_out=self.elements_out - before.elements_out,
            late_dropped=self.late_dropped - before.late_dropped,
            panes=self.panes - before.panes,
            retractions=self.retractions - before.retractions,
            watermark=self.watermark,
            unlikely_timestamp=self.unlikely_timestamp,
            past_timer=self.past_timer,
        )

    def drain(self) -> StepMetrics:
        """Return the metrics, and reset them except for the watermark."""
        drained = copy(self)
        self.elements_in = self.elements_out = self.late_dropped = self.retractions = 0
        self.unlikely_timestamp = self.past_timer = 0
        self.panes = Counter()
        return drained
