"""The history of a run in bounded memory: rounds, which are merged as they become many, and samples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

import attrs

from headrace.sdk.metrics.observer import RunObserver
from headrace.sdk.metrics.run_records import ElementRecord, PaneRecord, Round, RunOutline
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pipelines.result import PipelineState
from headrace.windowing.time.units import MINUTE

SPANS: Final = 400
"""Maximum number of spans of a history."""

LAST_SPANS: Final = 100
"""Number of the last spans, which are not merged."""

KEPT_RECORDS: Final = 3_000
"""Maximum number of records of each kind that a history keeps of a grouping."""

ROOM: Final = KEPT_RECORDS * 3 // 4
"""Number of records that stay when keys are left out."""

KEPT_KEYS: Final = 3
"""Number of keys that stay, however many records there are."""

FEW_RECORDS: Final = 10
ENOUGH_RECORDS: Final = 50
"""Numbers of records with which a key says little, and with which it says as much as one with more."""


@attrs.define
class Span:
    """One or more rounds in a row.

    Attributes:
        start: processing time of the first round in microseconds.
        end: processing time of the last round in microseconds.
        rounds: number of rounds.
        steps: the metrics of each step in these rounds, by label; the watermark is the last one.
        state: number of stored states after the last round, by label.
        seconds: how long the rounds took together, in seconds; 0 if that is not known.
        longest: how long the longest of them took, in seconds.
    """

    start: int
    end: int
    rounds: int
    steps: dict[str, StepMetrics]
    state: dict[str, int]
    seconds: float = 0.0
    longest: float = 0.0

    @staticmethod
    def of(done: Round) -> Span:
        """Return the span of one round."""
        steps = {label: metrics.copy() for label, metrics in done.steps.items()}
        took = done.seconds
        return Span(done.now, done.now, 1, steps, dict(done.state), took, took)

    def followed_by(self, other: Span) -> Span:
        """Return this span and the next one as one."""
        steps = {label: metrics.copy() for label, metrics in self.steps.items()}
        for label, metrics in other.steps.items():
            steps.setdefault(label, StepMetrics()).add(metrics)
        rounds, state = self.rounds + other.rounds, {**self.state, **other.state}
        seconds, longest = self.seconds + other.seconds, max(self.longest, other.longest)
        return Span(self.start, other.end, rounds, steps, state, seconds, longest)


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

    If there are too many records, keys are left out, with all their records: first those that have come and
    gone. Of a few keys the first records and the last ones stay, without gaps among them.

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
    _now: int = 0
    _last: dict[str, int] = attrs.field(factory=dict)
    _left_out: set[str] = attrs.field(factory=set)

    def add(self, elements: Sequence[SeenElement], panes: Sequence[SeenPane]) -> None:
        """Add the records of a round."""
        self._now = max([self._now, *(seen[-1].now for seen in (elements, panes) if seen)])
        if self._left_out and len(self._living()) < KEPT_KEYS:
            self._left_out.clear()
        self.elements += [e for e in elements if self._follows(e.element.key, e.now)]
        self.panes += [p for p in panes if self._follows(p.pane.key, p.now)]
        if len(self.elements) > KEPT_RECORDS or len(self.panes) > KEPT_RECORDS:
            self._thin()

    def ranked(self) -> list[str]:
        """Return the keys, those first that say most: with enough records, then those that live."""
        counts, living = self._counts(), self._living()

        def rank(key: str) -> tuple[bool, bool, int]:
            return counts[key] < FEW_RECORDS, key not in living, -min(counts[key], ENOUGH_RECORDS)

        return sorted(self.keys, key=rank)

    def _follows(self, key: str, now: int) -> bool:
        if key in self._left_out:
            return False
        if key not in self._last:
            self.keys.append(key)
        self._last[key] = now
        return True

    def _counts(self) -> Counter[str]:
        """Return the number of elements or panes of each key, whichever are more."""
        elements = Counter(seen.element.key for seen in self.elements)
        return elements | Counter(seen.pane.key for seen in self.panes)

    def _living(self) -> set[str]:
        """Return the keys that were seen in the last tenth of the time, or in the last minute."""
        first = min((seen[0].now for seen in (self.elements, self.panes) if seen), default=0)
        least = self._now - max((self._now - first) // 10, MINUTE)
        return {key for key in self.keys if self._last[key] >= least}

    def _thin(self) -> None:
        """Leave out keys until there is room, then records; keys that live may come in again."""
        self.thinned = True
        counts, living = self._counts(), self._living()
        order = sorted(
            self.keys,
            key=lambda key: (key in living, min(counts[key], ENOUGH_RECORDS), self._last[key]),
        )
        left = sum(counts.values())
        removed: set[str] = set()
        for key in order[: max(len(order) - KEPT_KEYS, 0)]:
            if left <= ROOM:
                break
            left -= counts[key]
            removed.add(key)
        self._remove(removed)
        self._left_out |= removed & living
        if len(self._left_out) > KEPT_RECORDS:
            self._left_out.clear()
        self.elements, self.panes = _without_middle(self.elements), _without_middle(self.panes)

    def _remove(self, removed: set[str]) -> None:
        self.keys = [key for key in self.keys if key not in removed]
        self._last = {key: self._last[key] for key in self.keys}
        self.elements = [e for e in self.elements if e.element.key not in removed]
        self.panes = [p for p in self.panes if p.pane.key not in removed]


def _without_middle(records: list[Any]) -> list[Any]:
    """Return the first and the last third of records, if there are too many."""
    third = KEPT_RECORDS // 3
    return [*records[:third], *records[-third:]] if len(records) > KEPT_RECORDS else records


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
        """Merge old spans into spans of about the same number of rounds; the last ones stay as they are."""
        old = self.spans[:-LAST_SPANS]
        least = 2 * sum(span.rounds for span in old) // (SPANS - LAST_SPANS)
        merged: list[Span] = []
        for span in old:
            if merged and merged[-1].rounds < least:
                merged[-1] = merged[-1].followed_by(span)
            else:
                merged.append(span)
        self.spans = merged + self.spans[-LAST_SPANS:]


def _earliest(steps: Mapping[str, StepMetrics], labels: Iterable[str]) -> int:
    known = (steps[label].watermark for label in labels if label in steps)
    return min(known, default=StepMetrics().watermark)
