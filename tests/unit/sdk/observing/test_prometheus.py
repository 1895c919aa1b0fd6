"""Prometheus scrapes a run, and a push gateway receives it; the numbers are those of the result."""

from __future__ import annotations

import logging
import math
import socket
import urllib.request
from collections.abc import Iterable
from typing import Any
from urllib.error import URLError

import pytest

import headrace as hr
from headrace.io import Batch, UnboundedSource
from headrace.metrics import MetricResults, PrometheusExporter, PushgatewayExporter
from headrace.options.pipeline_options import PipelineOptions
from headrace.sdk.metrics.run_records import RunOutline
from headrace.sdk.observing.options import observers_of
from tests.unit.sdk.observing.mill import WEIGHED, grind
from tests.unit.sdk.observing.receiver import receiving

prometheus = pytest.importorskip("prometheus_client.parser")

Samples = dict[str, dict[tuple[str, ...], float]]


def parsed(text: str) -> Samples:
    """Values by name, then by the values of labels in the order of their names."""
    found: Samples = {}
    for family in prometheus.text_string_to_metric_families(text):
        for sample in family.samples:
            labels = tuple(value for _, value in sorted(sample.labels.items()))
            assert labels not in found.setdefault(sample.name, {})
            found[sample.name][labels] = sample.value
    return found


def scraped(exporter: PrometheusExporter) -> Samples:
    assert exporter.address is not None
    with urllib.request.urlopen(f"{exporter.address.url}/metrics", timeout=10) as answer:
        return parsed(answer.read().decode())


def of_registry(exporter: Any) -> Samples:
    from prometheus_client import generate_latest

    return parsed(generate_latest(exporter.registry).decode())


def assert_agree(found: Samples, metrics: MetricResults) -> None:
    """The samples are those of the metrics of a run that has ended."""
    steps = metrics.steps
    for name in ("elements_in", "elements_out", "late_dropped", "retractions"):
        expected = {(label,): getattr(step, name) for label, step in steps.items()}
        assert found[f"headrace_{name}_total"] == expected
    panes = {(label, t): n for label, step in steps.items() for t, n in step.panes.items()}
    assert {key: n for key, n in found.get("headrace_panes_total", {}).items() if n} == panes
    assert found["headrace_watermark_timestamp_seconds"] == {
        (label,): math.inf if step.watermark > 1e18 else step.watermark / 1e6
        for label, step in steps.items()
    }


class Bags(UnboundedSource[int]):
    """100 numbers, and then none for as long as the run goes on; the watermark stays at 60 s."""

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[int]:
        end = min((offset or 0) + limit, 100)
        return Batch(range(offset or 0, end), end, watermark=60)


def is_even(x: int) -> bool:
    return x % 2 == 0


@pytest.mark.spark
def test_a_scrape_while_a_stream_runs_on_spark(small_spark: Any) -> None:
    scrape_while_a_stream_runs(small_spark, "spark")


def test_a_scrape_while_a_stream_runs() -> None:
    scrape_while_a_stream_runs("local", "local")


def scrape_while_a_stream_runs(runner: Any, name: str) -> None:
    exporter = PrometheusExporter(":0")
    exporter.interval = 0
    p = hr.Pipeline(runner=runner, observers=[exporter])
    _ = p | "Bags" >> hr.Read(Bags()) | "Even" >> hr.Filter(is_even)
    result = p.run()
    assert exporter.address is not None
    assert exporter.address.host == "127.0.0.1"
    found: Samples = {}
    for _ in range(2000):
        found = scraped(exporter)
        if found.get("headrace_elements_in_total", {}).get(("Even",)) == 100:
            break
        result.wait_until_finish(20)
    assert found["headrace_elements_out_total"] == {("Bags",): 100, ("Even",): 50}
    assert found["headrace_rounds_total"][()] >= 1
    assert [labels[3] for labels in found["headrace_run_info"]] == [name]
    assert found["headrace_watermark_timestamp_seconds"][("Even",)] == 60
    assert_agree(found, result.metrics())
    url = exporter.address.url
    result.drain()
    with pytest.raises(URLError):
        urllib.request.urlopen(f"{url}/metrics", timeout=10)
    assert_agree(of_registry(exporter), result.metrics())


def test_all_metrics_of_a_run() -> None:
    exporter = PrometheusExporter(address=None)
    with hr.Pipeline(observers=[exporter]) as p:
        grind(p)
    assert p.result is not None
    found = of_registry(exporter)
    assert_agree(found, p.result.metrics())
    assert found["headrace_panes_total"] == {
        ("Sum", "EARLY"): 2,
        ("Sum", "ON_TIME"): 2,
        ("Sum", "LATE"): 1,
    }
    assert found["headrace_late_dropped_total"][("Sum",)] == 1
    assert found["headrace_watermark_timestamp_seconds"][("Sum",)] == math.inf
    assert found["headrace_watermark_lag_seconds"][("Sum",)] == 0
    assert found["headrace_state_keys"] == {("Sum",): 0}
    (info,) = found["headrace_run_info"]
    assert (info[1], info[3]) == ("streaming", "local")
    users = {n: v for n, v in found.items() if n.startswith("headrace_user_")}
    assert users == {name: {("mill", "Weigh"): value} for name, value in WEIGHED.items()}


def test_a_second_run_starts_from_zero() -> None:
    exporter = PrometheusExporter(address=None)
    for _ in range(2):
        with hr.Pipeline(observers=[exporter]) as p:
            _ = p | hr.Create([1, 2]) | "Same" >> hr.Map(lambda x: x)
    assert of_registry(exporter)["headrace_elements_in_total"][("Same",)] == 2


def test_the_flag_serves_on_a_free_port_that_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headrace")
    with hr.Pipeline(argv=["--prometheus=:0"]) as p:
        _ = p | hr.Create([1])
    (line,) = [m for m in caplog.messages if "Prometheus" in m]
    assert line.startswith("Prometheus finds the metrics at http://127.0.0.1:")
    assert not line.endswith(":0/metrics")


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as found:
            found.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no address of IPv6")
def test_an_address_of_ipv6() -> None:
    exporter = PrometheusExporter("[::1]:0")
    exporter.start(RunOutline("r", "job", "local", False, 0, ()))
    try:
        assert scraped(exporter) == {}
    finally:
        exporter.end("DONE")


def test_an_address_in_use_ends_the_run_before_it_starts() -> None:
    read: list[int] = []
    with receiving() as other:
        address = other.url.removeprefix("http://")
        p = hr.Pipeline(argv=[f"--prometheus={address}"])
        _ = p | hr.Create([1]) | hr.Map(lambda x: read.append(x))
        with pytest.raises(hr.PipelineError, match=f"cannot be served on {address}"):
            p.run()
    assert read == []


@pytest.mark.parametrize("text", ["", "localhost", ":http", ":65536", "host:-1"])
def test_what_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(hr.PipelineError, match="is not an address"):
        observers_of(PipelineOptions([f"--prometheus={text}"]))


@pytest.mark.parametrize("flag", ["--prometheus-gateway", "--prometheus_gateway"])
def test_a_push_gateway_receives_the_run(flag: str) -> None:
    with receiving() as gateway:
        with hr.Pipeline(argv=[flag, gateway.url]) as p:
            grind(p)
        pushed = gateway.requests
    assert p.result is not None
    assert {(r.method, r.path.partition("/job/")[0]) for r in pushed} == {("PUT", "/metrics")}
    assert len(pushed) == 2  # after the first round, and at the end
    assert_agree(parsed(pushed[-1].body.decode()), p.result.metrics())


def test_a_gateway_that_fails_does_not_stop_the_run(caplog: pytest.LogCaptureFixture) -> None:
    with receiving(status=500) as gateway:
        p = hr.Pipeline(observers=[PushgatewayExporter(gateway.url)])
        _ = p | hr.Create([1])
        result = p.run()
    assert result.state == "DONE"
    assert f"the metrics were not pushed to {gateway.url}" in caplog.text


def test_user_metrics_whose_plain_names_are_the_same_add_up() -> None:
    one, two = (hr.metrics.Metrics.counter("mill", name) for name in ("bags-in", "bags in"))
    exporter = PrometheusExporter(address=None)

    def count(x: int) -> Iterable[int]:
        one.inc()
        two.inc(2)
        return []

    with hr.Pipeline(observers=[exporter]) as p:
        _ = p | hr.Create([1]) | "Count" >> hr.FlatMap(count)
    assert of_registry(exporter)["headrace_user_bags_in_total"] == {("mill", "Count"): 3}
