"""When an exporter of the program's own is called, on each runner, and what happens when it fails."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.metrics import MetricResults, MetricsExporter
from headrace.sdk.metrics.run_records import Round, RunOutline
from headrace.testing import TestStream

RUN = RunOutline("r", "job", "local", True, 0, ())


class Keeping(MetricsExporter):
    """Keeps the number of elements that ``Same`` has read, at each export."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.exported: list[int] = []

    def clock(self) -> float:
        return self.seconds

    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        self.exported.append(metrics.steps["Same"].elements_in)


def round_of(read: int) -> Round:
    totals = MetricResults({}, {"Same": hr.metrics.StepMetrics(elements_in=read)})
    return Round(0, 0, {}, {}, {}, totals)


def test_exports_after_the_first_round_then_at_most_every_interval_and_at_the_end() -> None:
    exporter = Keeping()
    exporter.start(RUN)
    for seconds, read in ((0, 1), (9.9, 2), (10, 3), (11, 4), (35, 5), (44, 6)):
        exporter.seconds = seconds
        exporter.round(round_of(read))
    exporter.end("DONE")
    assert exporter.exported == [1, 3, 5, 6]


def test_a_run_without_a_round_exports_nothing() -> None:
    exporter = Keeping()
    exporter.start(RUN)
    exporter.end("FAILED", ValueError())
    assert exporter.exported == []


class EachRound(Keeping):
    interval = 0


def test_a_stream_exports_after_each_round() -> None:
    exporter = EachRound()
    events = TestStream().add_elements([1, 2]).advance_watermark_to(5).add_elements([3])
    with hr.Pipeline(observers=[exporter]) as p:
        _ = p | events | "Same" >> hr.Map(lambda x: x)
    assert exporter.exported[0] == 2
    assert exporter.exported[-2:] == [3, 3]
    assert exporter.rounds == len(exporter.exported) - 1


class Failing(MetricsExporter):
    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        raise ConnectionError("no route")


def test_an_exporter_that_fails_is_logged_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    kept = Keeping()
    with hr.Pipeline(observers=[Failing(), kept]) as p:
        _ = p | hr.Create([1, 2]) | "Same" >> hr.Map(lambda x: x)
    assert kept.exported == [2, 2]
    assert "the observer Failing failed" in caplog.text
    assert "no route" in caplog.text


def test_observers_of_the_options_and_of_the_pipeline_are_all_called() -> None:
    from headrace.options.pipeline_options import PipelineOptions

    one, two = Keeping(), Keeping()
    options = PipelineOptions([], observers=[one])
    with hr.Pipeline(options=options, observers=[two]) as p:
        _ = p | hr.Create([1, 2]) | "Same" >> hr.Map(lambda x: x)
    assert one.exported == two.exported == [2, 2]
