"""Metrics that users define: counters, distributions and gauges (Beam's names).

A metric is only a name. Its values are stored in the container of the current step, which the runner sets
while the step runs; so each step of a DoFn has its own values, and nothing is shared between workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, ClassVar, Final, Protocol, SupportsInt

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.metrics.step_metrics import StepMetrics

_container: Final[ContextVar[MetricsContainer | None]] = ContextVar("metrics", default=None)


def _not_empty(name: MetricName, field: attrs.Attribute[str], value: str) -> None:
    if not value:
        raise PipelineError(f"the {field.name} of a metric is empty", remedy="give it a text")


@attrs.frozen
class MetricName:
    """The name of a metric: a namespace, often a class, and a name in it.

    Raises:
        PipelineError: the namespace or the name is empty.

    >>> MetricName("mill", "turns")
    MetricName(namespace='mill', name='turns')
    >>> str(MetricName("mill", "turns"))
    'MetricName(namespace=mill, name=turns)'
    """

    namespace: str = attrs.field(validator=_not_empty)
    name: str = attrs.field(validator=_not_empty)

    def __str__(self) -> str:
        """Return the text that Beam has for the name."""
        return f"MetricName(namespace={self.namespace}, name={self.name})"


@attrs.frozen(init=False)
class DistributionResult:
    """The value of a distribution.

    Args:
        sum: sum of the values; or another DistributionResult, since Beam has a class for its data.
        count: number of the values.
        min: minimum; None without values.
        max: maximum; None without values.

    >>> DistributionResult.of(3).plus(DistributionResult.of(5)).mean
    4.0
    """

    sum: int
    count: int
    min: int | None
    max: int | None

    def __init__(
        self,
        sum: int | DistributionResult = 0,
        count: int = 0,
        min: int | None = None,
        max: int | None = None,
    ) -> None:
        if isinstance(sum, DistributionResult):
            self.__attrs_init__(sum.sum, sum.count, sum.min, sum.max)
        else:
            self.__attrs_init__(sum, count, min, max)

    @staticmethod
    def of(value: int) -> DistributionResult:
        """Return the distribution of one value."""
        return DistributionResult(value, 1, value, value)

    def plus(self, other: DistributionResult) -> DistributionResult:
        """Return the combination of two distributions."""
        lows = [low for low in (self.min, other.min) if low is not None]
        highs = [high for high in (self.max, other.max) if high is not None]
        return DistributionResult(
            self.sum + other.sum,
            self.count + other.count,
            min(lows, default=None),
            max(highs, default=None),
        )

    @property
    def mean(self) -> float | None:
        """The mean of the values; None if there are none."""
        return self.sum / self.count if self.count else None


@attrs.frozen
class GaugeResult:
    """The latest value of a gauge, as plain data."""

    value: int

    def plus(self, other: GaugeResult) -> GaugeResult:
        """Return the later value."""
        return other


class Mergeable(Protocol):
    """The value of a metric of another kind, of a program of another SDK."""

    def plus(self, other: Any, /) -> Any:
        """Return the combination with a later value."""


@attrs.define
class MetricsContainer:
    """The metrics of one step, as plain data; containers of other workers can be added."""

    counters: dict[MetricName, int] = attrs.field(factory=dict)
    distributions: dict[MetricName, DistributionResult] = attrs.field(factory=dict)
    gauges: dict[MetricName, GaugeResult] = attrs.field(factory=dict)
    others: dict[MetricName, Mergeable] = attrs.field(factory=dict)

    def add(self, other: MetricsContainer) -> None:
        """Add later metrics of the same step."""
        for name, value in other.counters.items():
            self.counters[name] = self.counters.get(name, 0) + value
        for name, distribution in other.distributions.items():
            before = self.distributions.get(name, DistributionResult())
            self.distributions[name] = before.plus(distribution)
        self.gauges.update(other.gauges)
        for name, merged in other.others.items():
            self.others[name] = self.others[name].plus(merged) if name in self.others else merged

    def drain(self) -> MetricsContainer:
        """Return the metrics, and reset them."""
        drained = MetricsContainer(self.counters, self.distributions, self.gauges, self.others)
        self.counters, self.distributions, self.gauges, self.others = {}, {}, {}, {}
        return drained


def current_metrics() -> MetricsContainer | None:
    """Return the metrics of the step that is running; None if none is."""
    return _container.get()


@contextmanager
def recording(container: MetricsContainer) -> Iterator[None]:
    """Store metrics in a container while the body runs."""
    token = _container.set(container)
    try:
        yield
    finally:
        _container.reset(token)


@attrs.frozen
class Counter:
    """A number that can be incremented and decremented (see :meth:`Metrics.counter`).

    It counts for the step whose function is running.

    >>> turns = Counter(MetricName("mill", "turns"))
    >>> container = MetricsContainer()
    >>> with recording(container):  # as a runner does around each step
    ...     turns.inc(3)
    ...     turns.dec()
    >>> container.counters[turns.metric_name]
    2
    """

    metric_name: MetricName

    def inc(self, n: int = 1) -> None:
        """Add to the counter."""
        container = _container.get()
        if container is not None:
            counters = container.counters
            counters[self.metric_name] = counters.get(self.metric_name, 0) + n

    def dec(self, n: int = 1) -> None:
        """Subtract from the counter."""
        self.inc(-n)


@attrs.frozen
class Distribution:
    """Sum, count, minimum and maximum of numbers (see :meth:`Metrics.distribution`).

    >>> sacks = Distribution(MetricName("mill", "sacks"))
    >>> container = MetricsContainer()
    >>> with recording(container):
    ...     sacks.update(3)
    ...     sacks.update(5)
    >>> container.distributions[sacks.metric_name]
    DistributionResult(sum=8, count=2, min=3, max=5)
    """

    metric_name: MetricName

    def update(self, value: SupportsInt) -> None:
        """Report a number; of a timestamp or duration the whole seconds."""
        container = _container.get()
        if container is not None:
            number: Any = value if isinstance(value, (int, float)) else int(value)
            reported = DistributionResult.of(number)
            before = container.distributions.get(self.metric_name)
            now = reported if before is None else before.plus(reported)
            container.distributions[self.metric_name] = now


@attrs.frozen
class Gauge:
    """A number that keeps only its latest value (see :meth:`Metrics.gauge`).

    >>> level = Gauge(MetricName("mill", "level"))
    >>> container = MetricsContainer()
    >>> with recording(container):
    ...     level.set(3)
    ...     level.set(2)
    >>> container.gauges[level.metric_name]
    GaugeResult(value=2)
    """

    metric_name: MetricName

    def set(self, value: int) -> None:
        """Set the gauge."""
        container = _container.get()
        if container is not None:
            container.gauges[self.metric_name] = GaugeResult(value)


class Metrics:
    """Creates metrics, for use in functions of a pipeline.

    >>> turns = Metrics.counter("mill", "turns")
    >>> with Pipeline() as p:
    ...     _ = p | Create([3, 4]) | Map(turns.inc)
    >>> p.result.metrics().query()["counters"][0].result
    7
    """

    @staticmethod
    def get_namespace(namespace: type | str) -> str:
        """Return a namespace as a string; for a class, its full name.

        Raises:
            PipelineError: it is neither a class nor a string.
        """
        if isinstance(namespace, type):
            return f"{namespace.__module__}.{namespace.__name__}"
        if isinstance(namespace, str):
            return namespace
        raise PipelineError(
            f"the namespace of a metric is {shorten(namespace)}", remedy="use a class or a string"
        )

    @staticmethod
    def counter(namespace: type | str, name: str) -> Counter:
        """Return a counter."""
        return Counter(MetricName(Metrics.get_namespace(namespace), name))

    @staticmethod
    def distribution(namespace: type | str, name: str) -> Distribution:
        """Return a distribution."""
        return Distribution(MetricName(Metrics.get_namespace(namespace), name))

    @staticmethod
    def gauge(namespace: type | str, name: str) -> Gauge:
        """Return a gauge."""
        return Gauge(MetricName(Metrics.get_namespace(namespace), name))


class MetricsFilter:
    """Selects metrics by name, namespace and step; each ``with_…`` narrows the selection.

    >>> MetricsFilter().with_name("turns").matches("Grind", MetricName("mill", "turns"))
    True
    """

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.namespaces: set[str] = set()
        self.steps: set[str] = set()

    def with_name(self, name: str) -> MetricsFilter:
        """Select metrics with a name."""
        return self.with_names([name])

    def with_names(self, names: Iterable[str]) -> MetricsFilter:
        """Select metrics with one of these names.

        Raises:
            PipelineError: the names are a single string.
        """
        self.names.update(_several(names))
        return self

    def with_metric(self, metric: Counter | Distribution | Gauge) -> MetricsFilter:
        """Select a metric, by its namespace and name."""
        name = metric.metric_name
        return self.with_name(name.name).with_namespace(name.namespace)

    def with_namespace(self, namespace: type | str) -> MetricsFilter:
        """Select metrics of a namespace."""
        return self.with_namespaces([namespace])

    def with_namespaces(self, namespaces: Iterable[type | str]) -> MetricsFilter:
        """Select metrics of one of these namespaces."""
        self.namespaces.update(map(Metrics.get_namespace, _several(namespaces)))
        return self

    def with_step(self, step: str) -> MetricsFilter:
        """Select metrics of a step: a full label, or the label of an enclosing composite."""
        return self.with_steps([step])

    def with_steps(self, steps: Iterable[str]) -> MetricsFilter:
        """Select metrics of one of these steps."""
        self.steps.update(_several(steps))
        return self

    def matches(self, step: str, name: MetricName) -> bool:
        """Return whether a metric of a step is selected."""
        return (
            (not self.names or name.name in self.names)
            and (not self.namespaces or name.namespace in self.namespaces)
            and (not self.steps or any(f"/{s}/" in f"/{step}/" for s in self.steps))
        )


def _several(names: Iterable[object]) -> Iterable[Any]:
    if isinstance(names, str):
        raise PipelineError(f"{names!r} is a single string", remedy="pass a list of strings")
    return names


@attrs.frozen
class MetricKey:
    """A metric of a step.

    Attributes:
        step: full label of the step.
        metric: name of the metric.
        labels: more that a runner tells of it; empty here.
    """

    step: str
    metric: MetricName
    labels: Mapping[str, str] = attrs.field(factory=dict, hash=False)


@attrs.frozen
class MetricResult:
    """The value of a metric of a step.

    Attributes:
        key: the step and the metric.
        committed: the value: a number for a counter, a :class:`DistributionResult`, or a
            :class:`GaugeResult`.
        attempted: the same; retried work is not counted separately.
    """

    key: MetricKey
    committed: Any
    attempted: Any = attrs.Factory(lambda self: self.committed, takes_self=True)

    @property
    def result(self) -> Any:
        """The value."""
        return self.committed


class MetricResults:
    """The metrics of a run.

    Args:
        containers: user-defined metrics by the full label of the step.
        steps: built-in metrics by the full label of the step.

    >>> ground = MetricsContainer(counters={MetricName("mill", "bags"): 2})
    >>> results = MetricResults({"Grind": ground})
    >>> [r.result for r in results.query(MetricsFilter().with_name("bags"))["counters"]]
    [2]
    """

    COUNTERS: ClassVar[str] = "counters"
    DISTRIBUTIONS: ClassVar[str] = "distributions"
    GAUGES: ClassVar[str] = "gauges"

    def __init__(
        self,
        containers: Mapping[str, MetricsContainer],
        steps: Mapping[str, StepMetrics] | None = None,
    ) -> None:
        self.containers: Mapping[str, MetricsContainer] = containers
        self.steps: Mapping[str, StepMetrics] = steps or {}

    @staticmethod
    def matches(filter: MetricsFilter | None, metric_key: MetricKey) -> bool:
        """Return whether a filter selects a metric of a step; without a filter it is selected."""
        return filter is None or filter.matches(metric_key.step, metric_key.metric)

    def query(self, filter: MetricsFilter | None = None) -> dict[str, list[MetricResult]]:
        """Return the metrics that a filter selects, by kind; all metrics without a filter."""
        chosen = (filter or MetricsFilter()).matches
        return {
            self.COUNTERS: list(self._results(chosen, lambda c: c.counters)),
            self.DISTRIBUTIONS: list(self._results(chosen, lambda c: c.distributions)),
            self.GAUGES: list(self._results(chosen, lambda c: c.gauges)),
        }

    def _results(
        self,
        chosen: Callable[[str, MetricName], bool],
        kind: Callable[[MetricsContainer], dict[MetricName, Any]],
    ) -> Iterator[MetricResult]:
        for step, container in self.containers.items():
            for name, value in kind(container).items():
                if chosen(step, name):
                    yield MetricResult(MetricKey(step, name), value)
