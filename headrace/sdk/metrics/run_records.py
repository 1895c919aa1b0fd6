"""Messages of a run to its observers: an outline of its graph, and the records of each round."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import attrs

from headrace.sdk.metrics.cells import MetricResults
from headrace.sdk.metrics.step_metrics import StepMetrics

SHOWN: int = 60
"""Maximum length of a value or key in a record, as text."""


FirstRows: TypeAlias = Callable[[int], Sequence[Mapping[str, Any]] | None]


@attrs.frozen
class StepOutline:
    """A step of a run.

    Attributes:
        label: full label.
        kind: name of the primitive, such as ``Read``, ``ParDo`` or ``CombinePerKey``.
        inputs: the labels of the steps whose outputs it reads.
        properties: what is known of the step, by name: windows, trigger, panes, allowed lateness.
        groups: whether it is a grouping, so that its panes are recorded.
        place: where a source reads or a sink writes, such as a path or a table; empty if unknown.
        first_rows: returns at most that many rows of what a sink has written; None if there is no such view.
    """

    label: str
    kind: str
    inputs: tuple[str, ...]
    properties: Mapping[str, str] = attrs.field(factory=dict)
    groups: bool = False
    place: str = ""
    first_rows: FirstRows | None = attrs.field(default=None, repr=False, eq=False)


@attrs.frozen
class RunOutline:
    """A run.

    Attributes:
        name: name of the run, unique.
        job: name of the program, or the name that ``--job_name`` gives.
        runner: ``"local"`` or ``"spark"``.
        streaming: whether there are many rounds.
        started: time of its start in microseconds since 1970.
        steps: the steps, each after those that it reads from.
    """

    name: str
    job: str
    runner: str
    streaming: bool
    started: int
    steps: tuple[StepOutline, ...]


class ElementRecord(NamedTuple):
    """An element that reached a grouping.

    Attributes:
        key: its key, as text.
        value: its value, as text, or the number itself.
        timestamp: event time in microseconds.
        diff: +1, or -1 for a retraction.
    """

    key: str
    value: Any
    timestamp: int
    diff: int


class PaneRecord(NamedTuple):
    """A pane of a grouping, or the retraction of one.

    Attributes:
        key: its key, as text.
        value: its value, as text, or the number itself.
        timestamp: event time in microseconds.
        start: start of its window in microseconds; the least time for the global window.
        end: end of its window in microseconds.
        timing: ``"EARLY"``, ``"ON_TIME"``, ``"LATE"`` or ``"UNKNOWN"``.
        pane_index: number of the pane in its window, from 0.
        diff: +1, or -1 for a retraction.
    """

    key: str
    value: Any
    timestamp: int
    start: int
    end: int
    timing: str
    pane_index: int
    diff: int


@attrs.define
class Samples:
    """Records of one grouping in one round: of a few keys, which stay the same from round to round.

    Attributes:
        elements: elements that arrived.
        panes: panes and retractions that were emitted, in order.
    """

    elements: list[ElementRecord] = attrs.field(factory=list)
    panes: list[PaneRecord] = attrs.field(factory=list)


@attrs.frozen
class Round:
    """A round of a run: a micro-batch, an event of a test stream, or the whole input of a batch.

    Attributes:
        number: number of the round, from 0.
        now: processing time in microseconds.
        steps: the metrics of each step in this round only, by label; the watermark is the output watermark.
        state: number of stored states of each step that has state, by label: one per key, or one per key
            and window.
        samples: records of each grouping by label; empty if no observer wants samples.
        totals: the metrics of the run so far.
        engine: numbers of the engine that runs the pipeline: on Spark the number, the duration in seconds and
            the input rows of the last completed batch.
        seconds: how long the round took, in seconds, without waiting for input; on Spark how long the last
            completed batch took. 0 if that is not known.
    """

    number: int
    now: int
    steps: Mapping[str, StepMetrics]
    state: Mapping[str, int]
    samples: Mapping[str, Samples]
    totals: MetricResults
    engine: Mapping[str, float] = attrs.field(factory=dict)
    seconds: float = 0.0
