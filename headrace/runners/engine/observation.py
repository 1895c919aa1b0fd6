"""The observation of a run: its outline, and the calls to its observers."""

from __future__ import annotations

import logging
import sys
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import attrs

from headrace.runners.plan.description import properties
from headrace.runners.plan.planning import Plan
from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import FirstRows, Round, RunOutline, Samples, StepOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.observing.options import observers_of
from headrace.sdk.options.pipeline_options import PipelineOptions, StandardOptions
from headrace.sdk.pipelines.graph import CombinePerKey, GroupByKey, Node, Read, Write
from headrace.sdk.pipelines.result import PipelineState
from headrace.sdk.sources.sink import Sink

_LOG: Final = logging.getLogger(__name__)


def is_sampled(node: Node) -> bool:
    """Return whether a node's elements and panes are sampled."""
    return isinstance(node, GroupByKey | CombinePerKey)


@attrs.define(eq=False)
class RunObservers:
    """Tells the observers of a run what happens.

    Args:
        observers: the observers.
        run: the outline of the run.
    """

    observers: list[RunObserver]
    run: RunOutline
    _before: dict[str, StepMetrics] = attrs.field(factory=dict, init=False)
    _rounds: int = attrs.field(default=0, init=False)

    @staticmethod
    def of(options: PipelineOptions, planned: Plan, runner: str, streaming: bool) -> RunObservers:
        """Return the observation that options ask for; without observers it does nothing."""
        run = RunOutline(
            name=uuid.uuid4().hex,
            job=options.view_as(StandardOptions).job_name or Path(sys.argv[0]).stem or "headrace",
            runner=runner,
            streaming=streaming,
            started=time.time_ns() // 1000,
            steps=tuple(_outlines(planned)),
        )
        return RunObservers(observers_of(options), run)

    @property
    def is_on(self) -> bool:
        """Whether there are observers."""
        return bool(self.observers)

    @property
    def sampled(self) -> frozenset[str] | None:
        """The labels of the steps to sample; None if there are no observers."""
        if not self.observers:
            return None
        if not any(observer.wants_samples for observer in self.observers):
            return frozenset()
        return frozenset(step.label for step in self.run.steps if step.groups)

    def start(self) -> None:
        """Tell the observers that the run starts."""
        for number, observer in enumerate(self.observers):
            try:
                observer.start(self.run)
            except BaseException as error:
                del self.observers[number:]
                self.end(PipelineState.FAILED, error)
                self.observers.clear()
                raise

    def round(
        self,
        now: int,
        totals: MetricResults,
        state: Mapping[str, int],
        samples: Mapping[str, Samples],
        engine: Mapping[str, float] | None = None,
        seconds: float = 0.0,
    ) -> None:
        """Tell the observers of a round.

        Args:
            now: processing time in microseconds.
            totals: the metrics of the run so far.
            state: number of stored states by label.
            samples: samples by label.
            engine: numbers of the engine that runs the pipeline.
            seconds: how long the round took.
        """
        if not self.observers:
            return
        steps = {label: step.since(self._before.get(label)) for label, step in totals.steps.items()}
        self._before = {label: step.copy() for label, step in totals.steps.items()}
        done = Round(self._rounds, now, steps, state, samples, totals, engine or {}, seconds)
        self._rounds += 1
        for observer in self.observers:
            with _logged(observer):
                observer.round(done)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Tell the observers of a run that is the body of this context."""
        self.start()
        try:
            yield
        except BaseException as error:
            self.end(PipelineState.FAILED, error)
            raise
        self.end(PipelineState.DONE)

    def end(self, state: str, error: BaseException | None = None) -> None:
        """Tell the observers that the run has ended."""
        for observer in self.observers:
            with _logged(observer):
                observer.end(state, error)


@contextmanager
def _logged(observer: RunObserver) -> Iterator[None]:
    try:
        yield
    except Exception:
        _LOG.exception("the observer %s failed; the run goes on", type(observer).__name__)


def _outlines(planned: Plan) -> Iterator[StepOutline]:
    for node in planned.graph:
        step = planned.steps.get(node.label)
        yield StepOutline(
            label=node.label,
            kind=type(node).__name__,
            inputs=tuple(source.node for source in node.inputs),
            properties={} if step is None else _joined(properties(step)),
            groups=is_sampled(node),
            place=_place(node),
            first_rows=_first_rows(node),
        )


def _first_rows(node: Node) -> FirstRows | None:
    """Return the function that reads the first rows of a sink, if the sink has one."""
    sink = node.sink if isinstance(node, Write) else None
    shows = isinstance(sink, Sink) and type(sink).first_rows is not Sink.first_rows
    return sink.first_rows if sink is not None and shows else None


def _joined(facts: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return facts by name; several with one name are joined."""
    found: dict[str, str] = {}
    for name, text in facts:
        found[name] = f"{found[name]}; {text}" if name in found else text
    return found


def _place(node: Node) -> str:
    """Return where a source reads or a sink writes, if it says so."""
    end: Any = None
    if isinstance(node, Read):
        end = node.source
    elif isinstance(node, Write):
        end = node.sink
    return str(getattr(end, "dataset", ""))
