"""The laws of a grouping: what holds of the panes of any grouping, whatever it is and whatever came.

A law says in which groupings it can be seen (``sees``), and holds them to it (``check``). What it needs are a
:class:`~headrace.sdk.testing.batch_oracle.Part`, a grouping with all that it heard and said.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from itertools import groupby, pairwise, takewhile
from operator import attrgetter
from typing import Any, Final

import attrs

from headrace.sdk.testing.batch_oracle import (
    ACCUMULATING,
    DISCARDING,
    RETRACTING,
    Answer,
    Part,
    Place,
    Taken,
    batch,
    changes_in,
    changes_of,
    comes_to,
    contents,
    end_result,
    forgets,
    grows,
    lags,
    lies_in,
    meaning,
    said,
    shrinks,
    stamps,
    standing,
    united,
)
from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.run_on_runner import Pane
from headrace.triggers.clock_triggers import AfterProcessingTime, AtPeriod
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.trigger import Trigger

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
    returns = part.changing and part.step.windowing.window_fn.is_merging()
    for place, panes in firings(part).items():
        found = [(p.timing, p.index, p.nonspeculative, p.first, p.last) for p in panes]
        expected = list(_numbered(panes, returns))
        if found != expected:
            yield {"window": place, "panes": found, "expected": expected}


def _numbered(panes: Sequence[Pane], returns: bool) -> Iterator[tuple[str, int, int, bool, bool]]:
    """Yield timings and numbers as they should be: early, on time, late, counted from 0.

    A window that has sent its last pane may merge with another, and come back when they come apart; then it
    sends another last pane.
    """
    timings = sorted((p.timing for p in panes), key=("EARLY", "ON_TIME", "LATE").index)
    early = timings.count("EARLY")
    ended = False
    for n, (timing, pane) in enumerate(zip(timings, panes, strict=True)):
        last = pane.last and n == len(panes) - 1
        ended = ended or (returns and pane.last)
        yield timing, n, -1 if n < early else n - early, n == 0, last or ended


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
        ][::-1]
        if not _in_order(windows, part.changing):
            yield {"pane": pane, "taken back before it": windows, "expected": sorted(windows)}
        others = standing(p for p in panes[: n + 1] if p.key == pane.key)
        beside = [o for o in others if o != said(pane) and lies_in(o[1], pane.window)]
        if beside:
            yield {"pane": pane, "still stands in a part of its window": beside, "expected": []}


def _makes_way(pane: Pane, other: Pane) -> bool:
    """Tell whether another pane is a retraction that goes out together with a pane."""
    return other.diff < 0 and other.event == pane.event


def _in_order(windows: Sequence[Any], changing: bool) -> bool:
    """Tell whether windows are in order; if they can come apart, those that do so are a row of their own."""
    steps_back = [one for one, two in pairwise(windows) if one > two]
    return len(steps_back) <= changing


MERGED: Final = PaneLaw(
    "the panes of windows that merge are taken back in order before the pane of what they have become",
    lambda part: part.mode is RETRACTING and grows(part.step),
    _wrongly_merged,
)


def _overlapping(part: Part) -> Broken:
    """Look at what stands after each event, or, where events are not known, in the end."""
    stand: Counter[tuple[Any, ...]] = Counter()
    for event, panes in _by_event(part):
        for pane in panes:
            stand[said(pane)] += pane.diff
        for key in {pane.key for pane in panes}:
            windows = [what[1] for what, times in stand.items() if times > 0 and what[0] == key]
            become = united(part.step.windowing.window_fn, windows)
            if any(window != target for window, target in become.items()):
                yield {"key": key, "after event": event, "windows that stand": sorted(windows)}


def _by_event(part: Part) -> list[tuple[int, list[Pane]]]:
    """Return what came out, event by event; as if in one, where events are not known."""
    event = attrgetter("event") if part.timed else (lambda pane: -1)
    ordered = sorted(part.heard.panes, key=event)
    return [(n, list(panes)) for n, panes in groupby(ordered, key=event)]


APART: Final = PaneLaw(
    "no two panes of a key stand in windows that overlap, where such windows merge",
    lambda part: part.mode is RETRACTING and grows(part.step),
    _overlapping,
)


# After every firing


def _timed(part: Part) -> bool:
    """See groupings of a kind whose events are known."""
    return part.timed and part.watched and not forgets(part)


def _wrong_until(part: Part) -> Broken:
    @cache
    def answer(key: Any, event: int) -> dict[Place, Any]:
        until = [t for t in part.taken if t.element.key == key and t.event <= event]
        found = contents(part.step, until).items()
        return {at: comes_to(part.step.kind, changes_in(inside)) for at, inside in found}

    for pane in part.heard.panes:
        if pane.diff > 0:
            expected = answer(pane.key, pane.event)
            place = pane.key, pane.window
            if place not in expected or pane.value != expected[place]:
                yield {"pane": pane, "a batch of all until then": expected}


UNTIL: Final = PaneLaw(
    "after every firing a pane says what a batch of all until then says",
    lambda part: part.mode is not DISCARDING and _timed(part),
    _wrong_until,
    in_batch=False,
)


def _wrongly_left(part: Part) -> Broken:
    """Follow what has fired, and compare what stands with a batch of it."""
    stand: Counter[tuple[Any, ...]] = Counter()
    fired: dict[Any, dict[int, Taken]] = defaultdict(dict)
    took = part.taken
    for event, panes in _by_event(part):
        for pane in panes:
            stand[said(pane)] += pane.diff
            fired[pane.key] |= _fires(pane, part, took, fired[pane.key].values())
        for key in {pane.key for pane in panes}:
            found = Counter(dict(_at_places(stand, key)))
            now = batch(part.step, fired[key].values())
            expected = Counter({(*at, repr(value)): 1 for at, value in now.items()})
            if found != expected:
                yield {"after event": event, "stands": found, "a batch of what fired": expected}


def _fires(
    pane: Pane, part: Part, took: Sequence[Taken], before: Iterable[Taken]
) -> dict[int, Taken]:
    """Return what a pane fires, given what has fired before.

    A pane fires all that lies in its window; a retraction, all that came into those elements' own windows
    of which something has fired that is still there. What comes in their place has yet to fire.
    """
    inside = behind(pane, part, took)
    if pane.diff < 0:
        there = contents(part.step, before).values()
        windows = {t.window for some in there for t in some}
        inside = [t for t in inside if t.window in windows]
    return {id(t): t for t in inside}


def _at_places(stand: Counter[tuple[Any, ...]], key: Any) -> Iterator[tuple[Any, int]]:
    """Yield what stands of a key, but for timestamps."""
    for (of, window, value, _), times in stand.items():
        if of == key and times:
            yield (of, window, value), times


STANDS: Final = PaneLaw(
    "after every firing what stands is what a batch makes of all that has fired",
    lambda part: part.mode is RETRACTING and not shrinks(part.step) and _timed(part),
    _wrongly_left,
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
    if grows(part.step):
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
    """Return what a grouping says in the end, and what a batch makes of all that it took."""
    step = part.step
    streamed, batched = end_result(step, part.heard.panes), batch(step, part.taken)
    return meaning(step, streamed), meaning(step, batched)


def _unlike_batch(part: Part) -> Broken:
    streamed, batched = like_batch(part)
    if streamed != batched:
        yield {"the stream comes to": streamed, "a batch of what was taken": batched}


def _ends(part: Part) -> bool:
    changing = part.changing and part.mode is ACCUMULATING
    return part.ended and part.watched and not changing and not forgets(part)


LIKE_BATCH: Final = PaneLaw(
    "panes minus retractions, summed, are what a batch makes of all that was not dropped",
    _ends,
    _unlike_batch,
)


def _wrongly_stamped(part: Part) -> Broken:
    took = part.taken
    lagging = {t.element.key for t in took if lags(t, part, by=part.lateness)}
    expected = stamps(part.step, took)
    for key, window, value, timestamp in standing(part.heard.panes):
        stamp = expected.get((key, window), timestamp)
        if key not in lagging and timestamp != stamp:
            yield {"pane": (key, window, value), "timestamp": timestamp, "that of a batch": stamp}


STAMPED: Final = PaneLaw(
    "a pane that stands in the end has the timestamp of a batch, if nothing lay behind the watermark by "
    "more than the allowed lateness",
    lambda part: part.mode is RETRACTING and _ends(part),
    _wrongly_stamped,
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
    took = part.taken
    for t in took:
        if _expired(t.window, t.event, part) and _expired(_joined(t, part, took), t.event, part):
            yield {"taken": t, "watermark": part.complete[t.event], "expected": "dropped"}


def _expired(window: Any, event: int, part: Part) -> bool:
    return bool(window[1] + part.lateness <= part.complete[event])


def _joined(t: Taken, part: Part, took: Sequence[Taken]) -> Any:
    """Return what the window of an element becomes, with those that stand before and those that come too."""
    mine = [u for u in took if u.element.key == t.element.key]
    before = {at[1] for at in contents(part.step, [u for u in mine if u.event < t.event])}
    new = {u.window for u in mine if u.event == t.event}
    return united(part.step.windowing.window_fn, before | new)[t.window]


EXPIRED: Final = PaneLaw(
    "what comes into a window that has expired is dropped, but where that joins a live one",
    lambda part: part.exact and part.watched and not shrinks(part.step),
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
    STAMPED,
    UNTIL,
    STANDS,
    ADDING_UP,
    NOTHING_LOST,
    ONE_ON_TIME,
    DISTINCT,
    NUMBERED,
    TAKEN_BACK,
    MERGED,
    APART,
    EXPIRED_ONLY,
    EXPIRED,
    KEEPS_WINDOWS,
    COUNTED,
)
"""All laws of a grouping."""
