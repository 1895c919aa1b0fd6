"""The metrics of a run as metric families of ``prometheus-client``, named by Prometheus' conventions."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from operator import add
from typing import TYPE_CHECKING, Any, Final

from headrace.sdk.metrics.cells import DistributionResult, GaugeResult, MetricResults
from headrace.sdk.metrics.run_records import Round, RunOutline
from headrace.sdk.observing.measures import (
    LAG_HELP,
    PANES_HELP,
    ROUNDS_HELP,
    STATE_HELP,
    STEP_COUNTS,
    WATERMARK_HELP,
    by_plain_name,
    lag_seconds,
    panes,
    watermark_seconds,
)

if TYPE_CHECKING:
    from prometheus_client import Metric

_LOG: Final = logging.getLogger(__name__)

_USER_LABELS: Final = ("step", "namespace")


def families(run: RunOutline, done: Round, rounds: int) -> list[Metric]:
    """Return the metric families after a round.

    Args:
        run: the run.
        done: the round.
        rounds: number of rounds so far.
    """
    built_in = [*_of_run(run, rounds), *_of_steps(run, done)]
    return [*built_in, *_without_clashes(_of_users(done.totals))]


def _of_run(run: RunOutline, rounds: int) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, InfoMetricFamily

    mode = "streaming" if run.streaming else "batch"
    labels = {"runner": run.runner, "mode": mode, "job_name": run.job, "run": run.name}
    yield InfoMetricFamily("headrace_run", "The run.", value=labels)
    yield CounterMetricFamily("headrace_rounds", ROUNDS_HELP, value=rounds)


def _of_steps(run: RunOutline, done: Round) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    steps = done.totals.steps
    for count in STEP_COUNTS:
        counter = CounterMetricFamily(f"headrace_{count.name}", count.help, labels=("step",))
        for label, metrics in steps.items():
            counter.add_metric((label,), count.of(metrics))
        yield counter
    groupings = {step.label for step in run.steps if step.groups}
    emitted = CounterMetricFamily("headrace_panes", PANES_HELP, labels=("step", "timing"))
    watermark = GaugeMetricFamily(
        "headrace_watermark_timestamp_seconds", WATERMARK_HELP, labels=("step",)
    )
    lag = GaugeMetricFamily("headrace_watermark_lag_seconds", LAG_HELP, labels=("step",))
    for label, metrics in steps.items():
        for timing, number in panes(metrics, label in groupings).items():
            emitted.add_metric((label, timing), number)
        _add(watermark, label, watermark_seconds(metrics))
        _add(lag, label, lag_seconds(metrics, done.now))
    state = GaugeMetricFamily("headrace_state_keys", STATE_HELP, labels=("step",))
    for label, size in done.state.items():
        state.add_metric((label,), size)
    yield from (emitted, watermark, lag, state)


def _add(gauge: Any, label: str, value: float | None) -> None:
    if value is not None:
        gauge.add_metric((label,), value)


def _of_users(totals: MetricResults) -> Iterator[Metric]:
    """Yield the families of user-defined metrics; a distribution is a summary, and gauges of its extremes."""
    from prometheus_client.core import (
        CounterMetricFamily,
        GaugeMetricFamily,
        SummaryMetricFamily,
    )

    found = totals.query()
    made: dict[tuple[str, type], Any] = {}

    def family(kind: type, name: str, help: str) -> Any:
        return made.setdefault(
            (name, kind), kind(f"headrace_user_{name}", help, labels=_USER_LABELS)
        )

    for key, value in by_plain_name(found["counters"], add).items():
        name = key.name.removesuffix("_total") or key.name
        family(CounterMetricFamily, name, "A counter of the program.").add_metric(key[1:], value)
    for key, value in by_plain_name(found["distributions"], DistributionResult.plus).items():
        summary = family(SummaryMetricFamily, key.name, "A distribution of the program.")
        summary.add_metric(key[1:], value.count, value.sum)
        for extreme in ("min", "max"):
            help = f"The {extreme}imum of a distribution of the program."
            gauge = family(GaugeMetricFamily, f"{key.name}_{extreme}", help)
            gauge.add_metric(key[1:], getattr(value, extreme))
    for key, value in by_plain_name(found["gauges"], GaugeResult.plus).items():
        gauge = family(GaugeMetricFamily, key.name, "A gauge of the program.")
        gauge.add_metric(key[1:], value.value)
    yield from made.values()


def _without_clashes(found: Iterator[Metric]) -> Iterator[Metric]:
    """Leave out families with a name that another family has: Prometheus would refuse all metrics."""
    taken: set[str] = set()
    for family in found:
        names = {family.name, *(sample.name for sample in family.samples)}
        if names & taken:
            _LOG.debug("the %s %s is left out: its name is taken", family.type, family.name)
            continue
        taken |= names
        yield family
