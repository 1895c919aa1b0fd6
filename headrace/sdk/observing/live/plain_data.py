"""A run as plain data: the answer to ``/run.json``, which the how-to guide on observing runs documents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any, Final

import attrs

from headrace.sdk.metrics.cells import DistributionResult, GaugeResult, MetricResult, MetricResults
from headrace.sdk.metrics.run_records import SHOWN, StepOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.history import GroupingHistory, History, Span
from headrace.sdk.observing.live.recent_logs import LoggedRecord
from headrace.sdk.pipelines.result import PipelineState
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS
from headrace.windowing.time.units import SECOND

RATE_SECONDS: Final = 30
"""Over how much processing time rates are computed while a run goes on."""

SHOWN_ROWS: Final = 10
"""Number of rows of a view that are shown."""

PlainData = dict[str, Any]


@attrs.frozen
class RunView:
    """The content of the live page at one moment.

    Attributes:
        history: a snapshot of the history.
        logs: the last warnings and errors, the last one first.
        engine: numbers of the engine about the last round, by name.
        metrics: user-defined metrics.
    """

    history: History
    logs: list[LoggedRecord]
    engine: Mapping[str, float]
    metrics: list[PlainData]


def run_data(view: RunView, spans: bool = True) -> PlainData:
    """Return a run as plain data.

    Args:
        view: the run.
        spans: whether to include the metrics over time.
    """
    history = view.history
    found = {
        "run": _outline(history),
        "state": history.state,
        "error": history.error,
        "rounds": sum(span.rounds for span in history.spans),
        "now": history.spans[-1].end if history.spans else None,
        "steps": [_step(step, history) for step in history.run.steps] if history.run else [],
        "groupings": [_grouping(*item) for item in history.groupings.items()],
        "views": views_data(history.run.steps if history.run else ()),
        "metrics": view.metrics,
        "engine": dict(view.engine),
        "logs": [attrs.asdict(record) for record in view.logs],
    }
    return found | ({"spans": [_span(span) for span in history.spans]} if spans else {})


def _outline(history: History) -> PlainData | None:
    run = history.run
    if run is None:
        return None
    return {
        "name": run.name,
        "job": run.job,
        "runner": run.runner,
        "streaming": run.streaming,
        "started": run.started,
    }


def _step(step: StepOutline, history: History) -> PlainData:
    totals = history.totals[step.label]
    return {
        "label": step.label,
        "kind": step.kind,
        "inputs": list(step.inputs),
        "properties": dict(step.properties),
        "groups": step.groups,
        "place": step.place,
        "totals": step_data(totals),
        "rates": rates(history, step.label),
        "lag": lag(history, totals.watermark),
        "state": history.spans[-1].state.get(step.label) if history.spans else None,
    }


def views_data(steps: Iterable[StepOutline]) -> list[PlainData]:
    """Return the first rows of each table that a run keeps up to date, as text.

    >>> views_data(
    ...     [StepOutline("View", "Write", (), first_rows=lambda limit: [{"place": "quay", "n": 8}])]
    ... )
    [{'label': 'View', 'columns': ['place', 'n'], 'rows': [['quay', '8']]}]
    """
    return [
        _view(step.label, step.first_rows(SHOWN_ROWS) or [])
        for step in steps
        if step.first_rows is not None
    ]


def _view(label: str, rows: Sequence[Mapping[str, object]]) -> PlainData:
    cells = [["" if v is None else str(v)[:SHOWN] for v in row.values()] for row in rows]
    return {"label": label, "columns": list(rows[0]) if rows else [], "rows": cells}


def step_data(metrics: StepMetrics) -> PlainData:
    """Return the metrics of a step as plain data.

    >>> step_data(StepMetrics(elements_in=3))["elements_in"]
    3
    """
    return {
        "elements_in": metrics.elements_in,
        "elements_out": metrics.elements_out,
        "late_dropped": metrics.late_dropped,
        "panes": dict(metrics.panes),
        "retractions": metrics.retractions,
        "watermark": metrics.watermark,
    }


def _span(span: Span) -> PlainData:
    return {
        "start": span.start,
        "end": span.end,
        "rounds": span.rounds,
        "seconds": span.seconds,
        "longest": span.longest,
        "steps": {label: step_data(metrics) for label, metrics in span.steps.items()},
        "state": span.state,
    }


def _grouping(label: str, grouping: GroupingHistory) -> PlainData:
    return {"label": label, "keys": grouping.ranked(), "thinned": grouping.thinned}


def rates(history: History, label: str) -> PlainData | None:
    """Return the elements per second of a step: in the last half minute, or over a whole run that has ended.

    The time before the end of the first round is unknown, so that it does not count.
    """
    spans = history.spans
    if PipelineState.is_terminal(history.state):
        before = 0
    else:
        first = spans[-1].end - RATE_SECONDS * SECOND if spans else 0
        before = max(next((n for n, s in enumerate(spans) if s.end >= first), 0) - 1, 0)
    seconds = (spans[-1].end - spans[before].end) / SECOND if spans else 0
    if seconds <= 0:
        return None
    steps = [span.steps.get(label, StepMetrics()) for span in spans[before + 1 :]]
    return {
        "elements_in": sum(step.elements_in for step in steps) / seconds,
        "elements_out": sum(step.elements_out for step in steps) / seconds,
    }


def lag(history: History, watermark: int) -> float | None:
    """Return by how many seconds a watermark is behind processing time; None at either end of time."""
    if not history.spans or abs(watermark) >= END_OF_TIME_MICROS:
        return None
    return (history.spans[-1].end - watermark) / SECOND


def metrics_data(results: MetricResults) -> list[PlainData]:
    """Return user-defined metrics as plain data.

    >>> metrics_data(MetricResults({}))
    []
    """
    return [_metric(metric) for kind in results.query().values() for metric in kind]


def _metric(metric: MetricResult) -> PlainData:
    value = metric.committed
    if isinstance(value, GaugeResult):
        value = value.value
    elif isinstance(value, DistributionResult):
        value = attrs.asdict(value)
    name = metric.key.metric
    return {"step": metric.key.step, "namespace": name.namespace, "name": name.name, "value": value}


def as_json(data: object) -> bytes:
    """Return plain data as JSON; floats that JSON does not have, such as NaN, become texts.

    >>> as_json({"mean": float("nan")})
    b'{"mean": "nan"}'
    """
    try:
        return json.dumps(data, allow_nan=False).encode()
    except ValueError:
        return json.dumps(_finite(data), allow_nan=False).encode()


def _finite(data: object) -> object:
    if isinstance(data, float) and not isfinite(data):
        return str(data)
    if isinstance(data, Mapping):
        return {name: _finite(value) for name, value in data.items()}
    return [_finite(value) for value in data] if isinstance(data, list | tuple) else data
