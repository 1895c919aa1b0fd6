"""Names in what others read: Prometheus, the paths of the live page, and Spark's UI."""

from __future__ import annotations

import pytest

import headrace as hr
from headrace.metrics import Metrics, PrometheusExporter
from tests.unit.sdk.observing.served_runs import HOSTILE
from tests.unit.security.test_shown_text import TEXT


def test_a_metric_named_by_data_is_a_line_of_the_exposition():
    from prometheus_client import generate_latest
    from prometheus_client.parser import text_string_to_metric_families

    def count(element):
        Metrics.counter(element, element).inc()
        Metrics.gauge("mine", f"{element} 1\nforged_total").set(1)
        return element

    exporter = PrometheusExporter(address=None)
    with hr.Pipeline(observers=[exporter]) as p:
        _ = p | f"Label {TEXT}" >> hr.Create([TEXT]) | f"Count {TEXT}" >> hr.Map(count)
    text = generate_latest(exporter.registry).decode()
    families = list(text_string_to_metric_families(text))
    assert not [family for family in families if family.name.startswith("forged")]
    assert all(name.startswith("headrace_") for name in (family.name for family in families))
    labels = {value for f in families for s in f.samples for value in s.labels.values()}
    assert f"Count {TEXT}" in labels


@pytest.mark.parametrize(
    "path",
    [
        "/../page.py",
        "/%2e%2e/page.py",
        "/..%2fpage.py",
        "/live/live.html/../../app.py",
        "//etc/passwd",
        "/live.css/../app.py",
        "/run.json/x",
        "/app.py",
        f"/{HOSTILE}",
    ],
)
def test_the_live_page_has_fixed_paths(path):
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from headrace.sdk.observing.live.app import live_app

    app = live_app(lambda: pytest.fail("the run is not asked"), None)
    answer = TestClient(app, base_url="http://localhost").request("GET", "http://localhost" + path)
    assert answer.status_code == 404
    assert answer.text == "Not Found"
