"""Metrics of Beam's programs: recorded in Beam's cells, kept in our containers, told as Beam's results.

Beam's metrics find their cells through a tracker of the thread. While a DoFn of Beam is called, that is a
tracker of its step.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
from apache_beam.metrics import cells as beam_cells
from apache_beam.metrics.execution import MetricKey, MetricResult, MetricsContainer
from apache_beam.metrics.metric import MetricResults
from apache_beam.metrics.metricbase import MetricName as BeamName
from apache_beam.runners.worker.statesampler import get_current_tracker, set_current_tracker

from headrace.sdk.metrics.cells import (
    DistributionResult,
    GaugeResult,
    MetricName,
    MetricsContainer as OwnContainer,
    current_metrics,
)

KINDS_OF_BEAM: Final = (
    MetricResults.STRINGSETS,
    MetricResults.BOUNDED_TRIES,
    MetricResults.HISTOGRAMS,
)
"""The kinds of metrics that only Beam has."""


@attrs.frozen
class BeamMetric:
    """The value of a metric of a kind that only Beam has.

    Attributes:
        kind: the kind, as in the results of a query.
        data: Beam's data.
    """

    kind: str
    data: Any

    def plus(self, other: BeamMetric) -> BeamMetric:
        """Return the combination with a later value."""
        return BeamMetric(self.kind, self.data.combine(other.data))


class CurrentStep:
    """Stands for Beam's tracker where no DoFn runs: the step that runs gets each update at once."""

    metrics_container = None

    def current_state(self) -> CurrentStep:
        """Return the state that is being tracked: this one."""
        return self

    def update_metric(self, typed_name: Any, value: Any) -> None:
        """Update a metric of the step that runs."""
        container = current_metrics()
        if container is None:
            return
        updated = MetricsContainer("")
        updated.get_metric_cell(typed_name).update(value)
        container.add(own_metrics(updated))


_CURRENT: Final = CurrentStep()


def track_current_step() -> None:
    """Let the metrics that are updated from now on be those of the step that runs."""
    set_current_tracker(_CURRENT)


class StepTracker:
    """Stands for Beam's tracker of states of a worker: it has the container of one step.

    Args:
        label: the full label of the step.

    Attributes:
        metrics_container: Beam's cells of the step.
    """

    def __init__(self, label: str) -> None:
        self.name = self.step_name = label
        self.metrics_container = MetricsContainer(label)

    def current_state(self) -> StepTracker:
        """Return the state that is being tracked: this one."""
        return self

    def update_metric(self, typed_name: Any, value: Any) -> None:
        """Update a metric of the step."""
        self.metrics_container.get_metric_cell(typed_name).update(value)

    @contextmanager
    def tracking(self) -> Iterator[None]:
        """Let the metrics that are updated meanwhile be those of this step."""
        before = get_current_tracker()
        set_current_tracker(self)
        try:
            yield
        finally:
            set_current_tracker(before)

    def hand_over(self) -> None:
        """Add what was recorded to the metrics of the step that runs, and forget it here."""
        set_current_tracker(None)
        container = current_metrics()
        if container is not None and self.metrics_container.metrics:
            container.add(own_metrics(self.metrics_container))
            self.metrics_container = MetricsContainer(self.name)


def own_metrics(container: Any) -> OwnContainer:
    """Return the metrics of a container of Beam as ours."""
    found = container.get_cumulative()
    return OwnContainer(
        {_own_name(key): value for key, value in found.counters.items()},
        {_own_name(key): _own_distribution(d) for key, d in found.distributions.items()},
        {_own_name(key): GaugeResult(g.value) for key, g in found.gauges.items()},
        dict(_others(found)),
    )


def _others(found: Any) -> Iterator[tuple[MetricName, BeamMetric]]:
    by_kind = (found.string_sets, found.bounded_tries, found.histograms)
    for kind, metrics in zip(KINDS_OF_BEAM, by_kind, strict=True):
        for key, data in metrics.items():
            yield _own_name(key), BeamMetric(kind, data)


def _own_name(key: Any) -> MetricName:
    return MetricName(str(key.metric.namespace) or "none", str(key.metric.name) or "none")


def _own_distribution(data: Any) -> DistributionResult:
    return DistributionResult(data.sum, data.count, data.min, data.max)


class HeadraceMetrics(MetricResults):
    """The metrics of a run, as Beam's results.

    Args:
        own: the metrics of the run, as ours.
    """

    def __init__(self, own: Any) -> None:
        self._own = own

    def query(self, filter: Any = None) -> dict[str, list[Any]]:
        """Return the metrics that a filter selects, by kind."""
        found: dict[str, list[Any]] = {kind: [] for kind in _ALL_KINDS}
        for step, container in self._own.containers.items():
            for kind, name, value in _values(container):
                key = MetricKey(step, BeamName(name.namespace, name.name))
                if self.matches(filter, key):
                    found[kind].append(MetricResult(key, value, value))
        return found


_ALL_KINDS: Final = (
    MetricResults.COUNTERS,
    MetricResults.DISTRIBUTIONS,
    MetricResults.GAUGES,
    *KINDS_OF_BEAM,
)


def _values(container: OwnContainer) -> Iterator[tuple[str, MetricName, Any]]:
    for name, number in container.counters.items():
        yield MetricResults.COUNTERS, name, number
    for name, d in container.distributions.items():
        low, high = d.min or 0, d.max or 0  # a distribution that is told has values
        data = beam_cells.DistributionData(d.sum, d.count, low, high)
        yield MetricResults.DISTRIBUTIONS, name, beam_cells.DistributionResult(data)
    for name, gauge in container.gauges.items():
        result = beam_cells.GaugeResult(beam_cells.GaugeData(gauge.value))
        yield MetricResults.GAUGES, name, result
    for name, other in container.others.items():
        if isinstance(other, BeamMetric):
            yield other.kind, name, _result(other)


def _result(metric: BeamMetric) -> Any:
    if metric.kind == MetricResults.STRINGSETS:
        return set(metric.data.string_set)
    if metric.kind == MetricResults.HISTOGRAMS:
        return beam_cells.HistogramResult(metric.data)
    return metric.data
