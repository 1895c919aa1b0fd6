"""Two lists of panes held against each other, in the words of Beam.

What differs in the same way in every case is translated here, each with its section of
docs/reference/differences.md:

- "What never fired": the last pane of a window that expires, whose trigger has not fired, is not
  expected of Beam.
- "What comes after the end": what Beam lets out of a window that has expired is left aside.
- "The last pane": Beam's mark means that the trigger has finished, and is not compared.
- "The first pane after the end of the window": what we call on time is late in Beam if it was an
  element that let it out.
- "What a closed window drops": Beam is not given the elements that our sessions drop.
- "Timing where the clock fires", "Timing of merged sessions", "Timing and the output watermark": neither
  the timing nor the count of panes that are not early is compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import attrs

from headrace.triggers import WindowingStrategy
from headrace.windowing.time import MIN_MICROS
from tests.beam_reference.cases import has_sessions, is_timed, watches
from tests.beam_reference.kit import UNKNOWN, Event, Observation, Run, follow
from tests.oracle.story import Pane, Window

Place = tuple[int, Any, Window]
"""The event, the key and the window of panes."""

Told = dict[Place, list[tuple[Any, ...]]]


def check(run: Run, play: Callable[[Sequence[Event], WindowingStrategy], list[Pane]]) -> None:
    """Assert that Beam's panes of a run are ours."""
    (heard,) = follow(run, watched=True)
    beams = play(without_dropped(run, heard), run.steps[0].windowing)
    ours, theirs = compare(run, heard.panes, beams)
    assert ours == theirs


def without_dropped(run: Run, heard: Observation) -> tuple[Event, ...]:
    """The script that Beam's sessions are given: without the elements that ours dropped."""
    if not has_sessions(run.steps[0].windowing):
        return tuple(run.script)
    return tuple(_without_dropped(run.script, heard))


def _without_dropped(script: Sequence[Event], heard: Observation) -> Iterator[Event]:
    dropped = Counter((event, e.key, e.value, e.timestamp) for event, e in heard.late)
    for n, (kind, what) in enumerate(script):
        rows = what if kind == "elements" else ()
        left = Counter((n, *row[:3]) for row in rows) - dropped
        kept = tuple(row for row in rows if (n, *row[:3]) in left)
        yield (kind, kept) if rows else (kind, what)


@attrs.frozen
class Moments:
    """When a case's windows have expired."""

    watermarks: Sequence[int]
    lateness: int

    @classmethod
    def of(cls, run: Run) -> Moments:
        steps = (what if kind == "watermark" else MIN_MICROS for kind, what in run.script)
        watermarks = list(accumulate(steps, max, initial=MIN_MICROS))
        return cls(watermarks, run.steps[0].windowing.allowed_lateness)

    def expired_before(self, pane: Pane) -> bool:
        return self.watermarks[pane.event] >= pane.window[1] + self.lateness

    def expires_in(self, pane: Pane) -> bool:
        over = self.watermarks[pane.event + 1] >= pane.window[1] + self.lateness
        return over and not self.expired_before(pane)


def compare(run: Run, ours: Sequence[Pane], theirs: Sequence[Pane]) -> tuple[Told, Told]:
    """What both said that can be compared; equal if they agree.

    Where it is not known in which event a pane of theirs came out, no window may expire before the end,
    and the timing is left out: a pipeline of Beam's goes by its output watermark.
    """
    moments = Moments.of(run)
    known = all(pane.event != UNKNOWN for pane in theirs)
    timing = known and same_timing(run.steps[0].windowing)
    alive = (pane for pane in theirs if not (known and moments.expired_before(pane)))
    beams = by_place(alive, known)
    here = by_place((in_beams_words(pane, run.script) for pane in ours), known)
    for place, panes in here.items():
        if _only_expired(panes[-1], moments) and len(panes) == len(beams.get(place, ())) + 1:
            panes.pop()
    return spelt(here, timing), spelt(beams, timing)


def same_timing(windowing: WindowingStrategy) -> bool:
    """Whether both call the same panes early, on time and late."""
    merges_late = has_sessions(windowing) and not watches(windowing.trigger)
    return not is_timed(windowing.trigger) and not merges_late


def _only_expired(pane: Pane, moments: Moments) -> bool:
    """Whether a pane may have gone out only because its window expired: such ones are not empty."""
    return moments.expires_in(pane) and pane.last and bool(pane.value)


def in_beams_words(pane: Pane, script: Sequence[Event]) -> Pane:
    let_out_by, _ = script[pane.event]
    late = pane.timing == "ON_TIME" and let_out_by == "elements"
    return attrs.evolve(pane, timing="LATE") if late else pane


def by_place(panes: Iterable[Pane], known: bool) -> dict[Place, list[Pane]]:
    """Panes in order for each key, window and, if known, event; order across windows means nothing."""
    found: dict[Place, list[Pane]] = defaultdict(list)
    for pane in panes:
        found[pane.event if known else UNKNOWN, pane.key, pane.window].append(pane)
    return dict(found)


def spelt(told: dict[Place, list[Pane]], timing: bool) -> Told:
    names = ("value", "timestamp", "index", "first")
    names += ("timing", "nonspeculative") if timing else ()
    return {
        place: [tuple(getattr(pane, name) for name in names) for pane in panes]
        for place, panes in told.items()
        if panes
    }
