"""Draws the figures of the paper and the book from runs, into docs/pictures, and writes the page about them.

    python tools/pictures.py            # run, draw and write
    python tools/pictures.py --check    # run, and fail if a picture or the page is not current
    python tools/pictures.py --screens  # run the flights job; take screenshots of its pages, and of Spark's

Each picture has a digest of its data; the check compares that, since the letters of an image depend on the
fonts of a machine.
"""

from __future__ import annotations

import json
import re
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from runpy import run_path
from tempfile import TemporaryDirectory
from typing import Any

import vl_convert

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import headrace as hr  # noqa: E402
from headrace.sdk.observing.drawing.charts import over_time, pictures  # noqa: E402
from headrace.sdk.observing.drawing.graph_image import graph_svg  # noqa: E402
from headrace.sdk.observing.drawing.theme import config, dark_rules  # noqa: E402
from headrace.sdk.observing.history import History, SeenPane  # noqa: E402
from headrace.sdk.observing.live import LivePage  # noqa: E402
from headrace.sdk.observing.reports.report import HtmlReport  # noqa: E402
from headrace.testing import TestStream  # noqa: E402
from headrace.transforms.timeutil import TimeDomain  # noqa: E402
from headrace.transforms.userstate import (  # noqa: E402
    ReadModifyWriteStateSpec,
    TimerSpec,
    on_timer,
)
from headrace.windowing.window import GLOBAL_WINDOW  # noqa: E402
from tests.model.figures import END, MINUTE, SECOND, Case, Expected, cases  # noqa: E402
from tests.model.test_figures import stream, windowing  # noqa: E402
from tests.unit.sdk.observing import chromium  # noqa: E402

PICTURES = ROOT / "docs" / "pictures"
PAGE = ROOT / "docs" / "explanation" / "figures.md"
TUTORIAL = ROOT / "docs" / "tutorial" / "corrections.md"
WIDTH = 640

TEXTS = {
    "dataflow_model": '"The Dataflow Model" (VLDB 2015)',
    "streaming_systems": '"Streaming Systems" (O\'Reilly 2018)',
}

HEAD = """# The figures of the paper, drawn from runs

Each picture on this page is a run of Headrace on the numbers of a figure in "The Dataflow Model" or in
the book "Streaming Systems". Event time goes to the right, processing time goes up. A circle is an element,
with a ring if it is late. A box is a window, from its first firing to its last one. A line across it is a
pane with its value, or a retraction, with the value below the line. The blue line is the watermark. The ideal
watermark, on which both times are equal, is dashed.

The table below each picture compares the published panes with the panes of the run.
[Conformance](../reference/conformance.md) compares other runners with the same figures. `python
tools/pictures.py` draws the pictures; [Watch a run](../how-to/observe.md) shows how to draw such a picture of
your own run.
"""


def main() -> int:
    """Draw the pictures and write the page, or compare them; return 1 if they differ."""
    parser = ArgumentParser(description="Draws the figures of the paper and the book from runs.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail on a difference")
    parser.add_argument("--screens", action="store_true", help="take screenshots, with Chromium")
    args = parser.parse_args()
    if args.screens:
        take_screenshots()
        return 0
    check = args.check
    runs = [(case, run(case)) for case in cases()]
    specs = {file_name(case): pictures(history)[0].spec for case, history in runs}
    specs["state.svg"] = stored_states()
    specs["corrections.svg"] = corrections()
    stale = [name for name, spec in specs.items() if not drawn(name, spec, check)]
    stale += (
        []
        if written(PICTURES / "side-input.svg", side_input_graph(), check)
        else ["side-input.svg"]
    )
    text = page(runs)
    stale += [] if written(PAGE, text, check) else [PAGE.name]
    if stale:
        print(f"not current: {', '.join(stale)}; run python tools/pictures.py", file=sys.stderr)
    return 1 if stale else 0


def run(case: Case) -> History:
    """Run a case, and return its history."""
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        _ = p | stream(case) | windowing(case) | "sum" >> hr.CombinePerKey(sum)
    return history


def file_name(case: Case) -> str:
    """Return the name of the picture of a case."""
    source, figure = case.name.split(": ")
    name = ("figure-" if source == "dataflow_model" else "book-") + figure.lower()
    return re.sub(r"[^a-z0-9]+", "-", name) + ".svg"


def drawn(name: str, spec: dict[str, Any], check: bool) -> bool:
    """Draw a chart, or compare only; return whether its picture is current."""
    spec = {**spec, "width": WIDTH, "config": config()}
    digest = sha256(json.dumps(spec["datasets"], sort_keys=True).encode()).hexdigest()[:16]
    path = PICTURES / name
    if not check:
        PICTURES.mkdir(exist_ok=True)
        path.write_text(image(spec, digest))
    return path.exists() and f"<!-- data {digest} -->" in path.read_text()


def written(path: Path, text: str, check: bool) -> bool:
    """Write a file, or compare only; return whether it is current."""
    if not check:
        path.write_text(text)
    return path.exists() and path.read_text() == text


def image(spec: dict[str, Any], digest: str) -> str:
    """Return the SVG image, which is dark where the reader's system is."""
    svg = vl_convert.vegalite_to_svg(spec)
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{dark_rules()}\n}}</style>"
    opening, rest = svg.split(">", 1)
    rest = re.sub(r' aria-[a-z]+="[^"]*"', "", rest)
    return f"{opening}><!-- data {digest} -->{style}{rest}\n"


class Unpaid(hr.DoFn):
    """Remembers the price of an order until it is paid, or for 30 minutes; reports it then."""

    PRICE = ReadModifyWriteStateSpec("price")
    DEADLINE = TimerSpec("deadline", TimeDomain.WATERMARK)

    def process(
        self,
        element: Any,
        time: Any = hr.DoFn.TimestampParam,
        price: Any = hr.DoFn.StateParam(PRICE),
        deadline: Any = hr.DoFn.TimerParam(DEADLINE),
    ) -> None:
        if element[1] == "paid":
            price.clear()
            deadline.clear()
        else:
            price.write(element[1])
            deadline.set(time + 30 * 60)

    @on_timer(DEADLINE)
    def late(self, price: Any = hr.DoFn.StateParam(PRICE)) -> Iterator[Any]:
        yield price.read()
        price.clear()


def stored_states() -> dict[str, Any]:
    """Return the chart of the states of orders, which are paid after 20 minutes, or never."""
    script = TestStream().advance_processing_time(8 * 3600)
    for minute in range(0, 120, 2):
        now = (8 * 60 + minute) * 60
        events = [(f"order {minute}", 5)] if minute < 80 else []
        events += [(f"order {minute - 20}", "paid")] if minute in range(20, 60) else []
        script = script.advance_watermark_to(now)
        script = script.add_elements([hr.TimestampedValue(event, now) for event in events])
        script = script.advance_processing_time(120)
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        _ = p | script.advance_watermark_to_infinity() | "Unpaid" >> hr.ParDo(Unpaid())
    return next(chart.spec for chart in over_time(history) if chart.title == "Stored states")


def corrections() -> dict[str, Any]:
    """Return the picture of the revenue in the tutorial's program, which its page contains."""
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", TUTORIAL.read_text(), re.DOTALL)
    for code in blocks[:2]:
        exec(compile(code, str(TUTORIAL), "exec", dont_inherit=True), names)
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        _ = names["revenue"](p)
    return next(chart.spec for chart in pictures(history) if chart.title.startswith("Revenue"))


def side_input_graph() -> str:
    """Return the graph of a program with a side input as an SVG image."""
    history = History()
    with hr.Pipeline("local", argv=[], observers=[history]) as p:
        names = p | "Names" >> hr.Create([("FI", "Finland"), ("NO", "Norway")])
        codes = p | "Codes" >> hr.Create(["NO", "FI", "SE"])
        look_up = hr.Map(lambda code, names: names.get(code, "unknown"), hr.AsDict(names))
        _ = codes | "Look up" >> look_up | "Upper" >> hr.Map(str.upper)
    css = files("headrace.sdk.observing").joinpath("page", "report.css").read_text()
    font = "svg { background: var(--paper); font-family: system-ui, sans-serif; }"
    opening, rest = graph_svg(history, 0).split(">", 1)
    opening = opening.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"')
    return f"{opening}><style>{css}{font}</style>{rest}\n"


def page(runs: list[tuple[Case, History]]) -> str:
    """Return the page."""
    parts = [HEAD]
    for source, title in TEXTS.items():
        parts.append(f"\n## {title}\n")
        parts += [section(c, history) for c, history in runs if c.name.startswith(source)]
    return "".join(parts)


def section(case: Case, history: History) -> str:
    """Return the section of a figure."""
    name = case.name.split(": ")[1]
    title = f"Figure {name}" if name[0].isdigit() else name.capitalize()
    rows = "".join(f"| {' | '.join(row)} |\n" for row in table(case, history))
    return (
        f"\n### {title}\n\n{description(case)}\n\n"
        f"![The run of figure {name}](../pictures/{file_name(case)})\n\n"
        f"| window | published | this run |\n|---|---|---|\n{rows}"
    )


def description(case: Case) -> str:
    """Return how a case is windowed."""
    return (
        f"Windows `{case.window_expression}`, trigger `{case.trigger_expression}`, "
        f"{case.mode.lower()} panes."
    )


def table(case: Case, history: History) -> Iterator[tuple[str, str, str]]:
    """Yield the published panes beside those of the run."""
    found = history.groupings["sum"].panes
    published = list(case.panes)
    if not case.in_order:
        found = sorted(found, key=lambda seen: seen.pane.start)
        published = sorted(published, key=lambda one: str(one.window))
    for one, seen in zip(published, found, strict=True):
        yield window_text(seen), published_text(one), run_text(case, one, seen)


def window_text(seen: SeenPane) -> str:
    start, end = seen.pane.start, seen.pane.end
    if (start, end) == GLOBAL_WINDOW[:2]:
        return "global"
    return f"{clock(start)} to {'the end' if end >= GLOBAL_WINDOW[1] else clock(end)}"


def published_text(one: Expected) -> str:
    return value_text(one.value, one.diff) + ("" if one.moment is None else at(one.moment))


def run_text(case: Case, one: Expected, seen: SeenPane) -> str:
    last = max(moment for moment, _ in case.events if isinstance(moment, int))
    ended = one.moment == END and seen.now == last
    moment = "" if one.moment is None else at(END if ended else seen.now)
    return value_text(seen.pane.value, seen.pane.diff) + moment


def value_text(value: int, diff: int) -> str:
    return f"{value}" if diff > 0 else f"−{value}"


def at(moment: int | str) -> str:
    return " at the end" if moment == END else f" at {clock(int(moment))}"


def clock(instant: int) -> str:
    """Return a time of day, with seconds only if there are any."""
    seconds, part = divmod(instant, SECOND)
    hours, minutes = divmod(seconds // 60, 60)
    text = f"{hours}:{minutes:02}"
    if instant % MINUTE:
        text += f":{seconds % 60:02}" + (f".{part * 10 // SECOND}" if part else "")
    return text


def take_screenshots() -> None:
    """Take screenshots: of a report and the live page of the flights job, and of a report on Spark."""
    with TemporaryDirectory() as folder, chromium.running() as browser:
        report, page = Path(folder) / "report.html", LivePage(":0")
        run_flights(report, page)
        take_screenshot(browser, "live", page.url)
        take_screenshot(browser, "report", report.as_uri())
        run_on_spark(report)
        take_screenshot(browser, "report-on-spark", report.as_uri())


def run_flights(report: Path, page: LivePage) -> None:
    """Run the flights job."""
    sys.path.insert(0, str(ROOT / "examples"))
    job = run_path(str(ROOT / "examples" / "flights.py"))
    sinks = job["sinks_for"]("retracting")
    argv = ["--streaming", "--max-records-per-batch=1000"]
    with hr.Pipeline("local", argv=argv, observers=[HtmlReport(report), page]) as p:
        job["build"](p, job["find_input"](), "retracting", 20 * 3600, sinks)


def run_on_spark(report: Path) -> None:
    """Run figure 14 on Spark."""
    case = next(case for case in cases() if case.name == "dataflow_model: 14")
    with hr.Pipeline("spark", argv=["--key-groups=2"], observers=[HtmlReport(report)]) as p:
        _ = p | stream(case) | windowing(case) | "sum" >> hr.CombinePerKey(sum)


def take_screenshot(browser: chromium.Browser, name: str, url: str) -> None:
    """Take a screenshot of a page when its charts are drawn."""
    browser.open(url, width=1200)
    browser.wait_for("document.body.dataset.drawn")
    title = "figure 14" if "spark" in name else "flights"
    browser.evaluate(f"document.querySelector('h1').textContent = '{title}'")
    browser.screenshot(PICTURES / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
