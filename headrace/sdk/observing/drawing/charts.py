"""The charts of a run as Vega-Lite specifications, for a report and for the live page."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.drawing import theme as colors
from headrace.sdk.observing.drawing.layers import LINE_STYLES, spec_of
from headrace.sdk.observing.drawing.marks import PANE_KINDS, RETRACTION, thinned
from headrace.sdk.observing.drawing.over_time import Series, bars, lines, time_line
from headrace.sdk.observing.drawing.picture import marks_of_key
from headrace.sdk.observing.drawing.scales import UP, TimeAxis, time_axis
from headrace.sdk.observing.history import History, Span
from headrace.windowing.time.timestamps import END_OF_TIME_MICROS
from headrace.windowing.time.units import DAY

MOST_SERIES: Final = 6
"""Maximum number of steps in a chart."""

MOST_MARKS: Final = 250
"""Maximum number of elements, and of panes, in a picture."""


class TitledChart(NamedTuple):
    """A chart.

    Attributes:
        title: its title.
        spec: its specification in Vega-Lite, with its data, without a theme; as wide as its container.
        label: the label of the grouping that it shows; empty for a chart of the whole run.
        key: the key that it shows.
        part: which windows it shows, such as the last ones; empty for all.
    """

    title: str
    spec: dict[str, Any]
    label: str = ""
    key: str = ""
    part: str = ""


def theme(dark: bool = False) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for a light or dark page.

    >>> theme(dark=True)["background"]
    '#14181d'
    """
    return colors.config(dark)


def charts_of(history: History) -> list[TitledChart]:
    """Return all charts of a run: those over time, and the pictures of all groupings.

    Raises:
        PipelineError: Altair is not installed.
    """
    return [*over_time(history), *pictures(history)]


def pictures(
    history: History,
    label: str | None = None,
    key: str | None = None,
    since: int | None = None,
    most: int = MOST_MARKS,
    all_parts: bool = False,
) -> list[TitledChart]:
    """Return the pictures of groupings, one for each label and key.

    Args:
        history: the run.
        label: label of a grouping; None for all.
        key: a key; None for all that were sampled.
        since: the processing time of the first records in microseconds; None for all.
        most: maximum number of elements, and of panes, in a picture; every n-th is drawn.
        all_parts: whether to draw three parts of a key that has many windows; otherwise only the last one.
    """
    return [
        chart
        for name, samples in list(history.groupings.items())
        if label in (None, name)
        for one in samples.ranked()
        if key in (None, one)
        for chart in _pictures(history, name, one, since, most)[0 if all_parts else -1 :]
    ]


def _pictures(
    history: History, label: str, key: str, since: int | None, most: int
) -> list[TitledChart]:
    return [
        TitledChart(
            ", ".join(filter(None, [f"{label}: {key}" if key else label, part])),
            spec_of(thinned(marks, most)),
            label,
            key,
            part,
        )
        for part, marks in marks_of_key(history, label, key, since)
    ]


def over_time(history: History) -> list[TitledChart]:
    """Return the charts over processing time that have something to show.

    They are elements per second, panes by timing, retractions and dropped elements, batch time, state, and
    the lag of watermarks (or watermarks, if event time is far from processing time).
    """
    spans = list(history.spans)
    if len(spans) < 2:
        return []
    axis = time_line([span.end for span in spans])
    charts = (
        _throughput(history, spans, axis),
        _panes(spans, axis),
        _changes(spans, axis),
        _batch_time(spans, axis),
        _state(spans, axis),
        _watermarks(history, spans, axis),
    )
    return [chart for chart in charts if chart is not None]


def _throughput(history: History, spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    steps = history.run.steps if history.run else ()
    sources = [step.label for step in steps if not step.inputs][:MOST_SERIES]
    series = [Series(label, _rates(spans, label)) for label in sources]
    series = [one for one in series if one.points]
    title = "Elements per second"
    return TitledChart(title, lines(series, axis, "elements/s")) if series else None


def _rates(spans: Sequence[Span], label: str) -> list[tuple[int, float]]:
    """Return the elements per second of a step, in intervals of at least a sixtieth of the run."""
    least = max((spans[-1].end - spans[0].end) // 60, 1)
    rates: list[tuple[int, float]] = []
    since, read = spans[0].end, 0
    for span in spans[1:]:
        read += span.steps[label].elements_out if label in span.steps else 0
        if span.end - since >= least:
            rates.append((span.end, read * 1e6 / (span.end - since)))
            since, read = span.end, 0
    return rates


def _panes(spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    series = [
        Series(kind, _sums(spans, _count_panes(timing)), LINE_STYLES[kind][0])
        for timing, kind in PANE_KINDS.items()
    ]
    return _bars("Panes by timing", series, axis, "panes")


def _count_panes(timing: str) -> Callable[[StepMetrics], int]:
    return lambda metrics: metrics.panes[timing]


def _changes(spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    series = [
        Series(RETRACTION, _sums(spans, lambda metrics: metrics.retractions), colors.RETRACTED),
        Series("late, dropped", _sums(spans, lambda metrics: metrics.late_dropped), colors.LATE),
    ]
    return _bars("Retractions and dropped late elements", series, axis, "number")


def _bars(title: str, series: Iterable[Series], axis: TimeAxis, unit: str) -> TitledChart | None:
    series = [one for one in series if one.points]
    return TitledChart(title, bars(series, axis, unit)) if series else None


def _sums(spans: Iterable[Span], count: Callable[[StepMetrics], int]) -> list[tuple[int, float]]:
    sums = ((span.end, sum(map(count, span.steps.values()))) for span in spans)
    return [(now, found) for now, found in sums if found]


def _batch_time(spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    """Return the time that a round takes; where one point stands for many rounds, also the longest."""
    timed = [span for span in spans if span.seconds]
    series = [Series("mean", [(span.end, span.seconds / span.rounds) for span in timed])]
    if any(span.rounds > 1 for span in timed):
        series.append(Series("longest", [(span.end, span.longest) for span in timed]))
    return TitledChart("Batch time", lines(series, axis, "s")) if timed else None


def _state(spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    most: dict[str, int] = {}
    for span in spans:
        most.update({label: max(n, most.get(label, 0)) for label, n in span.state.items()})
    labels = sorted((label for label in most if most[label]), key=lambda label: -most[label])
    series = [
        Series(label, [(span.end, span.state.get(label, 0)) for span in spans])
        for label in labels[:MOST_SERIES]
    ]
    chart = lines(series, axis, "states", steps=True) if series else None
    return TitledChart("Stored states", chart) if chart else None


def _watermarks(history: History, spans: Sequence[Span], axis: TimeAxis) -> TitledChart | None:
    steps = history.run.steps if history.run else ()
    labels = list(history.groupings) or [step.label for step in steps if not step.inputs]
    points = {label: list(_known(spans, label)) for label in labels}
    points = {label: found for label, found in points.items() if found}
    if not points:
        return None
    lags = [now - watermark for found in points.values() for now, watermark in found]
    if min(map(abs, lags)) > DAY:  # a replay of old data
        return _lines("Watermarks", "watermark", points, axis, None)
    behind = {name: [(now, now - at) for now, at in found] for name, found in points.items()}
    return _lines("Lag of the watermark", "lag", behind, axis, 0)


def _lines(
    title: str,
    unit: str,
    points: dict[str, list[tuple[int, int]]],
    axis: TimeAxis,
    relative_to: int | None,
) -> TitledChart:
    values = [value for found in points.values() for _, value in found]
    bounds = min([*values, *([] if relative_to is None else [relative_to])]), max(values)
    up = time_axis(unit, (bounds[0], max(bounds[1], bounds[0] + 1_000_000)), relative_to, UP)
    series = [Series(name, found) for name, found in list(points.items())[:MOST_SERIES]]
    return TitledChart(title, lines(series, axis, unit, up, steps=True))


def _known(spans: Iterable[Span], label: str) -> Iterator[tuple[int, int]]:
    """Yield the watermark of a step at each span, as far as it is known and has not ended."""
    for span in spans:
        watermark = span.steps[label].watermark if label in span.steps else END_OF_TIME_MICROS
        if abs(watermark) < END_OF_TIME_MICROS:
            yield span.end, watermark
