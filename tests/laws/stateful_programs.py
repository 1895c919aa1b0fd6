"""Stateful programs of the oracle as DoFns, strategies that draw them, and runs of them.

A program runs in the executor event by event, which shows the event of each output and the output watermark
after each event; or on any runner, with others side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

import attrs
from hypothesis import strategies as st

import headrace as hr
from headrace.runners.engine.executor import Executor
from headrace.runners.engine.operators import operators_of
from headrace.runners.plan.planning import plan
from headrace.sdk.testing.assertions.capturing import Capture, Captured, capture
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.streams.alignment import aligned
from headrace.sdk.testing.streams.script import (
    ScriptEvent,
    event_at,
    rows_of,
    stamped,
    stream,
    ticking,
)
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.windowing import FixedWindows, SlidingWindows
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.time.units import SECOND
from tests.laws.event_by_event import Time
from tests.laws.oracle.stateful import Actions, Emitted, Program, Stateful
from tests.laws.oracle.windows import Sliding

BAG = BagStateSpec("bag")
COUNTER = CombiningValueStateSpec("counter", sum)
BY_EVENT = TimerSpec("by event", TimeDomain.WATERMARK)
BY_CLOCK = TimerSpec("by clock", TimeDomain.REAL_TIME)


class Machine(hr.DoFn):
    """Does the actions of a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.do = do_with_changes if program.changes else do

    def process(
        self,
        element: Any,
        time: Any = hr.DoFn.TimestampParam,
        bag: Any = hr.DoFn.StateParam(BAG),
        counter: Any = hr.DoFn.StateParam(COUNTER),
        by_event: Any = hr.DoFn.TimerParam(BY_EVENT),
        by_clock: Any = hr.DoFn.TimerParam(BY_CLOCK),
    ) -> Any:
        key, value = element
        actions = self.program.elements[value % len(self.program.elements)]
        return self.do(actions, key, value, time, bag, counter, by_event, by_clock)

    @on_timer(BY_EVENT)
    def fire(
        self,
        key: Any = hr.DoFn.KeyParam,
        tag: Any = hr.DoFn.DynamicTimerTagParam,
        time: Any = hr.DoFn.TimestampParam,
        bag: Any = hr.DoFn.StateParam(BAG),
        counter: Any = hr.DoFn.StateParam(COUNTER),
        by_event: Any = hr.DoFn.TimerParam(BY_EVENT),
        by_clock: Any = hr.DoFn.TimerParam(BY_CLOCK),
    ) -> Any:
        return self.do(self.program.event, key, tag, time, bag, counter, by_event, by_clock)

    @on_timer(BY_CLOCK)
    def tick(
        self,
        key: Any = hr.DoFn.KeyParam,
        tag: Any = hr.DoFn.DynamicTimerTagParam,
        time: Any = hr.DoFn.TimestampParam,
        bag: Any = hr.DoFn.StateParam(BAG),
        counter: Any = hr.DoFn.StateParam(COUNTER),
        by_event: Any = hr.DoFn.TimerParam(BY_EVENT),
        by_clock: Any = hr.DoFn.TimerParam(BY_CLOCK),
    ) -> Any:
        return self.do(self.program.clock, key, tag, time, bag, counter, by_event, by_clock)


class ExpiringMachine(Machine):
    """A machine with a method for the end of a window."""

    @on_window_expiration
    def expire(
        self,
        key: Any = hr.DoFn.KeyParam,
        time: Any = hr.DoFn.TimestampParam,
        bag: Any = hr.DoFn.StateParam(BAG),
        counter: Any = hr.DoFn.StateParam(COUNTER),
        by_event: Any = hr.DoFn.TimerParam(BY_EVENT),
        by_clock: Any = hr.DoFn.TimerParam(BY_CLOCK),
    ) -> Any:
        actions = self.program.expiration
        return self.do(actions or (), key, "end", time, bag, counter, by_event, by_clock)


class Parts(NamedTuple):
    """What a call of a machine's method has got."""

    what: Any
    time: Timestamp
    bag: Any
    counter: Any
    by_event: Any
    by_clock: Any

    def set(self, tag: str, delay: int, output: int | None) -> None:
        stamp = None if output is None else self.time + Duration(micros=output)
        self.by_event.set(self.time + Duration(micros=delay), tag, stamp)

    def clear(self) -> None:
        self.bag.clear()
        self.counter.clear()


VERBS: dict[str, Callable[..., None]] = {
    "add": lambda parts: parts.bag.add(parts.what),
    "count": lambda parts: parts.counter.add(1),
    "clear": Parts.clear,
    "set": Parts.set,
    "unset": lambda parts, tag: parts.by_event.clear(tag),
    "wait": lambda parts, tag, time: parts.by_clock.set(Timestamp(micros=time), tag),
    "stop": lambda parts, tag: parts.by_clock.clear(tag),
}


def do(actions: Actions, key: Any, *given: Any) -> Iterable[Any]:
    """Do the actions of a call; yield its outputs."""
    parts = Parts(*given)
    for verb, *more in actions:
        if verb == "emit":
            yield key, (more[0], parts.what, tuple(parts.bag.read()), parts.counter.read())
        else:
            VERBS[verb](parts, *more)


def do_with_changes(actions: Actions, key: Any, *given: Any) -> Iterable[Any]:
    """Do the actions with each value in a list, and change these lists when they are no longer needed."""
    parts = Parts(*given)
    for verb, *more in actions:
        if verb == "emit":
            values = parts.bag.read()
            output = key, (more[0], parts.what, values, parts.counter.read())
            yield output
            spoil(values)
        elif verb == "add":
            value = [parts.what]
            parts.bag.add(value)
            spoil([value])
            spoil(parts.bag.read())
        else:
            VERBS[verb](parts, *more)


def spoil(values: list[Any]) -> None:
    """Change lists."""
    for value in values:
        value.append("changed")
    values.append(["changed"])


@attrs.frozen
class StatefulRun:
    """A program, its windows, and a script."""

    program: Program
    windows: Sliding
    lateness: int
    script: tuple[ScriptEvent, ...]

    @property
    def transform(self) -> hr.WindowInto:
        size, period = (Duration(micros=n) for n in (self.windows.size, self.windows.period))
        window_fn = FixedWindows(size) if size == period else SlidingWindows(size, period)
        return hr.WindowInto(window_fn, allowed_lateness=Duration(micros=self.lateness))

    @property
    def machine(self) -> Machine:
        kind = Machine if self.program.expiration is None else ExpiringMachine
        return kind(self.program)


# Strategies

TAGS = st.sampled_from(["", "x"])
SECONDS = st.integers(0, 8).map(lambda n: n * SECOND)

STATE_ACTIONS = st.one_of(
    st.just(("add",)),
    st.just(("count",)),
    st.just(("clear",)),
    st.builds(lambda name: ("emit", name), st.sampled_from("ef")),
)
CLEARING = st.one_of(
    st.builds(lambda tag: ("unset", tag), TAGS), st.builds(lambda tag: ("stop", tag), TAGS)
)


def _ahead(tag: str, delay: int, output: int | None) -> tuple[Any, ...]:
    return "set", tag, delay, output if output is None else min(output, delay)


AHEAD = st.builds(_ahead, TAGS, SECONDS, st.one_of(st.none(), SECONDS))
BEHIND = st.builds(lambda tag, by: ("set", tag, -by, None), TAGS, SECONDS)
AGAIN = st.builds(lambda tag, by: ("set", tag, by + SECOND, None), TAGS, SECONDS)
WAITING = st.builds(lambda tag, n: ("wait", tag, n * SECOND), TAGS, st.integers(0, 60))


def actions(*kinds: st.SearchStrategy[Any]) -> st.SearchStrategy[Actions]:
    """Draw actions; a timer that fires may only set event-time timers that are later than itself."""
    return st.lists(st.one_of(STATE_ACTIONS, STATE_ACTIONS, *kinds), max_size=4).map(tuple)


def programs() -> st.SearchStrategy[Program]:
    """Draw programs; no timer of one sets another to its own time, so each program ends."""
    for_elements = actions(AHEAD, AHEAD, BEHIND, WAITING, CLEARING)
    when_fired = actions(AGAIN, CLEARING)
    emitting = when_fired.map(lambda some: (*some, ("emit", "t")))
    return st.builds(
        Program,
        st.lists(for_elements, min_size=1, max_size=3).map(tuple),
        emitting,
        emitting,
        st.one_of(st.none(), emitting),
        st.booleans(),
    )


WINDOWS = st.sampled_from([Sliding(5, 5), Sliding(10, 10), Sliding(10, 5), Sliding(8, 2)]).map(
    lambda w: Sliding(w.size * SECOND, w.period * SECOND)
)


def stateful_runs(ticks: bool = False) -> st.SearchStrategy[StatefulRun]:
    """Draw runs; with ``ticks`` the clock advances before each event, as in runs side by side."""
    drawn = scripts().map(ticking) if ticks else scripts()
    lateness = st.sampled_from([0, 0, SECOND, 7 * SECOND])
    return st.builds(StatefulRun, programs(), WINDOWS, lateness, drawn.map(tuple))


# Runs

Outputs = dict[Any, list[Emitted]]
"""The outputs of each key, in order."""


def by_key(emitted: Iterable[Emitted]) -> Outputs:
    found = defaultdict(list)
    for each in emitted:
        found[each.key].append(each)
    return dict(found)


def oracle(run: StatefulRun) -> Stateful:
    """What the oracle makes of a run."""
    return Stateful(run.program, run.windows, run.lateness).play(run.script)


def emitted(row: Captured, event: int) -> Emitted:
    key, (name, what, values, counter) = row.value
    if isinstance(values, list):  # of a program that changes lists
        values = tuple(each[0] if len(each) == 1 else each for each in values)
    value = name, what, values, counter
    window = row.window.start.micros, row.window.end.micros
    return Emitted(key, window, value, row.timestamp.micros, event)


@attrs.frozen
class Seen:
    """The outputs of a run, the late elements, and the output watermarks after each event."""

    outputs: Outputs
    dropped: int
    watermarks: list[int]


def run_events(run: StatefulRun) -> Seen:
    """Run a script in the executor, event by event."""
    with unchecked_pipeline() as p:
        machine = p | hr.Create([]) | run.transform | "machine" >> hr.ParDo(run.machine)
        captured = capture(machine)
    executor = Executor(p.graph.nodes, operators_of(plan(p.graph), batch=False))
    executor.open()
    time, read = Time(), next(iter(p.graph))
    found: list[Emitted] = []
    marks = []
    for event in run.script:
        arrivals, before = time.advance(event), len(captured.elements)
        if arrivals is not None:
            executor.feed(read, arrivals)
        executor.end_round({read.label: time.watermark}, time.now)
        found += [emitted(row, time.event) for row in captured.elements[before:]]
        marks.append(executor.metrics().steps["machine"].watermark)
    return Seen(by_key(found), executor.metrics().steps["machine"].late_dropped, marks)


def run_side_by_side(runs: Sequence[StatefulRun], runner: Any) -> list[Outputs]:
    """Run ticking scripts as streams in one pipeline, on a runner."""
    ticks = max(clocks(run.script) for run in runs)
    streams = aligned([stream(_padded(run.script, ticks)) for run in runs])

    def event_of(row: Captured) -> int:
        return event_at(row.now.micros)

    return _run_all(runs, streams, runner, event_of)


def _padded(script: Sequence[ScriptEvent], ticks: int) -> list[ScriptEvent]:
    """Return a ticking script with further steps of the clock."""
    return [*script, *(("clock", n * SECOND) for n in range(clocks(script) + 1, ticks + 1))]


def clocks(script: Sequence[ScriptEvent]) -> int:
    """The number of steps of the clock."""
    return sum(kind == "clock" for kind, _ in script)


def run_batch(runs: Sequence[StatefulRun], runner: Any = None) -> list[Outputs]:
    """Run batches of all rows in one pipeline."""
    sources = [hr.Create(list(map(stamped, rows_of(run.script)))) for run in runs]
    return _run_all(runs, sources, runner, lambda row: -1)


CHANGES: Final = ("--no-check-mutation",)
"""The flags of runs whose DoFns change what they have emitted, which the check refuses."""


def _run_all(
    runs: Sequence[StatefulRun],
    sources: Sequence[Any],
    runner: Any,
    event_of: Callable[[Captured], int],
) -> list[Outputs]:
    captures: list[Capture] = []
    with unchecked_pipeline(runner, CHANGES) as p:
        for n, (run, source) in enumerate(zip(runs, sources, strict=True)):
            rows = p | f"source {n}" >> source | f"windows {n}" >> run.transform
            machine = rows | f"machine {n}" >> hr.ParDo(run.machine)
            captures.append(capture(machine, f"capture {n}"))
        p.run()
    return [by_key(emitted(row, event_of(row)) for row in each.elements) for each in captures]
