"""Exporters for OpenTelemetry: into the program's meter provider, or to a collector over OTLP."""

from __future__ import annotations

import os
from math import isfinite
from operator import add
from typing import TYPE_CHECKING, Any, Final

from headrace.errors import PipelineError
from headrace.sdk.metrics.cells import DistributionResult, GaugeResult, MetricResults
from headrace.sdk.metrics.run_records import Round, RunOutline
from headrace.sdk.observing.exporters.exporter import MetricsExporter
from headrace.sdk.observing.measures import (
    LAG_HELP,
    PANES_HELP,
    ROUNDS_HELP,
    STATE_HELP,
    STEP_COUNTS,
    WATERMARK_HELP,
    UserKey,
    by_plain_name,
    lag_seconds,
    panes,
    watermark_seconds,
)
from headrace.sdk.observing.packages import require, require_for

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter, MeterProvider

_METRICS_PATH: Final = "/v1/metrics"

_FLUSH_MILLIS: Final = 10_000
"""Maximum time for the last export, in milliseconds."""

_STEP: Final = "headrace.step.name"
_TIMING: Final = "headrace.pane.timing"
_NAMESPACE: Final = "headrace.metric.namespace"


class _Instruments:
    """Instruments of a meter, by name; counters are given totals, and add what is new.

    They are not observable instruments: their callbacks could not be removed from the provider at the end of
    the run, and the next run of the process would not get its own.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._made: dict[str, Any] = {}
        self._totals: dict[tuple[str, tuple[tuple[str, str], ...]], int] = {}

    def count(
        self, name: str, unit: str, help: str, total: int, attributes: dict[str, str]
    ) -> None:
        """Set the total of a counter."""
        if name not in self._made:
            self._made[name] = self._meter.create_counter(name, unit, help)
        self._add(name, total, attributes)

    def sum(self, name: str, help: str, total: int, attributes: dict[str, str]) -> None:
        """Set the total of a counter that can also go down."""
        if name not in self._made:
            self._made[name] = self._meter.create_up_down_counter(name, "1", help)
        self._add(name, total, attributes)

    def gauge(
        self, name: str, unit: str, help: str, value: float | None, attributes: dict[str, str]
    ) -> None:
        """Set a gauge, if there is a value; the SDK refuses infinity, the watermark at the end of time."""
        if name not in self._made:
            self._made[name] = self._meter.create_gauge(name, unit, help)
        if value is not None and isfinite(value):
            self._made[name].set(value, attributes)

    def _add(self, name: str, total: int, attributes: dict[str, str]) -> None:
        series = name, tuple(attributes.items())
        before = self._totals.get(series)
        if total != before:
            self._made[name].add(total - (before or 0), attributes)
            self._totals[series] = total


class OpenTelemetryExporter(MetricsExporter):
    """Exports the metrics of a run through OpenTelemetry's API.

    Args:
        meter_provider: the provider; by default the one that the program has set when the run starts.

    Raises:
        PipelineError: ``opentelemetry-api`` is not installed.

    >>> OpenTelemetryExporter().interval
    10.0
    """

    def __init__(self, meter_provider: MeterProvider | None = None) -> None:
        require("opentelemetry.metrics", extra="opentelemetry", needed_by=type(self).__name__)
        self._provider = meter_provider
        self._instruments: _Instruments | None = None

    def start(self, run: RunOutline) -> None:
        """Get a meter."""
        from importlib.metadata import version

        from opentelemetry.metrics import get_meter

        super().start(run)
        meter = get_meter("headrace", version("headrace"), self._provider)
        self._instruments = _Instruments(meter)

    def export(self, metrics: MetricResults, run: RunOutline) -> None:
        """Set the instruments."""
        if self._instruments is None or self.last is None:
            return
        self._instruments.count("headrace.rounds", "{round}", ROUNDS_HELP, self.rounds, {})
        _set_steps(self._instruments, run, self.last)
        _set_users(self._instruments, metrics)


def _set_steps(instruments: _Instruments, run: RunOutline, done: Round) -> None:
    prefix = "headrace.step."
    groupings = {step.label for step in run.steps if step.groups}
    for label, metrics in done.totals.steps.items():
        step = {_STEP: label}
        for count in STEP_COUNTS:
            name, unit = f"{prefix}{count.name}", f"{{{count.unit}}}"
            instruments.count(name, unit, count.help, count.of(metrics), step)
        for timing, number in panes(metrics, label in groupings).items():
            by = {**step, _TIMING: timing}
            instruments.count(f"{prefix}panes", "{pane}", PANES_HELP, number, by)
        watermark, lag = watermark_seconds(metrics), lag_seconds(metrics, done.now)
        instruments.gauge(f"{prefix}watermark", "s", WATERMARK_HELP, watermark, step)
        instruments.gauge(f"{prefix}watermark_lag", "s", LAG_HELP, lag, step)
    for label, size in done.state.items():
        instruments.gauge(f"{prefix}state_keys", "{key}", STATE_HELP, size, {_STEP: label})


def _set_users(instruments: _Instruments, metrics: MetricResults) -> None:
    found = metrics.query()
    for key, value in by_plain_name(found["counters"], add).items():
        instruments.sum(_name(key), "A counter of the program.", value, _attributes(key))
    for key, value in by_plain_name(found["distributions"], DistributionResult.plus).items():
        name, help, by = _name(key), "A distribution of the program.", _attributes(key)
        instruments.count(f"{name}.count", "1", help, value.count, by)
        instruments.sum(f"{name}.sum", help, value.sum, by)
        instruments.gauge(f"{name}.min", "1", help, value.min, by)
        instruments.gauge(f"{name}.max", "1", help, value.max, by)
    for key, value in by_plain_name(found["gauges"], GaugeResult.plus).items():
        instruments.gauge(_name(key), "1", "A gauge of the program.", value.value, _attributes(key))


def _name(key: UserKey) -> str:
    return f"headrace.user.{key.name}"


def _attributes(key: UserKey) -> dict[str, str]:
    return {_STEP: key.step, _NAMESPACE: key.namespace}


class OtlpExporter(OpenTelemetryExporter):
    """Exports the metrics of a run to an OpenTelemetry collector, over OTLP and HTTP.

    It has a meter provider of its own, which exports every ten seconds and at the end of the run. Variables
    of the environment that begin with ``OTEL_`` apply, such as ``OTEL_EXPORTER_OTLP_HEADERS``.

    Args:
        url: URL of the collector, such as ``http://localhost:4318``; ``/v1/metrics`` is added if missing.

    Raises:
        PipelineError: the packages are not installed, or the URL does not begin with ``http``.

    >>> OtlpExporter("http://localhost:4318").endpoint
    'http://localhost:4318/v1/metrics'
    """

    def __init__(self, url: str) -> None:
        require_for("--otlp")
        super().__init__()
        if not url.startswith(("http://", "https://")):
            raise PipelineError(
                f"--otlp {url!r} is not a URL",
                remedy="use the URL of a collector, such as http://localhost:4318",
            )
        self.endpoint = url.rstrip("/").removesuffix(_METRICS_PATH) + _METRICS_PATH
        self._own: Any = None

    def start(self, run: RunOutline) -> None:
        """Set up the provider."""
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
        from opentelemetry.sdk.resources import Resource

        reader = PeriodicExportingMetricReader(
            OTLPMetricExporter(endpoint=self.endpoint),
            export_interval_millis=self.interval * 1000,
        )
        resource = Resource.create(_resource(run))
        self._own = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._provider = self._own
        super().start(run)

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Export the metrics of the whole run."""
        super().end(state, error)
        if self._own is not None:
            self._own.shutdown(timeout_millis=_FLUSH_MILLIS)
            self._own = self._provider = None


def _resource(run: RunOutline) -> dict[str, str]:
    """Return attributes of the run; the name of a service in the environment is kept."""
    mode = "streaming" if run.streaming else "batch"
    attributes = {
        "headrace.run.id": run.name,
        "headrace.run.runner": run.runner,
        "headrace.run.mode": mode,
    }
    named = "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    if not named and not os.environ.get("OTEL_SERVICE_NAME"):
        attributes["service.name"] = run.job
    return attributes
