"""The laws of a trigger: its state machine, its wake-ups, and the promises by which the engine saves work.

The engine believes what a trigger promises (:attr:`~headrace.triggers.Trigger.fires_only_at_end`,
:meth:`~headrace.triggers.Trigger.may_repeat`, :attr:`~headrace.triggers.Trigger.needs_only_counts`): it keeps
less state, and combines elements before the grouping. A wrong promise raises no error; results are missing or
wrong. So each promise is a law here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import permutations
from typing import Final, TypeAlias

import attrs

from headrace.sdk.testing.laws.law import LawBroken, Violation
from headrace.sdk.testing.laws.law_runner import check_law
from headrace.sdk.testing.property_testing import st
from headrace.triggers import Trigger, WindowingStrategy
from headrace.triggers.trigger import ASLEEP, Arrived, Clock, TriggerState, Wake
from headrace.windowing.time.timestamps import DurationTypes, duration_micros

WINDOW_LENGTH: Final = 10
"""Length of the window, in units."""

FAR_CLOCK: Final = Clock(1 << 62, 1 << 62)

TRIGGER_LAWS: Final = (
    "a state is plain data",
    "a trigger with fires_only_at_end does not fire before the end of its window",
    "a trigger with fires_only_at_end fires at the end of its window",
    "a trigger with fires_only_at_end that may finish does so when it fires",
    "a trigger whose may_repeat is False fires once",
    "a trigger whose may_finish is False does not finish while its window takes elements",
    "a trigger does not read facts that it does not ask for",
    "a trigger that becomes ready was woken",
)


@attrs.frozen
class Arrive:
    """Elements arrive together."""

    count: int
    size: int
    matched_predicates: frozenset[object] = frozenset()


@attrs.frozen
class Watermark:
    """The watermark advances, in microseconds."""

    by: int


@attrs.frozen
class Now:
    """Processing time advances, in microseconds."""

    by: int


TriggerEvent: TypeAlias = Arrive | Watermark | Now


def check_trigger(trigger: Trigger, unit: DurationTypes = 1, cases: int = 100) -> None:
    """Check that a trigger does what it promises, whatever happens to its window.

    Its state is plain data. It fires exactly at the end, once, or by counts alone if it promises to
    (``fires_only_at_end``, ``may_repeat``, ``needs_only_counts``), and does not finish unless ``may_finish``.
    Its wake-ups are in the future and not too late. A finished trigger never fires. Merging does not depend
    on the order of the windows, and a window that merges with no other keeps its state.

    Args:
        trigger: the trigger.
        unit: times are small multiples of this, or differ from one by a microsecond; seconds, timedelta or
            Duration. A window is ten units long. For a trigger with a delay, a part of it is a good value.
        cases: number of cases.

    Raises:
        LawBroken: a law does not hold; reports the smallest events that were found.

    >>> from headrace.triggers import AfterCount, AfterWatermark
    >>> check_trigger(AfterWatermark(late=AfterCount(2)))
    """
    step = duration_micros(unit)
    lateness = st.sampled_from([0, 5 * step])
    stories = st.lists(st.lists(_events(trigger, step), max_size=8), min_size=1, max_size=3)

    def law(case: tuple[int, list[list[TriggerEvent]]]) -> None:
        lateness, stories = case
        for sentence, seen, remedy in _broken(trigger, WINDOW_LENGTH * step, lateness, stories):
            given = f"{trigger!r}, a window of {WINDOW_LENGTH * step} microseconds and the events {stories}"
            raise LawBroken(sentence, given, seen, remedy)

    check_law(st.tuples(lateness, stories), law, cases, TRIGGER_LAWS)


def _events(trigger: Trigger, step: int) -> st.SearchStrategy[TriggerEvent]:
    near = st.sampled_from([0, 0, 1, -1])
    steps = st.builds(lambda n, off: max(n * step + off, 1), st.integers(0, 12), near)
    matched = st.sets(st.sampled_from(trigger.predicates)) if trigger.predicates else st.just(set())
    return st.one_of(
        st.builds(Arrive, st.integers(1, 4), st.integers(1, 40), matched.map(frozenset)),
        st.builds(Watermark, steps),
        st.builds(Now, steps),
    )


@attrs.define
class _Window:
    """A window whose trigger is asked once after each event, as the engine does.

    Attributes:
        told: returns the facts about elements that the trigger gets.
        until: the last instant of the watermark at which the window takes elements.
    """

    trigger: Trigger
    last: int
    until: int
    told: Callable[[Trigger, Arrive], Arrived]
    clock: Clock = attrs.field(factory=lambda: Clock(-1, 0))
    firings: list[Clock] = attrs.field(factory=list)
    elements: int = 0
    state: TriggerState = attrs.field(
        default=attrs.Factory(lambda self: self.trigger.start, takes_self=True)
    )

    @property
    def closed(self) -> bool:
        return self.clock.watermark > self.until

    @property
    def finished(self) -> bool:
        return self.trigger.finished(self.state)

    @property
    def ready(self) -> bool:
        return self.trigger.should_fire(self.state, self.last, self.clock)

    @property
    def wake(self) -> Wake:
        return self.trigger.wake(self.state, self.last, self.clock)

    def take(self, event: TriggerEvent) -> None:
        """Let an event happen."""
        watermark, now = self.clock
        if isinstance(event, Watermark):
            self.clock = Clock(watermark + event.by, now)
        elif isinstance(event, Now):
            self.clock = Clock(watermark, now + event.by)
        elif not self.finished:
            arrived = self.told(self.trigger, event)
            self.state = self.trigger.on_elements(self.state, arrived, now)
            self.elements += event.count

    def fire(self) -> None:
        """Fire if the trigger is ready."""
        if not self.finished and self.ready:
            self.firings.append(self.clock)
            self.state = self.trigger.on_fire(self.state, self.last, self.clock)


def _by_the_engine(trigger: Trigger, event: Arrive) -> Arrived:
    """Return what the engine tells a trigger: sizes and predicates only if it asks for them."""
    if trigger.needs_only_counts:
        return Arrived(event.count)
    size = event.size if trigger.wants_size else 0
    return Arrived(event.count, size, event.matched_predicates)


def _everything(trigger: Trigger, event: Arrive) -> Arrived:
    return Arrived(event.count, event.size, event.matched_predicates)


def _broken(
    trigger: Trigger, length: int, lateness: int, stories: Sequence[Sequence[TriggerEvent]]
) -> Iterator[Violation]:
    last = length - 1
    windows = [
        _Window(trigger, last + n, last + n + lateness, _by_the_engine)
        for n, _ in enumerate(stories)
    ]
    for window, events in zip(windows, stories, strict=True):
        yield from _badly_lived(window, events)
        yield from _badly_informed(window, events)
    clock = Clock(*map(max, zip(*(window.clock for window in windows), strict=True)))
    yield from _badly_merged(trigger, windows, clock)


def _badly_lived(window: _Window, events: Iterable[TriggerEvent]) -> Iterator[Violation]:
    windowing = WindowingStrategy(allowed_lateness=window.until - window.last)
    for event in events:
        if window.closed:
            return
        wake, was_ready = window.wake, window.ready
        window.take(event)
        if not isinstance(event, Arrive) and not was_ready:
            yield from _badly_woken(window, wake)
        window.fire()
        yield from _badly_promised(window, windowing)
        yield from _badly_kept(window)


def _badly_woken(window: _Window, wake: Wake) -> Iterator[Violation]:
    clock = window.clock
    woken = wake.watermark <= clock.watermark or wake.now <= clock.now
    if not woken and not window.finished and window.ready:
        yield (
            "a trigger that becomes ready was woken",
            {"ready at": clock, "wake returned": wake},
            "return from wake the first times at which should_fire may become true without elements",
        )


def _badly_promised(window: _Window, windowing: WindowingStrategy) -> Iterator[Violation]:
    trigger, firings = window.trigger, window.firings
    if trigger.fires_only_at_end:
        yield from _badly_at_end(window, windowing)
    if len(firings) > 1 and not trigger.may_repeat(windowing):
        yield (
            "a trigger whose may_repeat is False fires once",
            {"allowed lateness": windowing.allowed_lateness, "fired at": firings},
            "return True from may_repeat, or finish in on_fire",
        )
    if window.finished and not window.closed and not trigger.may_finish(windowing):
        yield (
            "a trigger whose may_finish is False does not finish while its window takes elements",
            {"allowed lateness": windowing.allowed_lateness, "finished at": window.clock},
            "return True from may_finish, or return another state than FINISHED",
        )


def _badly_at_end(window: _Window, windowing: WindowingStrategy) -> Iterator[Violation]:
    """Runners make the first pane at the end of the window, without a look at the trigger."""
    trigger, firings, ended = window.trigger, window.firings, window.clock.watermark > window.last
    seen = {"last instant of the window": window.last, "fired at": firings, "now": window.clock}
    remedy = "return False from fires_only_at_end, or fire when the watermark is greater than last"
    if firings and firings[0].watermark <= window.last:
        sentence = "a trigger with fires_only_at_end does not fire before the end of its window"
        yield sentence, seen, remedy
    if window.elements and ended and not firings:
        yield "a trigger with fires_only_at_end fires at the end of its window", seen, remedy
    if firings and not window.finished and trigger.may_finish(windowing):
        yield (
            "a trigger with fires_only_at_end that may finish does so when it fires",
            seen,
            "return False from may_finish, or FINISHED from on_fire",
        )


def _badly_kept(window: _Window) -> Iterator[Violation]:
    trigger, state, clock = window.trigger, window.state, window.clock
    if not _is_plain(state):
        yield (
            "a state is plain data",
            {"state": state},
            "use None, bool, int, str, or tuples of them",
        )
    if window.finished:
        if trigger.should_fire(state, window.last, FAR_CLOCK) or window.wake != ASLEEP:
            yield (
                "a finished trigger never fires, and sleeps",
                {"state": state, "wake returned": window.wake},
                "return False from should_fire and ASLEEP from wake",
            )
    elif window.wake.watermark <= clock.watermark or window.wake.now <= clock.now:
        yield (
            "wake-ups are later than the current times",
            {"clock": clock, "wake returned": window.wake},
            "return NEVER from wake for a time that has passed",
        )


def _badly_informed(window: _Window, events: Iterable[TriggerEvent]) -> Iterator[Violation]:
    """Compare a window with one whose trigger is told everything about the elements."""
    informed = _Window(window.trigger, window.last, window.until, _everything)
    for event in events:
        if informed.closed:
            break
        informed.take(event)
        informed.fire()
    if informed.firings != window.firings:
        yield (
            "a trigger does not read facts that it does not ask for",
            {"fired at": window.firings, "with sizes and predicates": informed.firings},
            "return False from needs_only_counts, True from wants_size, and the predicates; a composed "
            "trigger lists all its parts as children",
        )


def _badly_merged(
    trigger: Trigger, windows: Sequence[_Window], clock: Clock
) -> Iterator[Violation]:
    last = windows[-1].last
    states = [window.state for window in windows]
    merged = [trigger.on_merge(order, last, clock) for order in permutations(states)]
    if any(state != merged[0] for state in merged):
        yield (
            "merging does not depend on the order of the windows",
            {"states": states, "merged": merged},
            "make on_merge depend only on which states there are",
        )
    if not _is_plain(merged[0]):
        yield (
            "a state is plain data",
            {"merged state": merged[0]},
            "use None, bool, int, str, or tuples of them",
        )
    if len(states) == 1 and merged[0] != states[0]:
        yield (
            "a window that merges with no other keeps its state",
            {"state": states[0], "merged": merged[0]},
            "return the only state from on_merge",
        )


def _is_plain(state: TriggerState) -> bool:
    if type(state) is tuple:
        return all(map(_is_plain, state))
    return type(state) in (type(None), bool, int, str)
