"""What the laws are stated in: what a grouping took in, and what all that comes to in a batch.

Batch is computed here from scratch: elements lie in windows, windows that overlap are one, and a value is
what the elements of a window come to.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import attrs
from hypothesis import assume
from hypothesis import strategies as st

from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
    Repeatedly,
)
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MIN_MICROS
from tests.laws.playing import CONTENTS, Heard, follow
from tests.laws.strategies import KINDS, SECOND, Event, Run, Step, Where, scripts, windowings
from tests.oracle import translate
from tests.oracle.story import Element, Pane, Window
from tests.validity_windows import ValidityWindows

Place = tuple[Any, Window]
"""A key and a window."""

Answer = dict[Place, Any]
"""The value of each key and window."""


@attrs.frozen
class Taken:
    """An element that a grouping took, the window that it was assigned to, and the event."""

    event: int
    window: Window
    element: Element


def taken(heard: Heard) -> list[Taken]:
    """What a grouping took in: what came, in each of its windows, but for what was late."""
    late = Counter((event, e.windows[0], spelt(e)) for event, e in heard.late)
    found = []
    for event, element in heard.inputs:
        for window in element.windows:
            row = event, window, spelt(element)
            if late[row]:
                late[row] -= 1
            else:
                found.append(Taken(event, window, element))
    return found


def spelt(e: Element) -> tuple[Any, ...]:
    return e.key, repr(e.value), e.timestamp, e.diff


def batch(step: Step, elements: Sequence[Taken]) -> Answer:
    """What a batch run makes of the elements that a step took."""
    inside: dict[Place, list[Element]] = defaultdict(list)
    for key in {t.element.key for t in elements}:
        mine = [t for t in elements if t.element.key == key]
        become = united(step, {t.window for t in mine})
        for t in mine:
            inside[key, become[t.window]].append(t.element)
    contents = CONTENTS[step.kind]
    return {place: contents.all(es) for place, es in inside.items() if not contents.vanished(es)}


def united(step: Step, windows: Iterable[Window]) -> dict[Window, Window]:
    """What windows of a key become in a batch."""
    return translate.window_fn(step.windowing.window_fn).merge(set(windows))


def standing(panes: Iterable[Pane]) -> Counter[tuple[Any, ...]]:
    """Panes minus retractions."""
    left: Counter[tuple[Any, ...]] = Counter()
    for pane in panes:
        left[said(pane)] += pane.diff
    return +left


def said(pane: Pane) -> tuple[Any, ...]:
    """What a pane says, spelt so that it can be counted."""
    return pane.key, pane.window, repr(pane.value), pane.timestamp


def end_result(step: Step, panes: Sequence[Pane]) -> Answer:
    """What all panes of a run say in the end, read as their accumulation mode wants them read."""
    if step.windowing.accumulation_mode is AccumulationMode.RETRACTING:
        return rest_of(panes)
    windows: dict[Any, set[Window]] = defaultdict(set)
    for pane in panes:
        windows[pane.key].add(pane.window)
    become = {key: united(step, found) for key, found in windows.items()}
    places: dict[Place, list[Pane]] = defaultdict(list)
    for pane in panes:
        places[pane.key, become[pane.key][pane.window]].append(pane)
    discards = step.windowing.accumulation_mode is AccumulationMode.DISCARDING
    read = partial(sum_of, step) if discards else last_of
    return {place: read(found) for place, found in places.items()}


def sum_of(step: Step, panes: list[Pane]) -> Any:
    """Discarding panes add up."""
    if step.kind == "list":
        elements = [Element(0, v, 0, p.diff) for p in panes for v in p.value]
    else:
        elements = [Element(0, p.value, 0, p.diff) for p in panes]
    return CONTENTS[step.kind].all(elements)


def last_of(panes: list[Pane]) -> Any:
    """The last accumulating pane says it all."""
    return panes[-1].value


def rest_of(panes: Sequence[Pane]) -> Answer:
    """Of retracting panes, those stand that have not been taken back, one in a window at the most."""
    left = standing(panes)
    answer = {(p.key, p.window): p.value for p in panes if said(p) in left and p.diff > 0}
    assert sum(left.values()) == len(answer)
    return answer


EAGER = (
    Repeatedly(AfterCount(1)),
    Repeatedly(AfterCount(2)),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterProcessingTime(1), late=AfterCount(1)),
)


@st.composite
def reunions(draw: st.DrawFn, retractions: bool = False) -> Run:
    """Runs of one key whose sessions have often fired by the time that they become one."""
    where = Where(Sessions(draw(st.integers(2, 5))))
    windowing = draw(windowings(where, [AccumulationMode.RETRACTING], least_lateness=12 * SECOND))
    windowing = attrs.evolve(windowing, trigger=draw(st.sampled_from(EAGER)))
    script = draw(scripts(keys="a", retractions=retractions))
    return Run(script, (Step(windowing, draw(st.sampled_from(KINDS))),))


@attrs.frozen
class Part:
    """A grouping of a run: what it is and what it heard.

    Attributes:
        step: the grouping.
        heard: what went in and came out.
        complete: how far its input was complete before each event, and after the last.
        changing: whether retractions may come in.
    """

    step: Step
    heard: Heard
    complete: Sequence[int]
    changing: bool = False

    @property
    def mode(self) -> AccumulationMode:
        return self.step.windowing.accumulation_mode

    @property
    def lateness(self) -> int:
        return self.step.windowing.allowed_lateness

    @property
    def taken(self) -> list[Taken]:
        return taken(self.heard)


def parts(run: Run) -> list[Part]:
    """Play a run, and look at each of its groupings.

    One that keeps the windows of its input has no output for late elements. It drops none, but where the
    windows of several keys become those of one and shrink; such runs are left out.
    """
    found: list[Part] = []
    complete = source_watermarks(run.script)
    for step, heard in zip(run.steps, follow(run, watched=True), strict=True):
        assume(step.assigns or not shrinks(step) or not any(heard.dropped))
        found.append(Part(step, heard, complete, any(e.diff < 0 for _, e in heard.inputs)))
        complete = [MIN_MICROS, *heard.watermarks]
    return found


def shrinks(step: Step) -> bool:
    """Whether windows can become shorter."""
    return isinstance(step.windowing.window_fn, ValidityWindows)


def source_watermarks(script: Sequence[Event]) -> list[int]:
    steps = (what if kind == "watermark" else MIN_MICROS for kind, what in script)
    return list(accumulate(steps, max, initial=MIN_MICROS))


def joins_expired(part: Part) -> bool:
    """Whether an element that was taken overlaps a session that had expired.

    A batch joins the two. A stream has forgotten the old session, and starts another.
    """
    if not isinstance(part.step.windowing.window_fn, Sessions):
        return False
    took = part.taken
    return any(
        _overlaps(t.window, window)
        for t in took
        for window in _sessions_before(t, part.step, took)
        if window[1] + part.lateness <= part.complete[t.event]
    )


def _sessions_before(one: Taken, step: Step, took: Sequence[Taken]) -> set[Window]:
    """The sessions of a key that there would be if none had expired."""
    mine = [t for t in took if t.element.key == one.element.key]
    return set(united(step, {t.window for t in mine if t.event < one.event}).values())


def _overlaps(one: Window, other: Window) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def lies_in(inner: Window, outer: Window) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def in_time(t: Taken, part: Part) -> bool:
    """Whether an element came before its window was over."""
    return t.window[1] > part.complete[t.event]
