"""Runs with a live page, and what the page answers, for the tests of it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import headrace as hr
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.metrics.run_records import (
    ElementRecord,
    PaneRecord,
    Round,
    RunOutline,
    Samples,
    StepOutline,
)
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.history import History
from headrace.sdk.observing.live import LivePage
from headrace.sdk.observing.live.plain_data import step_data
from headrace.sdk.pipelines.result import PipelineResult
from headrace.testing import TestStream
from headrace.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark
from headrace.transforms.window import FixedWindows

SECOND = 1_000_000
HOSTILE = '<img src=x onerror="document.title=1">'


def scores(late: int = 0) -> TestStream:
    """Scores of two players, in two windows of ten seconds, and late ones in the first window."""
    stream = TestStream().advance_watermark_to(0)
    for second in range(8):
        stream.add_elements([hr.window.TimestampedValue((player, 1), second) for player in "ab"])
        stream.advance_processing_time(1)
    stream.advance_watermark_to(12)
    for _ in range(late):
        stream.add_elements([hr.window.TimestampedValue(("a", 100), 5)])
        stream.advance_processing_time(1)
    return stream.advance_watermark_to_infinity()


def add_sums(p: hr.Pipeline, stream: TestStream) -> None:
    """Sum up by player and window, with early and late panes, which replace those before."""
    early_and_late = AfterWatermark(early=AfterCount(2), late=AfterCount(1))
    windows = hr.WindowInto(
        FixedWindows(10),
        trigger=early_and_late,
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=100,
    )
    _ = p | stream | windows | "Sum" >> hr.CombinePerKey(sum) | "Show" >> hr.Map(str)


@contextmanager
def served(address: str = ":0") -> Iterator[LivePage]:
    """A page that is gone afterwards."""
    page = LivePage(address)
    try:
        yield page
    finally:
        page.stop()


def run(page: LivePage, stream: TestStream) -> PipelineResult:
    p = hr.Pipeline(argv=[], observers=[page])
    add_sums(p, stream)
    return p.run()


def ask(
    page: LivePage, path: str = "/", method: str = "GET", **headers: str
) -> tuple[HTTPResponse, bytes]:
    """The answer to a request, and its body."""
    where = urlsplit(page.url)
    connection = HTTPConnection("127.0.0.1", where.port or 0, timeout=30)
    try:
        connection.request(method, path, headers=headers)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def data(page: LivePage, path: str = "/run.json"):
    answer, body = ask(page, path)
    assert answer.status == 200, body
    return json.loads(body)


def totals(found) -> dict[str, dict]:
    return {step["label"]: step["totals"] for step in found["steps"]}


def built_in(metrics: MetricResults) -> dict[str, dict]:
    return {label: step_data(step) for label, step in metrics.steps.items()}


def outline(name: str = "run", label: str = HOSTILE) -> RunOutline:
    steps = (
        StepOutline("Read", "Read", ()),
        StepOutline(label, "GroupByKey", ("Read",), {"windows": HOSTILE}, groups=True),
    )
    return RunOutline(name, HOSTILE, "local", True, 0, steps)


def a_round(number: int, now: int = 0, elements: int = 1, engine=None) -> Round:
    """A round in which one element of a hostile key and value arrives, and one pane is emitted."""
    pane = PaneRecord(HOSTILE, HOSTILE, now, 0, 10 * SECOND, "ON_TIME", number, 1)
    samples = Samples([ElementRecord(HOSTILE, HOSTILE, now, 1)], [pane])
    steps = {"Read": StepMetrics(elements_out=elements, watermark=now - 3 * SECOND)}
    return Round(number, now, steps, {}, {HOSTILE: samples}, MetricResults({}), engine or {})


def history_of(*rounds: Round) -> History:
    history = History()
    history.start(outline())
    for done in rounds:
        history.round(done)
    return history
