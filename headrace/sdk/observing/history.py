"""The history of a run in bounded memory: rounds, which are merged as they become many, and samples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import attrs

from headrace.sdk.observing.observer import RunObserver
from headrace.sdk.observing.records import ElementRecord, PaneRecord, Round, RunOutline
from headrace.sdk.result import PipelineState
from headrace.sdk.step_metrics import StepMetrics

SPANS: Final = 400
"""Maximum number of spans of a history."""

RECORDS: Final = 3_000
"""Maximum number of records of each kind that a history keeps of a grouping."""

KEPT_KEYS: Final = 3
"""Number of keys that stay, however many records there are."""


@attrs.define
class Span:
    """One or more rounds in a row.

    Attributes:
        start: processing time of the first round in microseconds.
        end: processing time of the last round in microseconds.
        rounds: number of rounds.
        steps: the metrics of each step in these rounds, by label; the watermark is the last one.
        state: number of stored states after the last round, by label.
    """

    start: int
    end: int
    rounds: int
    steps: dict[str, StepMetrics]
    state: dict[str, int]

    @staticmethod
    def of(done: Round) -> Span:
        """Return the span of one round."""
        steps = {label: metrics.copy() for label, metrics in done.steps.items()}
        return Span(done.now, done.now, 1, steps, dict(done.state))

    def followed_by(self, other: Span) -> Span:
        """Return this span and the next one as one."""
        steps = {label: metrics.copy() for label, metrics in self.steps.items()}
        for label, metrics in other.steps.items():
            steps.setdefault(label, StepMetrics()).add(metrics)
        rounds, state = self.rounds + other.rounds, {**self.state, **other.state}
        return Span(self.start, other.end, rounds, steps, state)


class SeenElement(NamedTuple):
    """An element of a sample.

    Attributes:
        now: processing time at which it arrived, in microseconds.
        element: the element.
        late: whether the watermark had passed it when it arrived.
    """

    now: int
    element: ElementRecord
    late: bool


class SeenPane(NamedTuple):
    """A pane of a sample.

    Attributes:
        now: processing time at which it was emitted, in microseconds.
        pane: the pane, or the retraction of one.
    """

    now: int
    pane: PaneRecord


@attrs.define
class GroupingHistory:
    """Samples of a grouping: of the keys in ``keys``, in order of processing time.

    If there are too many records, the last key is left out, with all its records; of a few keys the first
    records and the last ones stay, without gaps among them.

    Attributes:
        keys: the keys, in the order in which they were first seen.
        elements: the elements that arrived.
        panes: the panes that were emitted.
        thinned: whether records were left out.
    """

    keys: list[str] = attrs.field(factory=list)
    elements: list[SeenElement] = attrs.field(factory=list)
    panes: list[SeenPane] = attrs.field(factory=list)
    thinned: bool = False
    _left_out: set[str] = attrs.field(factory=set)

    def add(self, elements: Iterable[SeenElement], panes: Iterable[SeenPane]) -> None:
        """Add the records of a round."""
        self.elements += [e for e in elements if self._follows(e.element.key)]
        self.panes += [p for p in panes if self._follows(p.pane.key)]
        while len(self.elements) > RECORDS or len(self.panes) > RECORDS:
            self._thin()

    def _follows(self, key: str) -> bool:
        if key in self._left_out:
            return False
        if key not in self.keys:
            self.keys.append(key)
        return True

    def _thin(self) -> None:
        self.thinned = True
        if len(self.keys) > KEPT_KEYS:
            last = self.keys.pop()
            self._left_out.add(last)
            self.elements = [e for e in self.elements if e.element.key != last]
            self.panes = [p for p in self.panes if p.pane.key != last]
            return
        self.elements, self.panes = _without_middle(self.elements), _without_middle(self.panes)


def _without_middle(records: list[Any]) -> list[Any]:
    """Return the first and the last third of records, if there are too many."""
    third = RECORDS // 3
    return [*records[:third], *records[-third:]] if len(records) > RECORDS else records


class History(RunObserver):
    """Keeps what a report or a live page shows of a run.

    Attributes:
        run: the run; None before its start.
        spans: rounds, from the first to the last; neighbours are merged as they become many.
        groupings: samples by the label of the grouping, in the order of the graph.
        totals: the metrics of each step over all rounds, by label.
        state: the state of the run.
        error: the error of a failed run, as text.
    """

    wants_samples: ClassVar[bool] = True

    def __init__(self) -> None:
        self.run: RunOutline | None = None
        self.spans: list[Span] = []
        self.groupings: dict[str, GroupingHistory] = {}
        self.totals: dict[str, StepMetrics] = {}
        self.state: str = PipelineState.STARTING
        self.error: str = ""

    def start(self, run: RunOutline) -> None:
        """Begin."""
        self.run, self.state = run, PipelineState.RUNNING
        self.groupings = {step.label: GroupingHistory() for step in run.steps if step.groups}
        self.totals = {step.label: StepMetrics() for step in run.steps}

    def round(self, done: Round) -> None:
        """Add a round."""
        for label, samples in done.samples.items():
            watermark = self._input_watermark(label)
            self.groupings[label].add(
                [SeenElement(done.now, e, e.timestamp < watermark) for e in samples.elements],
                [SeenPane(done.now, p) for p in samples.panes],
            )
        for label, metrics in done.steps.items():
            self.totals[label].add(metrics)
        self.spans.append(Span.of(done))
        if len(self.spans) > SPANS:
            self._merge_neighbours()

    def end(self, state: str, error: BaseException | None = None) -> None:
        """End."""
        self.state, self.error = state, "" if error is None else str(error)

    def watermarks(self, label: str) -> list[tuple[int, int]]:
        """Return (processing time, input watermark) of a step after each span, in microseconds."""
        inputs = self._inputs(label)
        return [(span.end, _earliest(span.steps, inputs)) for span in self.spans]

    def _inputs(self, label: str) -> tuple[str, ...]:
        steps = self.run.steps if self.run else ()
        return next((step.inputs for step in steps if step.label == label), ())

    def _input_watermark(self, label: str) -> int:
        """Return the input watermark of a step after the rounds so far."""
        return _earliest(self.totals, self._inputs(label))

    def _merge_neighbours(self) -> None:
        spans = self.spans
        pairs = zip(spans[0:-1:2], spans[1::2], strict=False)
        rest = spans[-1:] if len(spans) % 2 else []
        self.spans = [one.followed_by(other) for one, other in pairs] + rest


def _earliest(steps: Mapping[str, StepMetrics], labels: Iterable[str]) -> int:
    known = (steps[label].watermark for label in labels if label in steps)
    return min(known, default=StepMetrics().watermark)
