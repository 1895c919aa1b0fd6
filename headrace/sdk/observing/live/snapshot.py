"""Copies of a history, taken while the run waits for a moment, and what a reader chooses of them."""

from __future__ import annotations

from collections import Counter
from copy import copy

import attrs

from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.history import GroupingHistory, History
from headrace.windowing.time.units import MINUTE


def snapshot(history: History) -> History:
    """Return a copy that does not change while the history goes on.

    Spans, elements and panes never change, so that only the lists of them are copied.
    """
    taken = copy(history)
    taken.spans = list(history.spans)
    taken.totals = {label: copied(metrics) for label, metrics in history.totals.items()}
    taken.groupings = {label: _copied(grouping) for label, grouping in history.groupings.items()}
    return taken


def copied(metrics: StepMetrics) -> StepMetrics:
    """Return a copy of metrics."""
    return attrs.evolve(metrics, panes=Counter(metrics.panes))


def _copied(grouping: GroupingHistory) -> GroupingHistory:
    return attrs.evolve(
        grouping,
        keys=list(grouping.keys),
        elements=list(grouping.elements),
        panes=list(grouping.panes),
        last=dict(grouping._last),
    )


def first_moment(history: History, minutes: float | None) -> int | None:
    """Return the processing time at which the last minutes of a run begin; None for all of it."""
    if minutes is None or not history.spans:
        return None
    return history.spans[-1].end - round(minutes * MINUTE)


def since(history: History, first: int | None) -> History:
    """Return a copy of a history with the rounds since a processing time; None for all."""
    narrowed = copy(history)
    narrowed.spans = [span for span in history.spans if first is None or span.end >= first]
    return narrowed
