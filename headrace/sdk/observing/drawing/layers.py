"""Draws marks with Vega-Altair: one layer for each kind of mark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

import attrs

from headrace.sdk.metrics.run_records import SHOWN
from headrace.sdk.observing.drawing.labels import (
    CHARACTER,
    HEIGHT,
    PAGE_WIDTH,
    Label,
    long,
    room_for,
    shares,
    short,
)
from headrace.sdk.observing.drawing.legend import ACTUAL, IDEAL, WINDOW_MARK, legend
from headrace.sdk.observing.drawing.marks import (
    ELEMENT,
    LATE_ELEMENT,
    PANE_KINDS,
    RETRACTED_ELEMENT,
    RETRACTION,
    Bounds,
    Line,
    Marks,
)
from headrace.sdk.observing.drawing.scales import TimeAxis, axes_of
from headrace.sdk.observing.drawing.theme import (
    CIRCLE,
    EARLY,
    HALO,
    LATE,
    MIDDLE,
    ON_TIME,
    RETRACTED,
    RETRACTED_VALUE,
    VALUE,
    WATERMARK,
)
from headrace.sdk.observing.packages import require

if TYPE_CHECKING:
    from altair import LayerChart

LINE_STYLES: Final = {
    PANE_KINDS["EARLY"]: (EARLY, [8, 3]),
    PANE_KINDS["ON_TIME"]: (ON_TIME, [1, 0]),
    PANE_KINDS["LATE"]: (LATE, [3, 2]),
    PANE_KINDS["UNKNOWN"]: (ON_TIME, [1, 0]),
    RETRACTION: (RETRACTED, [1, 2]),
    ACTUAL: (WATERMARK, [1, 0]),
    IDEAL: (MIDDLE, [6, 5]),
}
"""The colour and the dashes of each kind of line."""

RINGS: Final = {ELEMENT: "transparent", LATE_ELEMENT: LATE, RETRACTED_ELEMENT: RETRACTED}
"""The colour of the ring around each kind of element."""

LABELLED_ELEMENTS: Final = 40
"""Maximum number of elements with their value in a circle; more are dots."""

_SHOWN: Final = SHOWN
"""Maximum length of a value in a tooltip."""

VALUE_OFFSETS: Final = (-9, 13)
"""Distance of the value of a pane, and of a retraction, below its line, in pixels."""

_LETTERS: Final = f"floor((datum.share * width - 4) / {CHARACTER})"
_FORM: Final = (
    f"isString(datum.long) && {_LETTERS} > length(datum.text) "
    f"? truncate(datum.long, {_LETTERS}) : datum.text"
)
"""As much of a value as there is room for, in Vega's expressions."""

MarkRow = dict[str, Any]


def chart_of(marks: Marks, *, title: str = "", width: int | str = PAGE_WIDTH) -> LayerChart:
    """Return the chart of marks, which a notebook shows.

    Args:
        marks: the marks.
        title: its title.
        width: width in pixels, or ``"container"`` for the width of the page.

    Raises:
        PipelineError: Altair is not installed.
    """
    chart, data = _drawn(marks)
    named = {"title": title} if title else {}
    drawn: LayerChart = chart.properties(width=width, height=HEIGHT, datasets=data, **named)
    return drawn


def spec_of(marks: Marks) -> dict[str, Any]:
    """Return the specification of the chart, as wide as its container.

    It is not validated, and Altair does not see its data, since either would take most of the time.
    """
    with import_module("altair.utils.schemapi").debug_mode(False):
        chart, data = _drawn(marks)
        spec: dict[str, Any] = chart.to_dict(validate=False)
    return {**spec, "width": "container", "height": HEIGHT, "datasets": data}


def _drawn(marks: Marks) -> tuple[Any, dict[str, list[MarkRow]]]:
    """Return the layers without data, and the data of each."""
    canvas = _Canvas.of(marks)
    rows = _pane_rows(canvas, marks)
    layers = [
        *_boxes(canvas, marks),
        *_watermarks(canvas, marks),
        *_panes(canvas, rows),
        *_elements(canvas, marks),
        *_values(canvas, rows),
    ]
    return canvas.alt.layer(*layers or [_nothing(canvas)]), canvas.data


@attrs.frozen
class _Canvas:
    """Common parts of the layers: the axes, and the colours of lines with their legend."""

    alt: Any
    event: TimeAxis
    processing: TimeAxis
    x: Any
    y: Any
    kind: tuple[Any, Any]
    data: dict[str, list[MarkRow]] = attrs.field(factory=dict)

    @staticmethod
    def of(marks: Marks) -> _Canvas:
        alt = _altair()
        event, processing = axes_of(marks.event_time, marks.processing_time)
        x = alt.X("x", type=event.type, scale=event.scale(), axis=event.axis())
        y = alt.Y("y", type=processing.type, scale=processing.scale(), axis=processing.axis())
        return _Canvas(alt, event, processing, x, y, _kinds(alt, marks))

    def layer(self, name: str, rows: Iterable[MarkRow]) -> Any:
        self.data[name] = list(rows)
        return self.alt.Chart(self.alt.NamedData(name=name))

    def place(self, across: int, up: int) -> MarkRow:
        return {"x": self.event.number(across), "y": self.processing.number(up)}

    def span(self, start: int, end: int, up: int) -> MarkRow:
        return {**self.place(start, up), "x2": self.event.number(end)}

    def share(self, across: int, up: int) -> tuple[float, float]:
        """Return a place as shares of the width and height."""
        (x0, x1), (y0, y1) = self.event.bounds, self.processing.bounds
        return (across - x0) / (x1 - x0), (up - y0) / (y1 - y0)

    def tooltip(self, **titles: str) -> list[Any]:
        """Return a tooltip of fields by their titles; the fields x, x2 and y are times."""
        axes = {"x": self.event, "x2": self.event, "y": self.processing}
        return [
            self.alt.Tooltip(field, title=title, **_tooltip_format(axes.get(field)))
            for field, title in titles.items()
        ]


def _altair() -> Any:
    require("altair", extra="report", needed_by="a picture")
    return import_module("altair")


def _tooltip_format(axis: TimeAxis | None) -> dict[str, str]:
    if axis is None:
        return {"type": "nominal"}
    plain = {"type": axis.type}
    return {**plain, "timeUnit": "utcyearmonthdatehoursminutesseconds"} if axis.ticks else plain


def _kinds(alt: Any, marks: Marks) -> tuple[Any, Any]:
    """Return the encoding of the kind of a line; the legend lists those that are in the picture."""
    there = {line.kind for line in marks.lines}
    there |= {kind for kind, some in ((ACTUAL, marks.watermark), (IDEAL, marks.ideal)) if some}
    kinds = [kind for kind in LINE_STYLES if kind in there]
    shown = legend(alt, symbolType="stroke", symbolSize=500, symbolStrokeWidth=2.5)
    colors, dashes = (
        [LINE_STYLES[kind][0] for kind in kinds],
        [LINE_STYLES[kind][1] for kind in kinds],
    )
    return (
        alt.Color("kind:N", scale={"domain": kinds, "range": colors}, legend=shown),
        alt.StrokeDash("kind:N", scale={"domain": kinds, "range": dashes}, legend=shown),
    )


def _nothing(canvas: _Canvas) -> Any:
    return canvas.layer("nothing", []).mark_point().encode(canvas.x, canvas.y)


def _boxes(canvas: _Canvas, marks: Marks) -> list[Any]:
    rows: list[MarkRow] = [
        {**canvas.span(box.start, box.end, box.first), "y2": canvas.processing.number(box.last)}
        for box in marks.boxes
    ]
    mark = canvas.layer("windows", rows).mark_rect(
        fillOpacity=0.14, stroke=MIDDLE, strokeOpacity=0.5, strokeWidth=0.8
    )
    mark = mark.transform_calculate(kind=f"'{WINDOW_MARK}'")
    x2, y2 = canvas.alt.X2("x2"), canvas.alt.Y2("y2")
    return [mark.encode(canvas.x, canvas.y, x2, y2, _window_fill(canvas.alt))] if rows else []


def _window_fill(alt: Any) -> object:
    shown = legend(alt, symbolType="square", symbolSize=160, symbolOpacity=0.35)
    scale = {"domain": [WINDOW_MARK], "range": [MIDDLE]}
    return alt.Fill("kind:N", scale=scale, legend=shown)


def _watermarks(canvas: _Canvas, marks: Marks) -> list[object]:
    lines = [(IDEAL, marks.ideal, 1.5), (ACTUAL, marks.watermark, 3.0)]
    return [_curve(canvas, kind, points, width) for kind, points, width in lines if points]


def _curve(canvas: _Canvas, kind: str, points: Iterable[Bounds], width: float) -> Any:
    rows = [{**canvas.place(*point), "kind": kind, "n": n} for n, point in enumerate(points)]
    line = canvas.layer(kind, rows).mark_line(strokeWidth=width, opacity=0.85, clip=True)
    return line.encode(canvas.x, canvas.y, *canvas.kind, canvas.alt.Order("n:Q"))


def _elements(canvas: _Canvas, marks: Marks) -> list[Any]:
    if not marks.dots:
        return []
    few = len(marks.dots) <= LABELLED_ELEMENTS and all(
        len(short(dot.value)) < 5 for dot in marks.dots
    )
    rows: list[MarkRow] = [
        {**canvas.place(dot.timestamp, dot.now), "kind": dot.kind, "value": str(dot.value)[:_SHOWN]}
        for dot in marks.dots
    ]
    for row, dot in zip(rows, marks.dots, strict=True):
        row |= {"text": short(dot.value)} if few else {}
    points = canvas.layer("elements", rows).mark_point(
        filled=True,
        **({"style": CIRCLE} if few else {"fill": MIDDLE}),
        size=260 if few else 22,
        strokeWidth=2.5 if few else 1.5,
        strokeOpacity=1,
        opacity=1,
    )
    tooltip = canvas.tooltip(value="element", kind="kind", x="event time", y="processing time")
    points = points.encode(canvas.x, canvas.y, _rings(canvas.alt, rows), tooltip=tooltip)
    texts = (
        canvas.layer("elements", rows)
        .mark_text(fontSize=11)
        .encode(canvas.x, canvas.y, text="text:N")
    )
    return [points, texts] if few else [points]


def _rings(alt: Any, rows: Sequence[MarkRow]) -> object:
    there = {row["kind"] for row in rows}
    kinds = [kind for kind in RINGS if kind in there]
    scale = {"domain": kinds, "range": [RINGS[kind] for kind in kinds]}
    shown = legend(
        alt,
        symbolType="circle",
        symbolFillColor=MIDDLE,
        symbolOpacity=0.9,
        symbolSize=120,
        symbolStrokeWidth=2.5,
    )
    return alt.Stroke("kind:N", scale=scale, legend=shown)


def _pane_rows(canvas: _Canvas, marks: Marks) -> list[MarkRow]:
    """Return the rows of panes and retractions, with the places of their values as far as there is room."""
    dots = [canvas.share(dot.timestamp, dot.now) for dot in marks.dots[:LABELLED_ELEMENTS]]
    rows = [_pane_row(canvas, line, dots) for line in marks.lines]
    last: Mapping[Bounds, int] = {(line.start, line.end): n for n, line in enumerate(marks.lines)}
    shown_first = frozenset(last.values())
    order = sorted(range(len(rows)), key=lambda n: (n not in shown_first, n))
    labels = [_label(canvas, marks.lines[n], rows[n]) for n in order]
    room = room_for(labels)
    for n, width, share in zip(order, room, shares(labels, room, dots), strict=True):
        rows[n]["room"] = width
        if "long" in rows[n]:
            rows[n]["share"] = round(share, 3)
    return rows


def _pane_row(canvas: _Canvas, line: Line, dots: Sequence[tuple[float, float]]) -> MarkRow:
    sign = "−" if line.kind == RETRACTION else ""
    full = long(line.value)
    return {
        **({} if full == short(line.value) else {"long": sign + full}),
        **canvas.span(line.start, line.end, line.now),
        "kind": line.kind,
        "value": (sign + str(line.value))[:_SHOWN],
        "text": sign + short(line.value),
        "pane": line.pane_index,
        "at": canvas.event.number(_free_place(canvas, line, dots)),
    }


def _free_place(canvas: _Canvas, line: Line, dots: Sequence[tuple[float, float]]) -> int:
    """Return the event time at which the value of a line stands: the middle, or where no element is."""
    length = line.end - line.start
    places = [line.start + int(length * share) for share in (0.5, 0.25, 0.75)]

    def is_free(place: int) -> bool:
        x, y = canvas.share(place, line.now)
        y += VALUE_OFFSETS[line.kind == RETRACTION] / -HEIGHT
        return not any(abs(x - a) < 0.035 and abs(y - b) < 0.055 for a, b in dots)

    return next(filter(is_free, places), places[0])


def _label(canvas: _Canvas, line: Line, row: MarkRow) -> Label:
    _, y = canvas.share(line.start, line.now)
    (x0, x1) = canvas.event.domain
    offset = VALUE_OFFSETS[line.kind == RETRACTION]
    return Label((row["at"] - x0) / (x1 - x0), y - offset / HEIGHT, row["text"])


def _panes(canvas: _Canvas, rows: Sequence[MarkRow]) -> list[object]:
    back = [row for row in rows if row["kind"] == RETRACTION]
    forth = [row for row in rows if row["kind"] != RETRACTION]
    return [
        *_rules(canvas, "retractions", back, offset=4),
        *_rules(canvas, "panes", forth, offset=0),
    ]


def _rules(canvas: _Canvas, name: str, rows: Sequence[MarkRow], offset: int) -> list[Any]:
    rule = canvas.layer(name, rows).mark_rule(strokeWidth=3, yOffset=offset)
    x2, tooltip = canvas.alt.X2("x2"), _pane_tooltip(canvas)
    encoded = rule.encode(canvas.x, canvas.y, *canvas.kind, x2, tooltip=tooltip)
    return [encoded] if rows else []


def _pane_tooltip(canvas: _Canvas) -> list[object]:
    """Return the tooltip of a pane's line and of its value."""
    return canvas.tooltip(
        value="value", kind="kind", pane="pane", x="window from", x2="to", y="processing time"
    )


def _values(canvas: _Canvas, rows: Sequence[MarkRow]) -> list[Any]:
    back = [row for row in rows if row["kind"] == RETRACTION]
    forth = [row for row in rows if row["kind"] != RETRACTION]
    return [
        *_texts(canvas, "retractions", back, style=RETRACTED_VALUE, dy=VALUE_OFFSETS[True]),
        *_texts(canvas, "panes", forth, style=VALUE, dy=VALUE_OFFSETS[False]),
    ]


def _texts(canvas: _Canvas, name: str, rows: Sequence[MarkRow], style: str, dy: int) -> list[Any]:
    """Return texts, over a halo that keeps them legible on lines; in their long form if there is room."""
    shown = canvas.layer(name, rows).transform_filter("datum.room <= width")
    if any("long" in row for row in rows):
        shown = shown.transform_calculate(text=_FORM)
    event = canvas.event
    x = canvas.alt.X("at", type=event.type, scale=event.scale(), axis=event.axis())
    font = {"dy": dy, "fontSize": 12, "fontWeight": 600}
    halo = shown.mark_text(**font, style=HALO, tooltip=None)
    text = shown.mark_text(**font, style=style)
    halo, text = (mark.encode(x, canvas.y, canvas.alt.Text("text:N")) for mark in (halo, text))
    return [halo, text.encode(tooltip=_pane_tooltip(canvas))] if rows else []
