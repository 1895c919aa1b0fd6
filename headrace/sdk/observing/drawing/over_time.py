"""Charts over processing time, with Vega-Altair: lines and stacked bars of series."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from importlib import import_module
from typing import Any, Final

import attrs

from headrace.sdk.observing.drawing.scales import TimeAxis, time_axis
from headrace.sdk.observing.packages import require

CHART_HEIGHT: Final = 170
BINS: Final = 60

DASHES: Final = ((1, 0), (7, 3), (2, 2), (9, 2, 2, 2))
"""The dashes of the first series, the second, and so on."""

Points = Sequence[tuple[int, float]]
"""(processing time, number), in order."""


@attrs.frozen
class Series:
    """A series of a chart.

    Attributes:
        name: its name in the legend.
        points: (time, number) in order.
        color: its colour; None for the next one of the palette, then for all series of the chart.
    """

    name: str
    points: Points
    color: str | None = None


def lines(
    series: Iterable[Series],
    axis: TimeAxis,
    title: str,
    up: TimeAxis | None = None,
    steps: bool = False,
) -> dict[str, Any]:
    """Return a chart of lines.

    Args:
        series: the lines.
        axis: the horizontal axis.
        title: title of the vertical axis.
        up: the vertical axis of times; None for plain numbers.
        steps: whether a number holds until the next one.
    """
    series = list(series)
    rows: list[dict[str, Any]] = [
        {
            "x": axis.number(now),
            "y": up.number(int(y)) if up else float(f"{y:.4g}"),
            "series": one.name,
        }
        for one in series
        for now, y in one.points
    ]
    alt = _altair()
    line = alt.Chart(alt.NamedData(name="series")).mark_line(
        interpolate="step-after" if steps else "linear",
        point={"size": 12} if len(rows) < 3 * len(series) else False,
        strokeWidth=1.8,
    )
    y = (
        alt.Y("y", type=up.type, scale=up.scale(), axis=up.axis())
        if up
        else alt.Y(
            "y:Q", axis=_numbers(title, [row["y"] for row in rows], steps), scale={"zero": True}
        )
    )
    return _spec(
        rows,
        line.encode(
            _x(alt, axis),
            y,
            *_colors(alt, series),
            tooltip=[alt.Tooltip("series:N"), alt.Tooltip("y:Q")],
        ),
    )


def bars(series: Iterable[Series], axis: TimeAxis, title: str) -> dict[str, Any]:
    """Return a chart of stacked bars: the sums of numbers in equal intervals of time.

    Args:
        series: what is summed.
        axis: the horizontal axis.
        title: title of the vertical axis.
    """
    series = list(series)
    alt = _altair()
    rows = _stacked(series, axis)
    bar = alt.Chart(alt.NamedData(name="series")).mark_rect()
    return _spec(
        rows,
        bar.encode(
            _x(alt, axis),
            alt.Y("y:Q", axis=_numbers(title, [row["y2"] for row in rows], whole=True)),
            _colors(alt, series)[0],
            alt.X2("x2"),
            alt.Y2("y2"),
            tooltip=[alt.Tooltip("series:N"), alt.Tooltip("number:Q")],
        ),
    )


def _stacked(series: Sequence[Series], axis: TimeAxis) -> list[dict[str, Any]]:
    """Return the parts of the bars; each series is on top of the series before it."""
    first, last = axis.bounds
    width = max(-(-(last - first) // BINS), 1)
    tops: Counter[int] = Counter()
    rows = []
    for one in series:
        for place, total in sorted(_sums(one.points, first, width).items()):
            rows.append(
                {
                    "x": axis.number(first + place * width),
                    "x2": axis.number(first + (place + 1) * width),
                    "y": tops[place],
                    "y2": tops[place] + total,
                    "number": total,
                    "series": one.name,
                }
            )
            tops[place] += total
    return rows


def _sums(points: Points, first: int, width: int) -> Counter[int]:
    sums: Counter[int] = Counter()
    for now, number in points:
        sums[min((now - first) // width, BINS - 1)] += int(number)
    return sums


def _altair() -> Any:
    require("altair", extra="report", needed_by="a chart")
    return import_module("altair")


def _x(alt: Any, axis: TimeAxis) -> Any:
    return alt.X("x", type=axis.type, scale=axis.scale(), axis=axis.axis())


def _numbers(title: str, values: Iterable[float], whole: bool = False) -> dict[str, Any]:
    most = max(values, default=0)
    shown = {"title": title, "tickCount": 4, "format": "~s" if most >= 1000 else "~r"}
    return {**shown, "values": list(range(int(most) + 1))} if whole and most <= 4 else shown


def _colors(alt: Any, series: Sequence[Series]) -> list[Any]:
    names = [one.name for one in series]
    colors = [one.color for one in series if one.color]
    own = {"range": colors} if colors else {}
    dashes = [list(DASHES[n % len(DASHES)]) for n in range(len(series))]
    return [
        alt.Color("series:N", scale={"domain": names, **own}, legend={"title": None}),
        alt.StrokeDash(
            "series:N", scale={"domain": names, "range": dashes}, legend={"title": None}
        ),
    ]


def _spec(rows: list[dict[str, Any]], chart: Any) -> dict[str, Any]:
    """Return the specification of a chart; Altair does not see its data, since that takes long."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "width": "container", "height": CHART_HEIGHT, "datasets": {"series": rows}}


def time_line(times: Sequence[int]) -> TimeAxis:
    """Return the horizontal axis for times in order, with a margin if there is only one.

    >>> time_line([0, 90_000_000]).title
    'processing time in s'
    """
    first, last = times[0], times[-1]
    return time_axis("processing time", (first, max(last, first + 1_000_000)))
