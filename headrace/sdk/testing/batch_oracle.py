"""What the laws are stated in: what a grouping took in, and what all that comes to in a batch.

Batch is computed here from scratch, from elements and never from what an engine merged: elements lie in
windows, windows become what their function says of all of them together, and a value is what the elements
of a window come to. Windows that merge are those in which retractions have left something; only where
panes discard, and say nothing but changes, all windows merge that ever came.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeAlias

import attrs

from headrace.sdk.testing.linked_windows import LinkedWindows
from headrace.sdk.testing.run_on_runner import Input, Observation, Pane
from headrace.sdk.testing.runs import Step
from headrace.sdk.testing.script import Script
from headrace.sdk.testing.validity_windows import ValidityWindows
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn

Place: TypeAlias = tuple[Any, BoundedWindow]
"""A key and a window."""

Answer: TypeAlias = dict[Place, Any]
"""The value of each key and window."""

Change: TypeAlias = tuple[Any, int]
"""A value and +1 or -1."""

DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
RETRACTING = AccumulationMode.RETRACTING


# What values come to


def left(changes: Iterable[Change]) -> list[Any]:
    """Return the values that came more often than they went, in order of their spelling."""
    values: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for value, diff in changes:
        values[repr(value)] = value
        counts[repr(value)] += diff
    return [values[spelling] for spelling in sorted((+counts).elements())]


def comes_to(kind: str, changes: Iterable[Change]) -> Any:
    """Return what a grouping of a kind makes of values that came and went.

    >>> comes_to("sum", [(3, 1), (2, -1)]), comes_to("largest", [(3, 1), (5, 1), (5, -1)])
    (1, 3)
    """
    if kind == "sum":
        return sum(value * diff for value, diff in changes)
    values = left(changes)
    return values if kind == "list" else max(values, default=0)


def vanished(kind: str, changes: Sequence[Change]) -> bool:
    """Tell whether retractions have left nothing."""
    return sum(diff for _, diff in changes) <= 0 if kind == "sum" else not left(changes)


# Windows


class _Told(WindowFn.MergeContext):
    """Takes down what windows become."""

    def __init__(self, windows: Iterable[BoundedWindow]) -> None:
        super().__init__(windows)
        self.become = {window: window for window in self.windows}

    def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
        self.become.update(dict.fromkeys(to_be_merged, merge_result))


def united(
    window_fn: WindowFn, windows: Iterable[BoundedWindow]
) -> dict[BoundedWindow, BoundedWindow]:
    """Return what each of a key's windows becomes if all are there at once."""
    told = _Told(sorted(set(windows)))
    if window_fn.is_merging():
        window_fn.merge(told)
    return told.become


def shrinks(step: Step) -> bool:
    """Tell whether windows can become shorter."""
    return isinstance(step.windowing.window_fn, ValidityWindows)


def grows(step: Step) -> bool:
    """Tell whether windows merge, into ones that cover them."""
    return isinstance(step.windowing.window_fn, (Sessions, LinkedWindows))


def lies_in(inner: BoundedWindow, outer: BoundedWindow) -> bool:
    """Tell whether a window is a part of another."""
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


# What a grouping took


@attrs.frozen
class Taken:
    """An element that a grouping took, the window that it was assigned to, and the event."""

    event: int
    window: BoundedWindow
    element: Input

    @property
    def change(self) -> Change:
        """The value, and whether it came or went."""
        return self.element.value, self.element.diff


def taken(heard: Observation) -> list[Taken]:
    """Return what a grouping took in: what came, in each of its windows, but for what was late."""
    late = Counter((event, e.windows[0], _spelt(e)) for event, e in heard.late)
    found = []
    for event, element in heard.inputs:
        for window in element.windows:
            row = event, window, _spelt(element)
            if late[row]:
                late[row] -= 1
            else:
                found.append(Taken(event, window, element))
    return found


def _spelt(e: Input) -> tuple[Any, ...]:
    return e.key, repr(e.value), e.timestamp, e.diff


@attrs.frozen
class Part:
    """A grouping of a run: what it is and what it heard.

    Attributes:
        step: the grouping.
        heard: what went in and came out.
        complete: how far its input was complete before each event, and after the last.
        exact: whether that is what its input watermark was; if not, it was no more than that.
        changing: whether retractions may come in.
        ended: whether the script comes to the end of time.
        timed: whether the events of panes and inputs are known, without a doubt.
    """

    step: Step
    heard: Observation
    complete: Sequence[int]
    changing: bool = False
    ended: bool = False
    exact: bool = True
    timed: bool = True

    @property
    def mode(self) -> AccumulationMode:
        """How panes relate to those before."""
        return self.step.windowing.accumulation_mode

    @property
    def lateness(self) -> int:
        """How long windows live on, in microseconds."""
        return self.step.windowing.allowed_lateness

    @property
    def watched(self) -> bool:
        """Whether all that came in and all that was dropped has been seen.

        A join is not listened to in front; a grouping that keeps its windows has no output for late
        elements, which it gets only where windows of several keys become those of one, and shrink.
        """
        return self.step.beside != "join" and (self.step.assigns or not any(self.heard.dropped))

    @property
    def taken(self) -> list[Taken]:
        """What the grouping took in."""
        return taken(self.heard)


def source_watermarks(script: Script) -> list[int]:
    """Return how far a script's source is complete before each event, and after the last."""
    steps = (what if kind == "watermark" else MIN_MICROS for kind, what in script)
    return list(accumulate(steps, max, initial=MIN_MICROS))


def forgets(part: Part) -> bool:
    """Tell whether windows that shrink may have been forgotten when a retraction would change them.

    The window of an element that is valid for good never expires, but the one before it does: it may have
    gone for good by the time that a retraction should make it longer again. That takes a retraction that
    lies further behind the watermark than the allowed lateness, as none does that comes out of a grouping.
    """
    return shrinks(part.step) and any(
        t.element.diff < 0 and lags(t, part, by=part.lateness) for t in part.taken
    )


def lags(t: Taken, part: Part, by: int) -> bool:
    """Tell whether an element may have lain further behind the watermark than this, in microseconds."""
    return t.element.timestamp + by < part.complete[t.event]


# What it comes to


def contents(step: Step, elements: Iterable[Taken]) -> dict[Place, list[Taken]]:
    """Return what lies in each window if all elements are there at once."""
    parts: dict[Any, dict[BoundedWindow, list[Taken]]] = defaultdict(lambda: defaultdict(list))
    for t in elements:
        parts[t.element.key][t.window].append(t)
    found: dict[Place, list[Taken]] = defaultdict(list)
    for key, windows in parts.items():
        present = _present(step, windows)
        become = united(step.windowing.window_fn, present)
        for window, inside in present.items():
            found[key, become[window]] += inside
    return found


def _present(
    step: Step, parts: dict[BoundedWindow, list[Taken]]
) -> dict[BoundedWindow, list[Taken]]:
    """Return the windows of which retractions have left something, if that matters to those beside them."""
    discards = step.windowing.accumulation_mode is DISCARDING
    if discards or not step.windowing.window_fn.is_merging():
        return parts
    return {
        window: inside
        for window, inside in parts.items()
        if not vanished(step.kind, changes_in(inside))
    }


def changes_in(elements: Iterable[Taken]) -> list[Change]:
    """Return what came and went."""
    return [t.change for t in elements]


def batch(step: Step, elements: Iterable[Taken]) -> Answer:
    """Return what a batch run makes of the elements that a step took.

    Where panes discard they say what has changed, and that is said of a window, too, out of which as many
    elements went as came in.
    """
    kind, discards = step.kind, step.windowing.accumulation_mode is DISCARDING
    changes = {at: changes_in(inside) for at, inside in contents(step, elements).items()}
    return {
        at: comes_to(kind, some)
        for at, some in changes.items()
        if discards or not vanished(kind, some)
    }


def stamps(step: Step, elements: Iterable[Taken]) -> dict[Place, int]:
    """Return the timestamp of each window's pane in a batch, of all that is in the window.

    A timestamp counts if it came more often than it went; a window in which none did is left out.
    """
    found = {}
    for (key, window), inside in contents(step, elements).items():
        times: Counter[int] = Counter()
        for t in inside:
            times[t.element.timestamp] += t.element.diff
        if there := +times:
            stamp = step.windowing.output_time(window.last, min(there), max(there))
            found[key, window] = min(stamp, window.last)
    return found


def standing(panes: Iterable[Pane]) -> Counter[tuple[Any, ...]]:
    """Return panes minus retractions."""
    stand: Counter[tuple[Any, ...]] = Counter()
    for pane in panes:
        stand[said(pane)] += pane.diff
    return +stand


def said(pane: Pane) -> tuple[Any, ...]:
    """Return what a pane says, spelt so that it can be counted."""
    return pane.key, pane.window, repr(pane.value), pane.timestamp


def end_result(step: Step, panes: Sequence[Pane]) -> Answer:
    """Return what all panes of a run say in the end, read as their accumulation mode wants them read."""
    if step.windowing.accumulation_mode is RETRACTING:
        return _rest_of(panes)
    windows: dict[Any, set[BoundedWindow]] = defaultdict(set)
    for pane in panes:
        windows[pane.key].add(pane.window)
    become = {key: united(step.windowing.window_fn, found) for key, found in windows.items()}
    places: dict[Place, list[Pane]] = defaultdict(list)
    for pane in panes:
        places[pane.key, become[pane.key][pane.window]].append(pane)
    if step.windowing.accumulation_mode is ACCUMULATING:
        return {place: found[-1].value for place, found in places.items()}
    return {place: comes_to(step.kind, changes_of(step, found)) for place, found in places.items()}


def changes_of(step: Step, panes: Iterable[Pane]) -> Iterator[Change]:
    """Yield what discarding panes say came and went: a pane is a value, or a list of values."""
    for pane in panes:
        for value in pane.value if step.kind == "list" else [pane.value]:
            yield value, pane.diff


def _rest_of(panes: Sequence[Pane]) -> Answer:
    """Return what stands of retracting panes; where more than one stands, all of them."""
    stand = standing(panes)
    values = {said(pane): pane.value for pane in panes}
    found: dict[Place, list[Any]] = defaultdict(list)
    for what, times in stand.items():
        found[what[:2]] += [values[what]] * times
    return {
        at: stands[0] if len(stands) == 1 else ("all of", *stands) for at, stands in found.items()
    }


def meaning(step: Step, answer: Answer) -> Answer:
    """Return an answer without windows that hold nothing: only retracting panes tell these from others."""
    nothing = comes_to(step.kind, [])
    says_so = step.windowing.accumulation_mode is RETRACTING
    return {place: value for place, value in answer.items() if says_so or value != nothing}
