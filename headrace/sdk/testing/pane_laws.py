"""The laws of a grouping: what holds of the panes of any grouping, whatever it is and whatever came.

A law says in which groupings it can be seen (``sees``), and holds them to it (``check``). What it needs are a
:class:`~headrace.sdk.testing.answers.Part`, a grouping with all that it heard and said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from typing import Any, Final

import attrs

from headrace.sdk.testing.answers import (
    ACCUMULATING,
    DISCARDING,
    RETRACTING,
    Answer,
    Part,
    Place,
    Taken,
    batch,
    changes_of,
    comes_to,
    end_result,
    joins_expired,
    lies_in,
    meaning,
    said,
    shrinks,
    standing,
    united,
)
from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.playing import Pane
from headrace.triggers.clock_triggers import AfterProcessingTime, AtPeriod
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.trigger import Trigger
from headrace.windowing.sessions import Sessions

Broken = Iterator[dict[str, Any]]
"""Where a law is broken: what came out and what should have, by name; nothing if it holds."""


@attrs.frozen
class PaneLaw:
    """A law of a grouping.

    Attributes:
        says: the law, as a sentence.
        sees: whether it says anything of a grouping.
        broken: yields what is wrong, with both sides.
        in_batch: whether it has something to say of a batch, in which all comes at once and nothing is
            late.
    """

    says: str
    sees: Callable[[Part], bool]
    broken: Callable[[Part], Broken]
    in_batch: bool = True

    def check(self, part: Part, given: Callable[[], str] = str) -> None:
        """Hold a grouping to the law, if it says anything of it.

        Args:
            part: the grouping.
            given: says what was played, if the law does not hold.

        Raises:
            LawBroken: the law does not hold.
        """
        if self.sees(part):
            for sides in self.broken(part):
                sides = {"grouping": part.step, **sides}
                raise LawBroken(self.says, given(), sides, "look at how the runner groups")


def always(part: Part) -> bool:
    """See every grouping."""
    return True


# Each pane


def _two_on_time(part: Part) -> Broken:
    named = {
        (p.key, p.window, p.index) for p in part.heard.panes if p.timing == "ON_TIME" and p.diff > 0
    }
    for place, times in Counter((key, window) for key, window, _ in named).items():
        if times > 1:
            yield {
                "window": place,
                "ON_TIME panes": panes_at(part, place),
                "expected": "one at the most",
            }


ONE_ON_TIME: Final = PaneLaw("a window has one ON_TIME pane at the most", always, _two_on_time)


def _same_names(part: Part) -> Broken:
    names = Counter((p.key, p.window, p.index, p.diff) for p in part.heard.panes)
    for named, times in names.items():
        if times > 1:
            yield {"key, window, number, sign": named, "panes": times, "expected": 1}


DISTINCT: Final = PaneLaw("key, window, number and sign tell panes apart", always, _same_names)


def _wrong_numbers(part: Part) -> Broken:
    for place, panes in firings(part).items():
        found = [(p.timing, p.index, p.nonspeculative, p.first, p.last) for p in panes]
        expected = list(_numbered(panes))
        if found != expected:
            yield {"window": place, "panes": found, "expected": expected}


def _numbered(panes: Sequence[Pane]) -> Iterator[tuple[str, int, int, bool, bool]]:
    """Yield timings and numbers as they should be: early, on time, late, counted from 0."""
    timings = sorted((p.timing for p in panes), key=("EARLY", "ON_TIME", "LATE").index)
    early = timings.count("EARLY")
    for n, (timing, pane) in enumerate(zip(timings, panes, strict=True)):
        last = pane.last and n == len(panes) - 1
        yield timing, n, -1 if n < early else n - early, n == 0, last


NUMBERED: Final = PaneLaw(
    "panes of a window are early, then on time, then late, and numbered from 0",
    always,
    _wrong_numbers,
)


def firings(part: Part) -> dict[Place, list[Pane]]:
    """Return the panes of each window; what came and what went in one firing are one pane."""
    places: dict[Place, list[Pane]] = defaultdict(list)
    for pane in part.heard.panes:
        numbers = [p.index for p in places[pane.key, pane.window]]
        if (pane.diff > 0 or part.mode is DISCARDING) and numbers[-1:] != [pane.index]:
            places[pane.key, pane.window].append(pane)
    return places


def panes_at(part: Part, place: Place) -> list[tuple[Any, ...]]:
    """Return the panes of a window for a message."""
    return [
        (p.timing, p.index, p.diff, p.value) for p in part.heard.panes if (p.key, p.window) == place
    ]


# Retractions


def _wrongly_standing(part: Part) -> Broken:
    stands: dict[Place, Any] = {}
    for pane in part.heard.panes:
        place = pane.key, pane.window
        stood = stands.pop(place, None)
        if stood != (said(pane) if pane.diff < 0 else None):
            yield {"pane": pane, "stood in its window before": stood}
        if pane.diff > 0:
            stands[place] = said(pane)


TAKEN_BACK: Final = PaneLaw(
    "a retraction takes back what stands in its window, and comes before what replaces it",
    lambda part: part.mode is RETRACTING,
    _wrongly_standing,
)


def _wrongly_merged(part: Part) -> Broken:
    panes = part.heard.panes
    for n, pane in enumerate(panes):
        if pane.diff < 0:
            continue
        before_it = takewhile(partial(_makes_way, pane), reversed(panes[:n]))
        windows = [
            p.window for p in before_it if p.key == pane.key and lies_in(p.window, pane.window)
        ]
        if windows != sorted(windows, reverse=True):
            yield {"pane": pane, "taken back before it": windows[::-1], "expected": sorted(windows)}
        others = standing(p for p in panes[: n + 1] if p.key == pane.key)
        beside = [o for o in others if o != said(pane) and lies_in(o[1], pane.window)]
        if beside:
            yield {"pane": pane, "still stands in a part of its window": beside, "expected": []}


def _makes_way(pane: Pane, other: Pane) -> bool:
    """Tell whether another pane is a retraction that goes out together with a pane."""
    return other.diff < 0 and other.event == pane.event


MERGED: Final = PaneLaw(
    "the panes of windows that merge are taken back in order before the pane of what they have become",
    lambda part: (
        part.mode is RETRACTING
        and isinstance(part.step.windowing.window_fn, Sessions)
        and part.watched
        and not joins_expired(part)
    ),
    _wrongly_merged,
)


# After every firing


def _timed(part: Part) -> bool:
    """See groupings of a kind whose events are known; up to sessions that a stream cannot join."""
    return part.timed and part.watched and not joins_expired(part)


def _wrong_until(part: Part) -> Broken:
    took = part.taken
    for pane in part.heard.panes:
        expected = until(pane, part, took)
        if pane.diff > 0 and pane.value != expected:
            yield {"pane": pane, "a batch of all until then": expected}


UNTIL: Final = PaneLaw(
    "after every firing a pane says what a batch of all until then says",
    lambda part: part.mode is not DISCARDING and _timed(part),
    _wrong_until,
    in_batch=False,
)


def until(pane: Pane, part: Part, took: Sequence[Taken]) -> Any:
    """Return what all that was taken in the window of a pane until its event comes to."""
    return comes_to(part.step.kind, [t.change for t in behind(pane, part, took)])


def behind(pane: Pane, part: Part, took: Sequence[Taken]) -> list[Taken]:
    """Return what was taken in the window of a pane until its event."""
    return [
        t
        for t in took
        if t.element.key == pane.key and t.event <= pane.event and inside(t.window, pane, part)
    ]


def inside(window: Any, pane: Pane, part: Part) -> bool:
    """Tell whether a window has become that of a pane; one that shrinks keeps its start."""
    if isinstance(part.step.windowing.window_fn, Sessions):
        return lies_in(window, pane.window)
    return bool(window[0] == pane.window[0])


def _wrong_so_far(part: Part) -> Broken:
    took, panes = part.taken, part.heard.panes
    for n, pane in enumerate(panes):
        if not _ends_its_firing(panes[n:]):
            continue
        here = [p for p in panes[: n + 1] if p.key == pane.key and inside(p.window, pane, part)]
        found = comes_to(part.step.kind, changes_of(part.step, here))
        expected = until(pane, part, took)
        if found != expected:
            yield {"panes so far": here, "come to": found, "a batch of all until then": expected}


def _ends_its_firing(panes: Sequence[Pane]) -> bool:
    """Tell whether the first pane is not followed by one that says what went."""
    pane, *rest = panes
    return not any((p.key, p.window, p.index) == (pane.key, pane.window, pane.index) for p in rest)


ADDING_UP: Final = PaneLaw(
    "after every firing discarding panes add up to a batch of all until then",
    lambda part: part.mode is DISCARDING and _timed(part),
    _wrong_so_far,
    in_batch=False,
)


# In the end


def like_batch(part: Part) -> tuple[Answer, Answer]:
    """Return what a grouping says in the end, and what a batch makes of all that it took.

    Sessions with a limited lateness are like batch up to joining: an element that is taken, since its own
    window has not expired, may overlap a session that has. The stream has sent that one for good and
    starts a new session, and a batch joins the two.
    """
    step = part.step
    streamed, batched = end_result(step, part.heard.panes), batch(step, part.taken)
    return meaning(step, streamed), meaning(step, batched)


def _unlike_batch(part: Part) -> Broken:
    streamed, batched = like_batch(part)
    if streamed != batched:
        yield {"the stream comes to": streamed, "a batch of what was taken": batched}


def _ends(part: Part) -> bool:
    changing = part.changing and part.mode is ACCUMULATING
    return part.ended and part.watched and not changing and not joins_expired(part)


LIKE_BATCH: Final = PaneLaw(
    "panes minus retractions, summed, are what a batch makes of all that was not dropped",
    _ends,
    _unlike_batch,
)


def _lost_or_doubled(part: Part) -> Broken:
    came = Counter((e.key, repr(e.value)) for _, e in part.heard.inputs for _ in e.windows)
    gone = Counter((e.key, repr(e.value)) for _, e in part.heard.late)
    out = Counter((p.key, repr(v)) for p in part.heard.panes for v in p.value)
    if out + gone != came:
        yield {"came": came, "in panes": out, "dropped": gone, "lost": came - out - gone}


NOTHING_LOST: Final = PaneLaw(
    "every element is in one pane of each of its windows, or was dropped from there",
    lambda part: (
        part.ended
        and part.mode is DISCARDING
        and part.watched
        and part.step.kind == "list"
        and part.step.assigns
        and not part.changing
        and not part.step.windowing.trigger.may_finish(part.step.windowing)
    ),
    _lost_or_doubled,
)


# What is dropped


def _dropped_alive(part: Part) -> Broken:
    for event, element in part.heard.late:
        expiry = element.windows[0][1] + part.lateness
        if expiry > part.complete[event]:
            yield {"dropped": element, "expires at": expiry, "watermark": part.complete[event]}


EXPIRED_ONLY: Final = PaneLaw(
    "an element is dropped from a window only if that has expired",
    lambda part: (
        not shrinks(part.step) and not part.step.windowing.trigger.may_finish(part.step.windowing)
    ),
    _dropped_alive,
    in_batch=False,
)


def _taken_expired(part: Part) -> Broken:
    for t in part.taken:
        if t.window[1] + part.lateness <= part.complete[t.event]:
            yield {"taken": t, "watermark": part.complete[t.event], "expected": "dropped"}


EXPIRED: Final = PaneLaw(
    "what comes into a window that has expired is dropped",
    lambda part: part.exact and part.watched and not part.step.windowing.window_fn.is_merging(),
    _taken_expired,
    in_batch=False,
)


def _dropped(part: Part) -> Broken:
    if any(part.heard.dropped):
        yield {
            "dropped": max(part.heard.dropped),
            "expected": 0,
            "dropped elements": part.heard.late,
        }


KEEPS_WINDOWS: Final = PaneLaw(
    "a grouping that keeps the windows of its input drops nothing, as these hold the watermark",
    lambda part: (
        not part.step.assigns
        and not shrinks(part.step)
        and not part.step.windowing.trigger.may_finish(part.step.windowing)
    ),
    _dropped,
)


# When


def _held_back(part: Part) -> Broken:
    count = _count_of(part.step.windowing.trigger)
    took, panes = part.taken, part.heard.panes
    for t in took:
        now = [u for u in took if u.event <= t.event and u.element.key == t.element.key]
        become = _window_of(t, part, now)
        came = sum(lies_in(u.window, become) for u in now)
        out = [
            p
            for p in panes
            if p.key == t.element.key and p.event <= t.event and lies_in(p.window, become)
        ]
        told = sum(len(p.value) for p in out)
        if came - told >= count:
            yield {"window": become, "came": came, "in panes": told, "waits for": count}


def _window_of(t: Taken, part: Part, now: Iterable[Taken]) -> Any:
    """Return what the window of an element has become until its event."""
    return united(part.step.windowing.window_fn, [u.window for u in now])[t.window]


def _count_of(trigger: Trigger) -> int:
    """Return what a trigger that does nothing but count counts to; 0 for others."""
    if isinstance(trigger, Repeatedly) and isinstance(trigger.underlying, AfterCount):
        return trigger.underlying.count
    return 0


COUNTED: Final = PaneLaw(
    "a window that counts holds back fewer elements than it counts to, those of merged windows added up",
    lambda part: bool(
        part.timed
        and part.watched
        and part.mode is DISCARDING
        and part.step.kind == "list"
        and not part.changing
        and _count_of(part.step.windowing.trigger)
        and not shrinks(part.step)
        and not joins_expired(part)
    ),
    _held_back,
    in_batch=False,
)


def tells_time(trigger: Trigger) -> bool:
    """Tell whether a trigger looks at the clock, here or in a part."""
    return isinstance(trigger, (AfterProcessingTime, AtPeriod)) or any(
        map(tells_time, trigger.children)
    )


PANE_LAWS: Final = (
    LIKE_BATCH,
    UNTIL,
    ADDING_UP,
    NOTHING_LOST,
    ONE_ON_TIME,
    DISTINCT,
    NUMBERED,
    TAKEN_BACK,
    MERGED,
    EXPIRED_ONLY,
    EXPIRED,
    KEEPS_WINDOWS,
    COUNTED,
)
"""All laws of a grouping."""
