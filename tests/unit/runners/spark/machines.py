"""State machines that write a stream step by step: elements, watermark and clock advance, workers fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.strategies.arriving import offsets
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.strategies.targeted_runs import merging_after_firing
from headrace.sdk.testing.streams.script import ScriptEvent
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.laws.event_by_event import EventRunner

from .stage_runner import StageRunner, unordered

BURSTS = st.lists(
    st.tuples(st.sampled_from("ab"), st.integers(0, 9), offsets()), min_size=1, max_size=4
)


class StreamMachine(RuleBasedStateMachine):
    """Writes a stream for some groupings in a row.

    Attributes:
        run: the stream so far.
        groups: the number of key groups.
        tasks: the number of tasks that read the input.
    """

    def __init__(self) -> None:
        super().__init__()
        self.run = Run((), ())
        self.groups = self.tasks = 1
        self._watermark = 0
        self._clock = 0
        self._dying = False
        self._drained = False

    @initialize(
        drawn=st.one_of(runs(1), runs(2), runs(3), merging_after_firing()),
        groups=st.integers(1, 3),
        tasks=st.integers(1, 2),
    )
    def begin(self, drawn: Run, groups: int, tasks: int) -> None:
        self.run = Run((), drawn.steps)
        self.groups, self.tasks = groups, tasks

    @precondition(lambda self: not self._drained)
    @rule(burst=BURSTS)
    def add_elements(self, burst: Sequence[tuple[str, int, int]]) -> None:
        rows = tuple((key, value, self._watermark + apart, 1) for key, value, apart in burst)
        self._write(("elements", rows))

    @precondition(lambda self: not self._drained)
    @rule(units=st.integers(1, 8))
    def advance_watermark(self, units: int) -> None:
        self._watermark += units * SECOND
        self._write(("watermark", self._watermark))

    @precondition(lambda self: not self._drained)
    @rule(seconds=st.integers(1, 12))
    def advance_clock(self, seconds: int) -> None:
        self._clock += seconds * SECOND
        self._write(("clock", self._clock))

    @precondition(lambda self: not self._drained)
    @rule()
    def kill_and_resume(self) -> None:
        """Let the workers fail in the next event."""
        self._dying = True

    @precondition(lambda self: self.run.script and not self._drained)
    @rule()
    def drain(self) -> None:
        self._drained = True
        self._write(("watermark", MAX_MICROS))

    @precondition(lambda self: self._drained)
    @rule()
    def rest(self) -> None:
        """Do nothing, so that there always is a rule to run."""

    def _write(self, event: ScriptEvent) -> None:
        self.run = Run((*self.run.script, event), self.run.steps)
        self.happen(event, self._dying)
        self._dying = False

    def happen(self, event: ScriptEvent, dying: bool) -> None:
        """Process an event."""

    def teardown(self) -> None:
        if self.run.steps and not self._drained:
            self.drain()


class SideBySide(StreamMachine):
    """Runs the local runner's code and that of Spark's workers on the stream as it is written."""

    def __init__(self) -> None:
        super().__init__()
        self._sides: tuple[Any, Any] | None = None

    def happen(self, event: ScriptEvent, dying: bool) -> None:
        if self._sides is None:
            self._sides = (
                EventRunner(self.run),
                StageRunner(self.run, self.groups, self.tasks),
            )
        local, stages = self._sides
        local.play(event)
        stages.play(event, dying)
        found, expected = (list(map(unordered, side.heard)) for side in (stages, local))
        assert found == expected, self.run
