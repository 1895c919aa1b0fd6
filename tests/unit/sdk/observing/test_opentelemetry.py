"""A collector receives a run over OTLP, and a provider of the program gets it through the API."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
from typing import Any

import pytest

import headrace as hr
from headrace.metrics import MetricResults, OpenTelemetryExporter
from tests.unit.sdk.observing.mill import grind
from tests.unit.sdk.observing.receiver import Request, receiving

pytest.importorskip("opentelemetry.exporter.otlp.proto.http")

Points = dict[str, dict[tuple[Any, ...], float]]

STEP_COUNTS = ("elements_in", "elements_out", "late_dropped", "retractions")


def decoded(request: Request) -> tuple[dict[str, str], Points, dict[str, Any]]:
    """The attributes of the resource, and the points and metrics by name."""
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
        ExportMetricsServiceRequest,
    )

    zipped = request.headers.get("content-encoding") == "gzip"
    body = gzip.decompress(request.body) if zipped else request.body
    (of_resource,) = ExportMetricsServiceRequest.FromString(body).resource_metrics
    (of_scope,) = of_resource.scope_metrics
    assert of_scope.scope.name == "headrace"
    attributes = {a.key: a.value.string_value for a in of_resource.resource.attributes}
    metrics = {metric.name: metric for metric in of_scope.metrics}
    points: Points = {}
    for name, metric in metrics.items():
        for point in getattr(metric, metric.WhichOneof("data")).data_points:
            values = tuple(
                a.value.string_value for a in sorted(point.attributes, key=lambda a: a.key)
            )
            value = getattr(point, point.WhichOneof("value"))
            points.setdefault(name, {})[values] = value
    return attributes, points, metrics


def assert_agree(points: Points, metrics: MetricResults) -> None:
    for name in STEP_COUNTS:
        expected = {(label,): getattr(step, name) for label, step in metrics.steps.items()}
        assert points[f"headrace.step.{name}"] == expected
    panes = {(t, label): n for label, step in metrics.steps.items() for t, n in step.panes.items()}
    assert points["headrace.step.panes"] == panes


def test_a_collector_receives_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["/mills/mill.py"])
    with receiving() as collector:
        with hr.Pipeline(argv=[f"--otlp={collector.url}"]) as p:
            grind(p)
        assert {(r.method, r.path) for r in collector.requests} == {("POST", "/v1/metrics")}
        attributes, points, metrics = decoded(collector.requests[-1])
    assert p.result is not None
    assert_agree(points, p.result.metrics())
    assert (attributes["service.name"], attributes["headrace.run.mode"]) == ("mill", "streaming")
    assert "headrace.step.watermark" not in points  # it is at the end of time
    assert points["headrace.step.watermark_lag"][("Sum",)] == 0
    assert points["headrace.user.bags"] == {("mill", "Weigh"): 5}
    of_sizes = {name: points[f"headrace.user.bag_sizes.{name}"] for name in ("count", "sum", "max")}
    assert of_sizes == {
        n: {("mill", "Weigh"): v} for n, v in (("count", 5), ("sum", 17), ("max", 8))
    }
    assert points["headrace.user.level"] == {("mill", "Weigh"): 1}
    elements = metrics["headrace.step.elements_in"]
    assert (elements.unit, elements.sum.is_monotonic) == ("{element}", True)
    assert metrics["headrace.step.watermark_lag"].unit == "s"


def test_a_path_of_the_url_is_kept_and_the_environment_names_the_service(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_SERVICE_NAME", "flour")
    with receiving() as collector:
        with hr.Pipeline(argv=["--otlp", f"{collector.url}/team/v1/metrics"]) as p:
            _ = p | hr.Create([1])
        assert {r.path for r in collector.requests} == {"/team/v1/metrics"}
        assert decoded(collector.requests[-1])[0]["service.name"] == "flour"


def test_a_provider_of_the_program_counts_all_runs() -> None:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader

    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    for _ in range(2):
        with hr.Pipeline(observers=[OpenTelemetryExporter(provider)]) as p:
            _ = p | hr.Create([1, 2, 3]) | "Same" >> hr.Map(lambda x: x)
    data = reader.get_metrics_data()
    assert data is not None
    ((scope,),) = [r.scope_metrics for r in data.resource_metrics]
    (read,) = [m for m in scope.metrics if m.name == "headrace.step.elements_in"]
    values = {(p.attributes or {})["headrace.step.name"]: p for p in read.data.data_points}
    assert getattr(values["Same"], "value") == 6  # noqa: B009
    provider.shutdown()


def test_a_url_without_a_scheme_is_refused() -> None:
    p = hr.Pipeline(argv=["--otlp=localhost:4318"])
    _ = p | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="--otlp 'localhost:4318' is not a URL"):
        p.run()


MISSING = """
import sys
sys.modules[{package!r}] = None
import headrace as hr
p = hr.Pipeline(argv=[{flag!r}])
p | hr.Create([1]) | hr.Map(print)
try:
    p.run()
except hr.PipelineError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flag", "package", "extra"),
    [
        ("--prometheus=:0", "prometheus_client", "prometheus"),
        ("--prometheus-gateway=http://localhost:9091", "prometheus_client", "prometheus"),
        ("--otlp=http://localhost:4318", "opentelemetry", "opentelemetry"),
        ("--openlineage=http://localhost:5000", "openlineage", "openlineage"),
    ],
)
def test_a_package_that_is_missing(flag: str, package: str, extra: str) -> None:
    program = MISSING.format(flag=flag, package=package)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ}
    )
    assert done.stdout.startswith(f"{flag.partition('=')[0]} needs "), done
    assert package in done.stdout
    assert f"pip install 'headrace[{extra}]'" in done.stdout
