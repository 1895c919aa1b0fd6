"""What a run counts of each step by itself: elements in and out, panes by timing, what was dropped."""

from __future__ import annotations

from collections import Counter
from copy import copy

import attrs

from headrace.windowing.time import MIN_MICROS


@attrs.define
class StepMetrics:
    """The counts of one step of a pipeline.

    Attributes:
        elements_in: elements that came in.
        elements_out: elements that went out, over all outputs.
        late_dropped: elements that a grouping dropped since their window had expired, per window.
        panes: panes of a grouping by the name of their timing; retractions are not among them.
        retractions: retractions that a grouping sent.
        watermark: the output watermark in microseconds.

    >>> StepMetrics(elements_in=3).elements_in
    3
    """

    elements_in: int = 0
    elements_out: int = 0
    late_dropped: int = 0
    panes: Counter[str] = attrs.field(factory=Counter)
    retractions: int = 0
    watermark: int = MIN_MICROS

    def add(self, other: StepMetrics) -> None:
        """Add what was counted elsewhere; of watermarks, the later one stays."""
        self.elements_in += other.elements_in
        self.elements_out += other.elements_out
        self.late_dropped += other.late_dropped
        self.panes.update(other.panes)
        self.retractions += other.retractions
        self.watermark = max(self.watermark, other.watermark)

    def drain(self) -> StepMetrics:
        """Return what was counted, and start anew; the watermark stays where it is."""
        drained = copy(self)
        self.elements_in = self.elements_out = self.late_dropped = self.retractions = 0
        self.panes = Counter()
        return drained
