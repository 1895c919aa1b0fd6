"""The application of the live page: what it answers to each path.

The page itself is fixed. Everything of the run is JSON, and the page shows it as text, never as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from threading import Lock
from typing import Any, Final

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from headrace.sdk.observing.drawing.charts import TitledChart, over_time, pictures, theme
from headrace.sdk.observing.drawing.graph_image import graph_svg
from headrace.sdk.observing.live.guard import RequestGuard
from headrace.sdk.observing.live.plain_data import RunView, as_json, run_data
from headrace.sdk.observing.live.snapshot import first_moment, since
from headrace.sdk.observing.reports.vega_bundle import VegaBundle
from headrace.windowing.time.units import SECOND

JSON: Final = "application/json"
SVG: Final = "http://www.w3.org/2000/svg"
NOT_IN_XML: Final = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
SCRIPT: Final = "text/javascript"

_FILES: Final = {
    "/": ("live/live.html", "text/html"),
    "/live.css": ("live/live.css", "text/css"),
    "/live.js": ("live/live.js", SCRIPT),
    "/report.css": ("page/report.css", "text/css"),
}
"""The files of the page by path, with their media types."""


def live_app(view: Callable[[], RunView], hosts: frozenset[str] | None) -> ASGIApp:
    """Return the application.

    Args:
        view: returns what the page shows now.
        hosts: the hosts that a request may name; None for any.
    """
    charts = Charts(view)
    pages = [Route(path, _fixed(*page)) for path, page in _FILES.items()]
    routes = [
        Route("/run.json", lambda request: _json(_run(view(), request.query_params))),
        Route("/charts.json", charts.answer),
        Route("/graph.svg", lambda request: Response(_graph(view()), media_type="image/svg+xml")),
        Route("/vega.js", _vega()),
        Route("/health", lambda request: PlainTextResponse("ok\n")),
    ]
    return RequestGuard(Starlette(routes=pages + routes), hosts)


def _fixed(name: str, media_type: str) -> Callable[[Request], Response]:
    content = files("headrace.sdk.observing").joinpath(name).read_bytes()
    return lambda request: Response(content, media_type=media_type)


def _vega() -> Callable[[Request], Response]:
    """Return what answers with Vega; it is made when it is first asked for, once."""
    bundle, lock = VegaBundle(), Lock()

    def answer(request: Request) -> Response:
        with lock:
            return Response(bundle.text(), media_type=SCRIPT)

    return answer


def _json(data: object) -> Response:
    return Response(as_json(data), media_type=JSON)


def _run(view: RunView, query: Mapping[str, str]) -> dict[str, Any]:
    return run_data(view, spans=query.get("spans") != "0")


def _graph(view: RunView) -> bytes:
    """Return the graph as an image that is a document of its own."""
    spans = view.history.spans
    seconds = (spans[-1].end - spans[0].start) / SECOND if spans else 0
    image = graph_svg(view.history, seconds).replace("<svg", f'<svg xmlns="{SVG}"', 1)
    return NOT_IN_XML.sub("\N{REPLACEMENT CHARACTER}", image).encode()


class Charts:
    """Draws charts when they are asked for: one request at a time, and the same charts only once.

    Args:
        view: returns what the page shows now.
    """

    def __init__(self, view: Callable[[], RunView]) -> None:
        self._view, self._lock = view, Lock()
        self._drawn: tuple[object, bytes] = None, b""

    def answer(self, request: Request) -> Response:
        """Answer a request for charts."""
        query = request.query_params
        minutes = minutes_of(query)
        if minutes is not None and not 0 < minutes <= 1e6:
            return PlainTextResponse("minutes must be a number above 0, or all\n", 400)
        with self._lock:
            return Response(self._charts(query, minutes), media_type=JSON)

    def _charts(self, query: QueryParams, minutes: float | None) -> bytes:
        view = self._view()
        history = view.history
        rounds = sum(span.rounds for span in history.spans)
        known = (rounds, history.state, str(query))
        if self._drawn[0] != known:
            self._drawn = known, as_json(charts_data(view, query, minutes) | {"rounds": rounds})
        return self._drawn[1]


def minutes_of(query: Mapping[str, str]) -> float | None:
    """Return the minutes that a query asks for; None for all, -1 for something else.

    >>> minutes_of({"minutes": "5"}), minutes_of({}), minutes_of({"minutes": "many"})
    (5.0, None, -1.0)
    """
    given = query.get("minutes", "all")
    try:
        return None if given == "all" else float(given)
    except ValueError:
        return -1.0


def charts_data(
    view: RunView, query: Mapping[str, str], minutes: float | None
) -> dict[str, object]:
    """Return the charts over time, and the picture of the chosen grouping and key, as plain data."""
    first = first_moment(view.history, minutes)
    recent = since(view.history, first)
    grouping, key = _choice(view, query)
    drawn = (
        pictures(recent, grouping, key, first) if grouping is not None and key is not None else []
    )
    return {
        "grouping": grouping,
        "key": key,
        "over_time": [_chart(chart) for chart in over_time(recent)],
        "pictures": [_chart(chart) for chart in drawn],
        "themes": {"light": theme(dark=False), "dark": theme(dark=True)},
    }


def _chart(chart: TitledChart) -> dict[str, object]:
    return {"title": chart.title, "spec": chart.spec}


def _choice(view: RunView, query: Mapping[str, str]) -> tuple[str | None, str | None]:
    """Return the grouping and key of a query, or the first ones instead of those that do not exist."""
    groupings = view.history.groupings
    with_panes = [label for label, grouping in groupings.items() if grouping.panes]
    label = query.get("grouping")
    if label not in groupings:
        label = next(iter([*with_panes, *groupings]), None)
    keys = groupings[label].ranked() if label is not None else []
    key = query.get("key")
    return label, key if key in keys else next(iter(keys), None)
