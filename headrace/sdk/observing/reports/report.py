"""The report of a run: one HTML page with the graph, charts and the picture of each grouping."""

from __future__ import annotations

import gzip
import json
import logging
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from html import escape
from importlib.resources import files
from itertools import chain
from pathlib import Path
from time import time_ns
from typing import Final

from headrace.sdk.metrics.run_records import RunOutline, StepOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.drawing.charts import over_time, pictures, theme
from headrace.sdk.observing.drawing.graph_image import TIMING_LABELS, graph_svg
from headrace.sdk.observing.drawing.marks import PANE_KINDS
from headrace.sdk.observing.history import History
from headrace.sdk.observing.packages import require_for
from headrace.sdk.observing.reports.vega_bundle import VegaBundle
from headrace.sdk.options.output_paths import check_file

_LOG: Final = logging.getLogger(__name__)

LARGEST_DATA: Final = 900_000
"""Maximum size of the charts of a report in bytes, compressed; Vega has as many again."""

MOST_KEYS: Final = 12
"""Maximum number of keys in a report, over all groupings."""


class HtmlReport(History):
    """Writes a report at the end of a run, also of one that fails.

    Args:
        path: the HTML file. It contains all that it needs, and loads nothing from a network.

    Raises:
        PipelineError: Altair or vl-convert is not installed, or the file cannot be written; the run does not
            start.

    >>> import headrace as hr
    >>> from headrace.sdk.metrics.observe_options import ObserveOptions
    >>> options = ObserveOptions([], report=getfixture("tmp_path") / "report.html")
    >>> with hr.Pipeline(options=options) as p:
    ...     _ = p | hr.Create([("ann", 5)]) | hr.CombinePerKey(sum)
    >>> options.report.read_text()[:15]
    '<!doctype html>'
    """

    def __init__(self, path: str | Path) -> None:
        super().__init__()
        self._given = path
        self._path = Path(path)
        self._vega = VegaBundle()

    def check(self) -> None:
        """Check that Altair and vl-convert are installed, and that the file can be written."""
        require_for("--report")
        check_file(self._given, "--report")

    def start(self, run: RunOutline) -> None:
        """Begin."""
        self._vega.begin()
        super().start(run)

    def end(self, state: str, error: BaseException | None = None) -> None:
        """End, and write the page."""
        super().end(state, error)
        page = report_page(self, self._vega.text(), time_ns() // 1000)
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(page, encoding="utf-8")
        _LOG.info("the report of the run is in %s", self._path)


def report_page(history: History, vega: str, ended: int) -> str:
    """Return the page.

    Args:
        history: the run.
        vega: the JavaScript of Vega, Vega-Lite and Vega-Embed.
        ended: time of the end of the run in microseconds since 1970.
    """
    run = history.run
    seconds = (ended - run.started) / 1e6 if run else 0.0
    data, left_out = chart_data(history)
    return _filled(
        _file("report.html"),
        {
            "job": escape(run.job if run else "run"),
            "name": escape(run.name if run else ""),
            "facts": "".join(_facts(history, seconds)),
            "error": f'<pre class="error">{escape(history.error)}</pre>' if history.error else "",
            "totals": "".join(_totals(history)),
            "graph": graph_svg(history, seconds),
            "table": _table(history),
            "thinned": escape(_thinned(history, left_out)),
            "css": _file("report.css"),
            "data": data,
            "vega": vega,
            "script": _file("report.js"),
        },
    )


def chart_data(history: History) -> tuple[str, int]:
    """Return the charts as compressed JSON in base 64, and how many keys are left out."""
    drawn = [chart._asdict() for chart in over_time(history)]
    chosen, left_out = chosen_keys(history)
    shown = [
        [chart._asdict() for chart in pictures(history, label, key, all_parts=True)]
        for label, key in chosen
    ]
    themes = {"light": theme(), "dark": theme(dark=True)}
    order = list(history.groupings)
    while True:
        charts = sorted(chain(*shown), key=lambda chart: order.index(chart["label"]))
        text = _compressed({"themes": themes, "over_time": drawn, "pictures": charts})
        if len(text) <= LARGEST_DATA:
            return text, left_out
        left_out += len(shown) - len(shown) // 2
        shown = shown[: len(shown) // 2]


def chosen_keys(history: History) -> tuple[list[tuple[str, str]], int]:
    """Return the labels and keys that a report shows, and how many more there are.

    The key of each grouping that says most comes first, then the second one of each, and so on.
    """
    found = [
        (number, order, label, key)
        for order, (label, samples) in enumerate(history.groupings.items())
        for number, key in enumerate(samples.ranked())
    ]
    chosen = [(label, key) for _, _, label, key in sorted(found)[:MOST_KEYS]]
    return chosen, len(found) - len(chosen)


def _compressed(data: object) -> str:
    text = json.dumps(data, separators=(",", ":"))
    return b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _file(name: str) -> str:
    return files("headrace.sdk.observing").joinpath("page", name).read_text(encoding="utf-8")


def _filled(template: str, parts: Mapping[str, str]) -> str:
    """Return a template with its parts; what is in a part is not read as a template."""
    return re.sub(r"\{\{(\w+)\}\}", lambda found: parts[found[1]], template)


def _facts(history: History, seconds: float) -> Iterator[str]:
    run = history.run
    yield f'<span class="state" data-state="{escape(history.state)}">{escape(history.state)}</span>'
    if run is not None:
        started = datetime.fromtimestamp(run.started / 1e6, UTC)
        mode = "streaming" if run.streaming else "batch"
        yield f"<span>{escape(run.runner)} runner, {mode} mode</span>"
        yield f"<span>started {started:%Y-%m-%d %H:%M:%S} UTC</span>"
        yield f"<span>took {duration(seconds)}</span>"


def duration(seconds: float) -> str:
    """Return a duration as text.

    >>> duration(0.25), duration(75), duration(7300)
    ('0.25 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def _totals(history: History) -> Iterator[str]:
    steps = history.run.steps if history.run else ()
    sources = {step.label for step in steps if not step.inputs}
    read = sum(history.totals[label].elements_out for label in sources)
    of_all = StepMetrics()
    for metrics in history.totals.values():
        of_all.add(metrics)
    state = sum(history.spans[-1].state.values()) if history.spans else 0
    numbers = {
        "elements read": read,
        **{f"{kind}s": of_all.panes[timing] for timing, kind in PANE_KINDS.items()},
        "retractions": of_all.retractions,
        "late, dropped": of_all.late_dropped,
        "states at the end": state,
    }
    for name, number in numbers.items():
        if number or name == "elements read":
            yield f"<div><dt>{escape(name)}</dt><dd>{number:,}</dd></div>"


_COLUMNS: Final = ("in", "out", *TIMING_LABELS.values(), "retractions", "dropped", "states")
_CLASSES: Final = ("", "", *(timing.lower() for timing in TIMING_LABELS), "retraction", "late", "")


def _table(history: History) -> str:
    steps = history.run.steps if history.run else ()
    names = ("step", "kind", *_COLUMNS, "properties")
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = "".join(_table_row(history, step) for step in steps)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _table_row(history: History, step: StepOutline) -> str:
    metrics = history.totals.get(step.label, StepMetrics())
    state = history.spans[-1].state if history.spans else {}
    numbers = (
        metrics.elements_in,
        metrics.elements_out,
        *(metrics.panes[timing] for timing in TIMING_LABELS),
        metrics.retractions,
        metrics.late_dropped,
        state.get(step.label, 0),
    )
    cells = "".join(
        f'<td class="number {name}">{number:,}</td>' if number else "<td></td>"
        for name, number in zip(_CLASSES, numbers, strict=True)
    )
    known = "; ".join(f"{name}: {text}" for name, text in step.properties.items())
    return (
        f"<tr><td>{escape(step.label)}</td><td>{escape(step.kind)}</td>{cells}"
        f"<td>{escape(known)}</td></tr>"
    )


def _thinned(history: History, left_out: int) -> str:
    texts = []
    if any(samples.thinned for samples in history.groupings.values()):
        texts.append("The pictures show a sample: some keys or windows are left out.")
    if left_out:
        texts.append(f"{left_out} more keys are left out.")
    return " ".join(texts)
