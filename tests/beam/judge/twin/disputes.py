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
from headrace.sdk.testing.streams.script import Script, ScriptRow
from headrace.triggers import DefaultTrigger, WindowingStrategy
from headrace.windowing import SlidingWindows
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
NO_WINDOW: Final = "an element in no window stops the bundle-based runner"
EMPTY: Final = "an empty bundle before a windowed side input stops the bundle-based runner"


def cannot_run(program: Program, streaming: bool) -> str:
    """Return why Beam's runner cannot run a program; "" if it can."""
    machines = [node.how for node in program.nodes if isinstance(node.how, Machine)]
    if any(verb == "set" for machine in machines for verb, *_ in machine.event):
        return ENDLESS
    splits = any(node.kind == "read" for node in program.nodes)
    return SPLITTABLE if streaming and splits else ""


def why_stopped(program: Program, streaming: bool, error: Exception) -> str:
    """Return the known fault of Beam by which a run stopped; "" if it is none."""
    if not isinstance(error, IndexError) or not streaming:
        return ""
    if any(map(_has_gaps, shapes(program))):
        return NO_WINDOW
    return EMPTY if any(node.kind == "look" for node in program.nodes) else ""


def _has_gaps(shape: Shape) -> bool:
    """Return whether some times are in no window."""
    sizes = shape.windowing.window_fn
    return isinstance(sizes, SlidingWindows) and sizes.period > sizes.size
