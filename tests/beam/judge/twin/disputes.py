"""Where Beam's runners are known to differ from Headrace, as predicates on a program.

Each dispute has a name, and says in which collections of a program it can show. These collections, and those
that are made of them, are not compared with Beam's; all others are. A name in quotes is a section of
docs/reference/differences.md; the others are faults of Beam's runners.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import attrs

from headrace.sdk.beam.judge.runner_cases import AMPLE, windows_of
from headrace.sdk.beam.judge.worker import STALL
from headrace.sdk.testing.streams.script import Script, ScriptRow
from headrace.triggers import AccumulationMode, DefaultTrigger, WindowingStrategy
from headrace.windowing import GlobalWindows, SlidingWindows
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.timestamp_combiner import TimestampCombiner
from tests.beam.judge.twin.language import GROUPING, Machine, Node, Program, Shape, shapes


@attrs.frozen
class Place:
    """A node in a program.

    Attributes:
        program: the program.
        node: the node.
        inputs: the shapes of what it reads.
    """

    program: Program
    node: Node
    inputs: tuple[Shape, ...]

    @property
    def main(self) -> Shape:
        """The shape of its main input."""
        return self.inputs[0]

    @property
    def machine(self) -> Machine | None:
        """What it does, if it is a stateful DoFn."""
        return self.node.how if isinstance(self.node.how, Machine) else None

    def comes_after(self, *kinds: str) -> bool:
        """Return whether a node of some kinds is before it."""
        above = frozenset().union(*(shape.ancestors for shape in self.inputs))
        made = zip(self.program.nodes, self.program.outputs, strict=True)
        return any(node.kind in kinds and above.intersection(numbers) for node, numbers in made)

    def machines_before(self) -> Iterator[Machine]:
        """Yield the stateful DoFns before it."""
        above = frozenset().union(*(shape.ancestors for shape in self.inputs))
        for node, numbers in zip(self.program.nodes, self.program.outputs, strict=True):
            if isinstance(node.how, Machine) and above.intersection(numbers):
                yield node.how


def arrivals(script: Script) -> Iterator[tuple[ScriptRow, int]]:
    """Yield the rows of a script with the watermark at which they arrive."""
    watermark = MIN_MICROS
    for kind, what in script:
        watermark = what if kind == "watermark" else watermark
        for row in what if kind == "elements" else ():
            yield row, watermark


def has_late(program: Program, windowing: WindowingStrategy, allowed: int = 0) -> bool:
    """Return whether a row arrives when the watermark has passed a window of it by some time."""
    return any(
        window[1] + allowed <= watermark
        for row, watermark in arrivals(program.script)
        for window in windows_of(row, windowing)
    )


def _merges_itself(at: Place) -> bool:
    return at.node.kind == "flatten" and len(set(at.node.inputs)) == 1


def _is_late_for_a_side_input(at: Place) -> bool:
    return at.node.kind == "look" and any(has_late(at.program, s.windowing) for s in at.inputs)


def _sees_panes(at: Place) -> bool:
    return at.node.kind == "look" and not isinstance(at.inputs[1].windowing.trigger, DefaultTrigger)


def _has_expired(at: Place) -> bool:
    windowing = at.main.windowing
    return at.machine is not None and has_late(at.program, windowing, windowing.allowed_lateness)


def _delays(at: Place) -> set[int]:
    """Return the delays with which timers are set."""
    calls = at.machine.calls if at.machine else ()
    return {action[2] * SECOND for actions in calls for action in actions if action[0] == "set"}


def _fires_after_its_window(at: Place) -> bool:
    delays = _delays(at)
    return bool(delays) and any(
        row[2] + max(delays) >= window[1]
        for row, _ in arrivals(at.program.script)
        for window in windows_of(row, at.main.windowing)
    )


def _is_set_to_the_past(at: Place) -> bool:
    return any(delay < 0 for delay in _delays(at))


def _is_due_when_set(at: Place) -> bool:
    delays = _delays(at)
    return bool(delays) and any(
        row[2] + min(delays) <= watermark for row, watermark in arrivals(at.program.script)
    )


def _changes_timers_in_a_timer(at: Place) -> bool:
    return at.machine is not None and any(verb == "unset" for verb, *_ in at.machine.event)


def _machines_with_timers(at: Place) -> list[Machine]:
    """Return all stateful DoFns of the program if one sets timers; any of them may be in its stage."""
    machines = [node.how for node in at.program.nodes if isinstance(node.how, Machine)]
    return machines if any(m.does("set") or m.does("wait") for m in machines) else []


def _sees_a_stage_with_timers(at: Place) -> bool:
    return at.node.kind == "look" and bool(_machines_with_timers(at))


def _shares_a_stage(at: Place) -> bool:
    return at.machine is not None and len(_machines_with_timers(at)) > 1


def _sets_several_timers(at: Place) -> bool:
    """Return whether a key may have several timers at once."""
    calls = at.machine.calls if at.machine else ()
    return len({action[1] for actions in calls for action in actions if action[0] == "set"}) > 1


def _reads_the_clock(at: Place) -> bool:
    return at.machine is not None and at.machine.does("wait")


def _groups_outputs_of_timers(at: Place) -> bool:
    holds = at.node.kind in GROUPING | {"look", "state"}
    return holds and any(machine.does("set") for machine in at.machines_before())


def _has_a_trigger(at: Place) -> bool:
    """Return whether a grouping has a trigger, and its windows expire or its input is panes."""
    windowing = at.main.windowing
    plain = isinstance(windowing.trigger, DefaultTrigger)
    alone = windowing.allowed_lateness == AMPLE and not at.comes_after(*GROUPING)
    return at.node.kind in GROUPING and not plain and not alone


def _stamps_in_sliding_windows(at: Place) -> bool:
    sizes = at.main.windowing.window_fn
    slides = isinstance(sizes, SlidingWindows) and sizes.period < sizes.size
    return at.node.kind == "stamp" and slides


def _fires_by_bundle(at: Place) -> bool:
    """Return whether the panes of a grouping depend on how Beam divides the elements of an event."""
    divided = at.node.kind == "join" or at.comes_after("flatten", *GROUPING)
    early = not isinstance(at.main.windowing.trigger, DefaultTrigger)
    fires_on_elements = early or has_late(at.program, at.main.windowing)
    return at.node.kind in GROUPING and divided and fires_on_elements


def _shuffles_late_elements(at: Place) -> bool:
    return at.node.kind == "reshuffle" and has_late(at.program, at.main.windowing)


def _stamps_by_elements(at: Place) -> bool:
    """Return whether the timestamps of panes depend on their elements."""
    combiner = at.main.windowing.timestamp_combiner
    return at.node.kind in GROUPING and combiner is not TimestampCombiner.OUTPUT_AT_EOW


def _stamps_panes_after_early_ones(at: Place) -> bool:
    plain = isinstance(at.main.windowing.trigger, DefaultTrigger)
    return _stamps_by_elements(at) and not plain


def _stamps_behind_the_watermark(at: Place) -> bool:
    behind = any(row[2] <= watermark for row, watermark in arrivals(at.program.script))
    return _stamps_by_elements(at) and behind


Dispute = Callable[[Place], bool]

IN_STREAMS: Final[dict[str, Dispute]] = {
    '"Flatten of a collection with itself"': _merges_itself,
    '"Late elements and side inputs"': _is_late_for_a_side_input,
    '"The first pane of a side input"': _sees_panes,
    '"Elements of expired windows"': _has_expired,
    '"Timers later than their window"': _fires_after_its_window,
    '"Timers in the past"': _is_set_to_the_past,
    "a timer that is due when it is set fires twice": _is_due_when_set,
    "all due timers fire in one bundle": _changes_timers_in_a_timer,
    '"Timers of processing time"': _reads_the_clock,
    "timers hold no watermark": _groups_outputs_of_timers,
    '"Continuations", "What comes after the end"': _has_a_trigger,
    "elements of one event are in several bundles": _fires_by_bundle,
    '"Reshuffle of late elements"': _shuffles_late_elements,
    '"Timestamps of panes after an early one"': _stamps_panes_after_early_ones,
    '"Timestamps behind the watermark"': _stamps_behind_the_watermark,
    "a TimestampedValue in sliding windows": _stamps_in_sliding_windows,
}
"""The disputes of streams, with Beam's bundle-based runner."""

IN_BATCHES: Final[dict[str, Dispute]] = {
    '"Timers later than their window"': _fires_after_its_window,
    '"Timers in the past"': _is_set_to_the_past,
    '"Timers of processing time"': _reads_the_clock,
    "the FnApiRunner fires the timers of a key in any order": _sets_several_timers,
    "the FnApiRunner doubles a side input of a stage with timers": _sees_a_stage_with_timers,
    "timers of two stateful DoFns in a stage of the FnApiRunner get lost": _shares_a_stage,
    '"Timestamps of panes after an early one"': _stamps_panes_after_early_ones,
}
"""The disputes of batches, with Beam's FnApiRunner."""


def places(program: Program) -> Iterator[tuple[Place, range]]:
    """Yield each node with the numbers of its outputs."""
    known = shapes(program)
    for node, made in zip(program.nodes, program.outputs, strict=True):
        yield Place(program, node, tuple(known[n] for n in node.inputs)), made


def disputed(program: Program, streaming: bool) -> dict[str, set[int]]:
    """Return the disputes of a program, each with the collections in which it can show."""
    found: dict[str, set[int]] = {}
    known = shapes(program)
    for name, shows in (IN_STREAMS if streaming else IN_BATCHES).items():
        starts = {n for at, made in places(program) if shows(at) for n in made}
        if starts:
            found[name] = {n for n, shape in enumerate(known) if shape.ancestors & starts}
    return found


def loses_panes(program: Program, number: int) -> bool:
    """Return whether panes of a collection are assigned to several windows: a tap then sees no pane."""
    shape = shapes(program)[number]
    sizes = shape.windowing.window_fn
    slides = isinstance(sizes, SlidingWindows) and sizes.period < sizes.size
    above = [at.node.kind for at, made in places(program) if shape.ancestors.intersection(made)]
    return slides and "window" in above and not GROUPING.isdisjoint(above)


# What Beam cannot run

ENDLESS: Final = '"Timers later than their window", set by timers'
SPLITTABLE: Final = "splittable DoFns do not run on the bundle-based runner"
NOTHING: Final = "MeanCombineFn and TopCombineFn of Beam stop at a pane without elements"
EMPTY: Final = "an empty bundle before a windowed side input stops the bundle-based runner"


def cannot_run(program: Program, streaming: bool) -> str:
    """Return why Beam's runner cannot run a program; "" if it can."""
    machines = [node.how for node in program.nodes if isinstance(node.how, Machine)]
    if any(verb == "set" for machine in machines for verb, *_ in machine.event):
        return ENDLESS
    if streaming and any(map(_sees_windows, places(program))):
        return EMPTY
    splits = any(node.kind == "read" for node in program.nodes)
    return SPLITTABLE if streaming and splits else ""


def _sees_windows(placed: tuple[Place, range]) -> bool:
    at, _ = placed
    side = at.inputs[-1].windowing.window_fn
    return at.node.kind == "look" and not isinstance(side, GlobalWindows)


def why_stopped(program: Program, streaming: bool, error: Exception) -> str:
    """Return the known fault of Beam by which a run stopped; "" if it is none."""
    faults = [*FAULTS, *(FAULTS_IN_STREAMS if streaming else FAULTS_IN_BATCHES)]
    return next((name for name, shows in faults if shows(program, error)), "")


def _mixes_timers(program: Program, error: Exception) -> bool:
    shares = any(_shares_a_stage(at) for at, _ in places(program))
    return isinstance(error, ValueError) and shares


def _combines_nothing(program: Program, error: Exception) -> bool:
    stops = isinstance(error, (ValueError, AssertionError)) or "CombineValuesDoFn" in str(error)
    return stops and any(map(_may_combine_nothing, places(program)))


def _stalls(program: Program, error: Exception) -> bool:
    by_elements = any(_stamps_by_elements(at) for at, _ in places(program))
    return str(error) == STALL and by_elements


def _refuses_a_combine(program: Program, error: Exception) -> bool:
    return "was not replaced" in str(error) and any(map(_is_lifted, places(program)))


def _is_in_no_window(program: Program, error: Exception) -> bool:
    return isinstance(error, IndexError) and any(map(_has_gaps, shapes(program)))


def _may_combine_nothing(placed: tuple[Place, range]) -> bool:
    """Return whether an on-time pane without new elements may reach a CombineFn of Beam."""
    at, _ = placed
    windowing = at.main.windowing
    early = not isinstance(windowing.trigger, DefaultTrigger)
    discards = windowing.accumulation_mode is AccumulationMode.DISCARDING
    return at.node.how in ("mean", "top") and early and discards


def _is_lifted(placed: tuple[Place, range]) -> bool:
    """Return whether Beam's runner replaces a combine, which it does in the default windowing."""
    at, _ = placed
    combines = at.node.kind in ("combine", "globally") or at.node.how in ("single", "dict")
    return combines and at.inputs[-1].windowing == WindowingStrategy()


def _has_gaps(shape: Shape) -> bool:
    """Return whether some times are in no window."""
    sizes = shape.windowing.window_fn
    return isinstance(sizes, SlidingWindows) and sizes.period > sizes.size


FAULTS: Final = [(NOTHING, _combines_nothing)]

FAULTS_IN_BATCHES: Final = [
    ("timers of two stateful DoFns in a stage stop the FnApiRunner", _mixes_timers),
]

FAULTS_IN_STREAMS: Final = [
    ("holds of timestamps that depend on elements stall the bundle-based runner", _stalls),
    ("the bundle-based runner refuses a combine in the default windowing", _refuses_a_combine),
    ("an element in no window stops the bundle-based runner", _is_in_no_window),
]
"""The faults by which a run stops; each with a predicate on the program and the error."""
