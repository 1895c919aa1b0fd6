"""The DoFns and CombineFns of a program, made for `apache_beam` or for Headrace by the same code."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from headrace.sdk.beam.judge.taps import BEAM_TIMINGS, EARLIEST_START
from tests.beam.judge.twin.language import Actions, Machine

ROOTS: Final = {"beam": "apache_beam", "headrace": "headrace"}


@cache
def module(names: str, path: str = "") -> Any:
    """Return a module by Beam's path: Beam's own, or Headrace's of the same name."""
    return import_module(".".join(filter(None, (ROOTS[names], path))))


# Values


class Letter(enum.Enum):
    """Keys that are members of an enumeration."""

    a = "a"
    b = "b"


class Named(NamedTuple):
    """Keys that are named tuples."""

    name: str
    length: int


KEYS: Final[dict[str, Callable[[str], Any]]] = {
    "str": str,
    "int": ord,
    "bytes": str.encode,
    "tuple": lambda letter: (letter, 1, None),
    "enum": Letter,
    "named tuple": lambda letter: Named(letter, 1),
}
"""The kinds of keys, each with the key of a letter."""


def number(value: Any) -> int:
    """Return a number that depends on all parts of a value, but not on their order.

    >>> number((1, [2, "ab"]))
    4
    """
    if isinstance(value, (list, tuple)):
        return sum(map(number, value)) + (not value)
    return value if isinstance(value, int) else 1


def in_order(value: Any) -> Any:
    """Return a value with all that has no order as sorted tuples."""
    if isinstance(value, tuple):
        return tuple(map(in_order, value))
    if isinstance(value, dict):
        return tuple(sorted(((k, in_order(v)) for k, v in value.items()), key=repr))
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(sorted(map(in_order, value), key=repr))
    return value


# Combining


@cache
def statistics(names: str) -> type:
    """Return a CombineFn whose accumulator, input and output are of different types."""

    class Statistics(module(names).CombineFn):  # type: ignore[misc]
        def create_accumulator(self) -> Any:
            return 0, 0, ()

        def add_input(self, accumulator: Any, element: Any) -> Any:
            count, total, least = accumulator
            return count + 1, total + element, tuple(sorted((*least, element))[:2])

        def merge_accumulators(self, accumulators: Any) -> Any:
            counts, totals, least = zip((0, 0, ()), *accumulators, strict=True)
            few = sorted(value for some in least for value in some)[:2]
            return sum(counts), sum(totals), tuple(few)

        def extract_output(self, accumulator: Any) -> Any:
            return ("statistics", *accumulator)

    return Statistics


# State and timers


LAST_SET: Final = 100_200
"""The event time in seconds at which the last timers are set; scripts start at 100,000, and are shorter."""


class Cells(NamedTuple):
    """What a call of a machine has got."""

    what: Any
    time: Any
    bag: Any
    counter: Any
    last: Any
    seen: Any
    by_event: Any
    by_clock: Any

    def read(self) -> Any:
        """Return the content of all states."""
        return in_order(
            (list(self.bag.read()), self.counter.read(), self.last.read(), set(self.seen.read()))
        )

    def clear(self, which: str) -> None:
        """Clear a state."""
        getattr(self, which).clear()

    def set(self, tag: str, delay: int) -> None:
        """Set a timer, except late: else one that sets itself would have no end in the global window."""
        if self.time < LAST_SET:
            self.by_event.set(self.time + delay, tag)


VERBS: Final[dict[str, Callable[..., None]]] = {
    "add": lambda cells: cells.bag.add(cells.what),
    "count": lambda cells: cells.counter.add(1),
    "write": lambda cells: cells.last.write((cells.what, cells.last.read() is None)),
    "note": lambda cells: cells.seen.add(cells.what),
    "clear": Cells.clear,
    "set": Cells.set,
    "unset": lambda cells, tag: cells.by_event.clear(tag),
    "wait": lambda cells, tag, time: cells.by_clock.set(type(cells.time)(time), tag),
    "stop": lambda cells, tag: cells.by_clock.clear(tag),
}


def act(actions: Actions, key: Any, *given: Any) -> Any:
    """Do the actions of a call; yield its outputs."""
    cells = Cells(*given)
    for verb, *more in actions:
        if verb == "emit":
            yield key, (more[0], cells.what, cells.read())
        else:
            VERBS[verb](cells, *more)


@cache
def machine(names: str) -> type:
    """Return the stateful DoFn that does the actions of a :class:`Machine`."""
    DoFn: Any = module(names).DoFn
    states = module(names, "transforms.userstate")
    domains = module(names, "transforms.timeutil").TimeDomain
    coders = module(names, "coders")
    BAG = DoFn.StateParam(states.BagStateSpec("bag", coders.VarIntCoder()))
    COUNTER = DoFn.StateParam(states.CombiningValueStateSpec("counter", combine_fn=sum))
    LAST = DoFn.StateParam(states.ReadModifyWriteStateSpec("last", coders.PickleCoder()))
    SEEN = DoFn.StateParam(states.SetStateSpec("seen", coders.VarIntCoder()))
    event_spec = states.TimerSpec("by event", domains.WATERMARK)
    clock_spec = states.TimerSpec("by clock", domains.REAL_TIME)
    BY_EVENT, BY_CLOCK = DoFn.TimerParam(event_spec), DoFn.TimerParam(clock_spec)

    def on_timer(spec: Any, name: str, what: int) -> Any:
        """Return the method of a timer, which does the actions of that name."""

        def fire(
            self: Any,
            key: Any = DoFn.KeyParam,
            tag: Any = DoFn.DynamicTimerTagParam,
            time: Any = DoFn.TimestampParam,
            bag: Any = BAG,
            counter: Any = COUNTER,
            last: Any = LAST,
            seen: Any = SEEN,
            by_event: Any = BY_EVENT,
            by_clock: Any = BY_CLOCK,
        ) -> Any:
            actions, given = getattr(self.does, name), (bag, counter, last, seen)
            return act(actions, key, what + len(tag), time, *given, by_event, by_clock)

        fire.__name__ = name  # by which the method of a timer is found
        return states.on_timer(spec)(fire)

    class Acting(DoFn):  # type: ignore[misc]
        def __init__(self, does: Machine) -> None:
            self.does = does

        def process(
            self,
            element: Any,
            time: Any = DoFn.TimestampParam,
            bag: Any = BAG,
            counter: Any = COUNTER,
            last: Any = LAST,
            seen: Any = SEEN,
            by_event: Any = BY_EVENT,
            by_clock: Any = BY_CLOCK,
        ) -> Any:
            key, value = element
            what = number(value)
            actions = self.does.elements[what % len(self.does.elements)]
            return act(actions, key, what, time, bag, counter, last, seen, by_event, by_clock)

        event = on_timer(event_spec, "event", 100)
        clock = on_timer(clock_spec, "clock", 200)

    return Acting


# Splittable DoFns


@cache
def reader(names: str) -> type:
    """Return a splittable DoFn that emits a few positions for each element."""
    DoFn: Any = module(names).DoFn
    core: Any = module(names, "transforms.core")
    trackers = module(names, "io.restriction_trackers")

    class Positions(core.RestrictionProvider):  # type: ignore[misc]
        def initial_restriction(self, element: Any) -> Any:
            return trackers.OffsetRange(0, number(element[1]) % 4)

        def create_tracker(self, restriction: Any) -> Any:
            return trackers.OffsetRestrictionTracker(restriction)

        def split(self, element: Any, restriction: Any) -> Any:
            return restriction.split(2)

        def restriction_size(self, element: Any, restriction: Any) -> Any:
            return restriction.size()

    parameter = DoFn.RestrictionParam(Positions())

    class Reader(DoFn):  # type: ignore[misc]
        def process(self, element: Any, tracker: Any = parameter) -> Any:
            key, value = element
            position = tracker.current_restriction().start
            while tracker.try_claim(position):
                yield key, (value, position)
                position += 1

    return Reader


# Elements


@cache
def stamping(names: str) -> type:
    """Return a DoFn that emits an element again at later times."""
    DoFn: Any = module(names).DoFn
    TimestampedValue = module(names, "transforms.window").TimestampedValue

    class Stamping(DoFn):  # type: ignore[misc]
        def __init__(self, delays: tuple[int, ...]) -> None:
            self.delays = delays

        def process(self, element: Any, time: Any = DoFn.TimestampParam) -> Any:
            key, value = element
            for n, delay in enumerate(self.delays):
                yield TimestampedValue((key, (value, n)), time + delay)

    return Stamping


@cache
def routing(names: str) -> type:
    """Return a DoFn with two outputs."""
    TaggedOutput = module(names, "pvalue").TaggedOutput

    class Routing(module(names).DoFn):  # type: ignore[misc]
        def process(self, element: Any) -> Any:
            if number(element[1]) % 2:
                yield TaggedOutput("odd", element)
            if number(element[1]) % 3:
                yield element

    return Routing


def with_side(element: Any, side: Any) -> Any:
    """Return an element with what it sees of a side input."""
    key, value = element
    return key, (value, ("sees", in_order(side)))


def with_values(element: Any, side: Any) -> Any:
    """Return an element with the values of its key in a side input, which need not be a whole dict."""
    key, value = element
    return key, (value, ("finds", in_order(list(side[key]))))


# Taps


class Seen(NamedTuple):
    """An element, with times in microseconds and the numbers of its pane."""

    value: str
    window: tuple[int, int]
    timestamp: int
    pane: tuple[Any, ...]


SEEN: Final[list[tuple[str, Seen]]] = []
"""What the taps of a run in this process have seen."""


@cache
def tapping(names: str) -> type:
    """Return a DoFn that records what passes."""
    DoFn: Any = module(names).DoFn

    class Tapping(DoFn):  # type: ignore[misc]
        def __init__(self, name: str, path: str) -> None:
            self.name = name
            self.path = path

        def process(
            self,
            element: Any,
            time: Any = DoFn.TimestampParam,
            window: Any = DoFn.WindowParam,
            pane: Any = DoFn.PaneInfoParam,
        ) -> Any:
            record(self.name, self.path, element, time, window, pane)
            return ()

    return Tapping


def record(name: str, path: str, element: Any, time: Any, window: Any, pane: Any) -> None:
    """Record an element: in this process, or as a line of a file."""
    timing = getattr(pane.timing, "name", None) or BEAM_TIMINGS[pane.timing]
    numbers = timing, pane.index, pane.nonspeculative_index, bool(pane.is_first), bool(pane.is_last)
    bounds = max(window.start.micros, EARLIEST_START), window.end.micros
    key, value = element
    seen = Seen(repr((key, in_order(value))), bounds, time.micros, numbers)
    if not path:
        SEEN.append((name, seen))
        return
    with open(path, "a") as file:
        file.write(repr((name, *seen)) + "\n")
