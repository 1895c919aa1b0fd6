"""Counting what groupings give out."""

from __future__ import annotations

from collections import Counter

from headrace.runners.keyed_operators import KeyedPanes
from headrace.sdk.step_metrics import StepMetrics
from headrace.triggers.bundle import RETRACT


def count_panes(metrics: StepMetrics, out: KeyedPanes) -> None:
    """Count the panes and retractions of a grouping, and the elements that came too late."""
    kinds = zip(out.panes.panes, out.panes.diffs, strict=True)
    for (timing, diff), number in Counter((pane.timing, diff) for pane, diff in kinds).items():
        if diff == RETRACT:
            metrics.retractions += number
        else:
            metrics.panes[timing.name] += number
    metrics.late_dropped += out.dropped
