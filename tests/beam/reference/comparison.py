"""Compares our panes with Beam's.

Differences that are the same in every case are translated here; see the sections of
docs/reference/differences.md:

- "What never fired": the last pane of a window that expires before its trigger fires is not expected of Beam.
- "What comes after the end": panes that Beam emits after a window has expired are ignored.
- "The last pane": Beam's mark means that the trigger has finished, and is not compared.
- "The first pane after the end of the window": our ON_TIME pane is LATE in Beam if an element caused it.
- "What a closed window drops": Beam does not get the elements that our sessions drop.
- "Timing where the clock fires", "Timing of merged sessions", "Timing and the output watermark": neither
  the timing nor the non-speculative index is compared.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import attrs

from headrace.triggers import WindowingStrategy
from headrace.windowing.time.timestamps import MIN_MICROS
from tests.beam.reference.cases import has_sessions, is_timed, uses_watermark
from tests.beam.reference.kit import UNKNOWN_EVENT, Observation, Run, ScriptEvent, run_events
from tests.laws.oracle.window_history import Pane, Window

Place = tuple[int, Any, Window]
"""The event, the key and the window of a pane."""

PanesByPlace = dict[Place, list[tuple[Any, ...]]]


def check(
    run: Run, run_in_beam: Callable[[Sequence[ScriptEvent], WindowingStrategy], list[Pane]]
) -> None:
    """Assert that Beam's panes of a run are ours."""
    (observed,) = run_events(run, watched=True)
    beams_by_place = run_in_beam(without_dropped(run, observed), run.steps[0].windowing)
    ours, theirs = compare(run, observed.panes, beams_by_place)  # type: ignore[arg-type]
    assert ours == theirs


def without_dropped(run: Run, observed: Observation) -> tuple[ScriptEvent, ...]:
    """The script for Beam: sessions do not get the elements that ours dropped."""
    if not has_sessions(run.steps[0].windowing):
        return tuple(run.script)
    return tuple(_without_dropped(run.script, observed))


def _without_dropped(script: Sequence[ScriptEvent], observed: Observation) -> Iterator[ScriptEvent]:
    dropped = Counter((event, e.key, e.value, e.timestamp) for event, e in observed.late)
    for n, (kind, what) in enumerate(script):
        rows = what if kind == "elements" else ()
        left = Counter((n, *row[:3]) for row in rows) - dropped
        remaining = tuple(row for row in rows if (n, *row[:3]) in left)
        yield (kind, remaining) if rows else (kind, what)


@attrs.frozen
class Expiry:
    """When the windows of a case expire."""

    watermarks: Sequence[int]
    lateness: int

    @classmethod
    def of(cls, run: Run) -> Expiry:
        steps = (what if kind == "watermark" else MIN_MICROS for kind, what in run.script)
        watermarks = list(accumulate(steps, max, initial=MIN_MICROS))
        return cls(watermarks, run.steps[0].windowing.allowed_lateness)

    def expired_before(self, pane: Pane) -> bool:
        return self.watermarks[pane.event] >= pane.window[1] + self.lateness

    def expires_in(self, pane: Pane) -> bool:
        over = self.watermarks[pane.event + 1] >= pane.window[1] + self.lateness
        return over and not self.expired_before(pane)


def compare(
    run: Run, ours: Sequence[Pane], theirs: Sequence[Pane], *, stamps: bool = True
) -> tuple[PanesByPlace, PanesByPlace]:
    """The comparable fields of both sides, with or without timestamps; equal if they agree.

    If the event of Beam's panes is unknown, no window may expire before the end, and the timing is left
    out: a Beam pipeline uses its output watermark.
    """
    expiry = Expiry.of(run)
    known = all(pane.event != UNKNOWN_EVENT for pane in theirs)
    names = ("value", "index", "first", *["timestamp"] * stamps)
    names += ("timing", "nonspeculative") if known and same_timing(run.steps[0].windowing) else ()
    unexpired = (pane for pane in theirs if not (known and expiry.expired_before(pane)))
    beams_by_place = panes_in_order(unexpired, known)
    ours_by_place = panes_in_order((as_beam_labels(pane, run.script) for pane in ours), known)
    for place, panes in ours_by_place.items():
        if (
            _only_expired(panes[-1], expiry)
            and len(panes) == len(beams_by_place.get(place, ())) + 1
        ):
            panes.pop()
    return compared_fields(ours_by_place, names), compared_fields(beams_by_place, names)


def same_timing(windowing: WindowingStrategy) -> bool:
    """Whether both label the same panes early, on time and late."""
    merges_late = has_sessions(windowing) and not uses_watermark(windowing.trigger)
    return not is_timed(windowing.trigger) and not merges_late


def _only_expired(pane: Pane, expiry: Expiry) -> bool:
    """Whether a pane may have been emitted only because its window expired: it is not empty."""
    return expiry.expires_in(pane) and pane.last and bool(pane.value)


def as_beam_labels(pane: Pane, script: Sequence[ScriptEvent]) -> Pane:
    let_out_by, _ = script[pane.event]
    late = pane.timing == "ON_TIME" and let_out_by == "elements"
    return attrs.evolve(pane, timing="LATE") if late else pane


def panes_in_order(panes: Iterable[Pane], known: bool) -> dict[Place, list[Pane]]:
    """The panes of each key, window and (if known) event, in order; there is no order across windows."""
    found: dict[Place, list[Pane]] = defaultdict(list)
    for pane in panes:
        found[pane.event if known else UNKNOWN_EVENT, pane.key, pane.window].append(pane)
    return dict(found)


def compared_fields(
    panes_by_place: dict[Place, list[Pane]], names: tuple[str, ...]
) -> PanesByPlace:
    return {
        place: [tuple(getattr(pane, name) for name in names) for pane in panes]
        for place, panes in panes_by_place.items()
        if panes
    }
