"""Laws of stateful DoFns: the runners do what a model in plain Python does, and a stream what a batch does.

Then bugs are seeded, and the law finds each of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings, strategies as st

import headrace as hr
from headrace.runners.stateful import stateful_outputs
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_state import KeyCells
from headrace.sdk.coders.own_values import Copies
from headrace.sdk.pardo.state.state_cells import BagState
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.streams.script import rows_of, stamped, stream
from headrace.testing import TestPipeline, capture
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    OrderedListStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.windowing import FixedWindows, SlidingWindows
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.conftest import ON_SPARK
from tests.faults.days import in_turns
from tests.laws.holds import forget_hold
from tests.laws.oracle.stateful import Stateful
from tests.laws.stateful_programs import (
    StatefulRun,
    by_key,
    clocks,
    oracle,
    run_batch,
    run_events,
    run_side_by_side,
    stateful_runs,
)

SIDE_BY_SIDE = 30
EVENTS = 20
"""Maximum number of events of a script that runs on Spark."""


def check_like_the_oracle(run: StatefulRun) -> None:
    """Values, windows, timestamps and events of outputs, late elements, and output watermarks."""
    expected, seen = oracle(run), run_events(run)
    assert seen.outputs == by_key(expected.emitted)
    assert seen.dropped == expected.dropped
    assert seen.watermarks == expected.watermarks


@given(run=stateful_runs())
def test_a_stateful_program_does_what_the_oracle_does(run: StatefulRun) -> None:
    check_like_the_oracle(run)


@given(run=stateful_runs())
def test_nothing_is_emitted_behind_the_output_watermark(run: StatefulRun) -> None:
    """Unless a late element caused it: here all elements are as late as the watermark at most."""
    punctual = [row for row in rows_of(run.script) if row[2] >= 0]
    script = (("watermark", 0), ("elements", tuple(punctual)), *_marks(run))
    run = attrs.evolve(run, script=script)
    played = oracle(run)
    for each in played.emitted:
        assert each.timestamp >= played.watermarks[each.event - 1]


def _marks(run: StatefulRun) -> list[Any]:
    return [event for event in run.script if event[0] != "elements" and event[1] > 0]


def as_batch(run: StatefulRun) -> Stateful:
    """What the oracle makes of a batch: all elements, and then the end of time; no clock ticks."""
    model = Stateful(run.program, run.windows, run.lateness)
    model.now = -1
    return model.play([("elements", rows_of(run.script)), ("watermark", MAX_MICROS)])


def check_batch(run: StatefulRun, seen: Any) -> None:
    expected = by_key(attrs.evolve(each, event=-1) for each in as_batch(run).emitted)
    assert seen == expected


@given(run=stateful_runs())
def test_a_batch_does_what_the_oracle_does_with_all_elements_at_once(run: StatefulRun) -> None:
    check_batch(run, *run_batch([run]))


SAME = settings(
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
"""Always the same cases, as they are drawn."""


def drawn(strategy: st.SearchStrategy[Any], number: int) -> list[Any]:
    """Always the same random cases."""
    found: list[Any] = []

    @settings(SAME, max_examples=number)
    @given(strategy)
    def draw(case: Any) -> None:
        found.append(case)

    draw()
    return found


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def any_runner(request: pytest.FixtureRequest) -> Any:
    """The runners; not batched, since here the runs share a pipeline already."""
    if request.param == "local":
        return "local"
    return request.getfixturevalue("small_spark")


def test_programs_side_by_side_do_what_the_oracle_does(any_runner: Any) -> None:
    short = stateful_runs(ticks=True).filter(lambda run: len(run.script) <= EVENTS)
    runs = drawn(short, SIDE_BY_SIDE)
    for run, seen in zip(runs, run_side_by_side(runs, any_runner), strict=True):
        script = with_all_ticks(run, runs)
        assert seen == at_ticks(by_key(oracle(script).emitted), script)


def with_all_ticks(run: StatefulRun, runs: list[StatefulRun]) -> StatefulRun:
    """The run with the steps of the clock that the others have in addition, and the end of the stream."""
    ticks, own = max(clocks(each.script) for each in runs), clocks(run.script)
    more = [("clock", n * SECOND) for n in range(own + 1, ticks + 1)]
    return attrs.evolve(run, script=(*run.script, *more, ("watermark", MAX_MICROS)))


def at_ticks(outputs: Any, run: StatefulRun) -> Any:
    """The outputs with the number of the last step of the clock in place of the event."""
    steps = [0, *(what // SECOND for kind, what in run.script if kind == "clock")]
    kinds = [kind for kind, _ in run.script]
    return {
        key: [attrs.evolve(e, event=steps[kinds[: e.event + 1].count("clock")] - 1) for e in rows]
        for key, rows in outputs.items()
    }


def test_batches_side_by_side_do_what_the_oracle_does(any_runner: Any) -> None:
    runs = drawn(stateful_runs(), SIDE_BY_SIDE)
    for run, seen in zip(runs, run_batch(runs, any_runner), strict=True):
        check_batch(run, seen)


# A DoFn that does not depend on the order of arrival


class Before(hr.DoFn):
    """At some time after each element, the values of all elements before that time; at the end, all."""

    ROWS = OrderedListStateSpec("rows")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def __init__(self, delay: int) -> None:
        self.delay = delay

    def process(
        self,
        element: Any,
        time: Any = hr.DoFn.TimestampParam,
        rows: Any = hr.DoFn.StateParam(ROWS),
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> None:
        rows.add((time, element[1]))
        due = time + self.delay
        timer.set(due, str(due.micros))

    @on_timer(TIMER)
    def fire(
        self,
        key: Any = hr.DoFn.KeyParam,
        time: Any = hr.DoFn.TimestampParam,
        rows: Any = hr.DoFn.StateParam(ROWS),
    ) -> Any:
        before = rows.read_range(hr.window.MIN_TIMESTAMP, time)
        yield key, (time.micros, sorted(value for _, value in before))

    @on_window_expiration
    def end(self, key: Any = hr.DoFn.KeyParam, rows: Any = hr.DoFn.StateParam(ROWS)) -> Any:
        yield key, ("all", sorted(value for _, value in rows.read()))


WINDOWS = st.sampled_from([FixedWindows(5), FixedWindows(30), SlidingWindows(10, 4)])


@given(scripts(lateness=0), WINDOWS, st.integers(1, 8))
def test_a_stream_has_the_result_of_a_batch(script: Any, windows: Any, delay: int) -> None:
    rows = hr.Create(list(map(stamped, rows_of(script))))
    played = stream(
        [*script, *[("watermark", MAX_MICROS)] * (("watermark", MAX_MICROS) not in script)]
    )
    results = []
    for source in (played, rows):
        with TestPipeline() as p:
            found = p | source | hr.WindowInto(windows) | hr.ParDo(Before(delay))
            captured = capture(found)
        results.append(sorted((repr(e.value), e.timestamp, e.window) for e in captured.elements))
    streamed, batched = results
    assert streamed == batched


# Seeded bugs


def forgotten_hold(patch: pytest.MonkeyPatch) -> None:
    """Timers do not hold the output watermark."""
    forget_hold(patch, StatefulKeys)


def timer_fires_twice(patch: pytest.MonkeyPatch) -> None:
    """The method of a timer is called twice."""
    call = StatefulKeys._call

    def twice(self: Any, method: Any, now: Any, *others: Any) -> None:
        for _ in range(1 + now.fires):
            call(self, method, now, *others)

    patch.setattr(StatefulKeys, "_call", twice)


def states_of_windows_mixed(patch: pytest.MonkeyPatch) -> None:
    """All windows of a key have the state of one of them."""
    cell = KeyCells.cell

    def of_the_first(self: Any, window: Any, spec: Any) -> Any:
        return cell(self, next(iter(self.state.windows), window), spec)

    patch.setattr(KeyCells, "cell", of_the_first)


def expired_before_its_timers(patch: pytest.MonkeyPatch) -> None:
    """A window expires before its timers fire that are due by then."""
    advance = StatefulKeys._advance_watermark

    def expire_first(self: Any, state: Any, cells: Any, watermark: int, out: Any) -> bool:
        if state.expirations.first <= watermark:
            window = state.expirations.pop_first()
            for timer in list(state.windows[window].timers):
                cells.clear_timer(window, self._declared.timers[timer.name], timer.tag)
            self._expire(state, cells, window, out)
            return True
        return advance(self, state, cells, watermark, out)

    patch.setattr(StatefulKeys, "_advance_watermark", expire_first)


def timer_not_replaced(patch: pytest.MonkeyPatch) -> None:
    """A timer that is set again keeps its earlier time."""
    set_timer = KeyCells.set_timer

    def unless_set(self: Any, call: Any, spec: Any, tag: str, *others: Any) -> None:
        timers = self.open(call.window).timers
        if not any((timer.name, timer.tag) == (spec.name, tag) for timer in timers):
            set_timer(self, call, spec, tag, *others)

    patch.setattr(KeyCells, "set_timer", unless_set)


def due_timer_waits(patch: pytest.MonkeyPatch) -> None:
    """A timer that is set while another fires, and is due, waits for the next step of the time."""
    advance = StatefulKeys._advance_watermark

    def only_those_set_before(self: Any, state: Any, cells: Any, watermark: int, out: Any) -> bool:
        if "known" not in vars(self):
            self.known = set(state.event_timers.moments.items())
        again = min(watermark, state.expirations.first)
        timers = state.event_timers
        first = min(timers.moments.items(), key=lambda row: row[1], default=None)
        if first and first[1] <= again and first not in self.known:
            del self.known
            return False
        if advance(self, state, cells, watermark, out):
            return True
        del self.known
        return False

    patch.setattr(StatefulKeys, "_advance_watermark", only_those_set_before)


def states_share_values(patch: pytest.MonkeyPatch) -> None:
    """A state keeps and gives the values themselves."""
    patch.setattr(Copies, "own", lambda self, value: value)


def values_are_taken_as_they_are(patch: pytest.MonkeyPatch) -> None:
    """A state keeps the values that it is given; only what it gives is copied."""
    add = BagState.add

    def shared(self: Any, value: Any) -> None:
        add(self, value)
        self._values[-1] = value

    patch.setattr(BagState, "add", shared)


def outputs_are_shared(patch: pytest.MonkeyPatch) -> None:
    """A generator can change what it has yielded."""
    patch.setattr(stateful_outputs, "own_each", iter)


BUGS = [
    states_share_values,
    values_are_taken_as_they_are,
    outputs_are_shared,
    forgotten_hold,
    timer_fires_twice,
    states_of_windows_mixed,
    expired_before_its_timers,
    timer_not_replaced,
    due_timer_waits,
]


@pytest.mark.parametrize(
    "bug", [pytest.param(b, id=b.__name__, marks=in_turns(n)) for n, b in enumerate(BUGS)]
)
def test_a_bug_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    assert find(stateful_runs(), is_broken, settings=settings(SAME, max_examples=2_000))


def is_broken(run: StatefulRun) -> bool:
    try:
        check_like_the_oracle(run)
    except AssertionError:
        return True
    return False
