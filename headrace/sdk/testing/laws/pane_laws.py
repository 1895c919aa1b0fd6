"""The laws of a grouping: properties of the panes of any grouping with any input.

The laws that compare panes with a batch are in :mod:`headrace.sdk.testing.laws.result_laws`. A law defines to
which groupings it applies (``sees``) and checks them (``check``). A grouping is given as a
:class:`~headrace.sdk.testing.runs.batch_oracle.Part`, with its inputs and panes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise, takewhile
from typing import Any, Final, TypeAlias

from headrace.sdk.testing.laws.pane_law import Broken, PaneLaw, by_event, has_panes
from headrace.sdk.testing.laws.repeat_laws import REPEATED_ONCE
from headrace.sdk.testing.laws.result_laws import (
    ADDING_UP,
    LIKE_BATCH,
    NOTHING_LOST,
    STAMPED,
    STANDS,
    UNTIL,
)
from headrace.sdk.testing.laws.side_laws import SIDE_CONTENT
from headrace.sdk.testing.runs.batch_oracle import (
    COUNTED_KINDS,
    DISCARDING,
    RETRACTING,
    AcceptedElement,
    KeyWindow,
    Part,
    contents,
    grows,
    lies_in,
    merged_windows,
    net_panes,
    pane_content,
    shrinks,
)
from headrace.sdk.testing.runs.run import has_late_output
from headrace.sdk.testing.runs.run_on_runner import Pane
from headrace.triggers.clock_triggers import AfterProcessingTime, AtPeriod
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.trigger import NEVER, Trigger

# Each pane


def _two_on_time(part: Part) -> Broken:
    named = {
        (p.key, p.window, p.index)
        for p in part.observed.panes
        if p.timing == "ON_TIME" and p.diff > 0
    }
    for key_window, times in Counter((key, window) for key, window, _ in named).items():
        if times > 1:
            yield {
                "window": key_window,
                "ON_TIME panes": panes_of(part, key_window),
                "expected": "at most one",
            }


ONE_ON_TIME: Final = PaneLaw("a window has at most one ON_TIME pane", has_panes, _two_on_time)


def _same_names(part: Part) -> Broken:
    names = Counter((p.key, p.window, p.index, p.diff) for p in part.observed.panes)
    for named, times in names.items():
        if times > 1:
            yield {"key, window, index, diff": named, "panes": times, "expected": 1}


DISTINCT: Final = PaneLaw("key, window, index and diff identify a pane", has_panes, _same_names)


def _wrong_numbers(part: Part) -> Broken:
    returns = part.changing and part.step.windowing.window_fn.is_merging()
    for key_window, panes in firings(part).items():
        found = [(p.timing, p.index, p.nonspeculative, p.first, p.last) for p in panes]
        expected = list(_numbered(panes, returns))
        if found != expected:
            yield {"window": key_window, "panes": found, "expected": expected}


def _numbered(panes: Sequence[Pane], returns: bool) -> Iterator[tuple[str, int, int, bool, bool]]:
    """Yield timings and numbers as they should be: early, on time, late, counted from 0.

    A window that has sent its last pane may merge with another one and come back when they are split; then it
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
    has_panes,
    _wrong_numbers,
)


def firings(part: Part) -> dict[KeyWindow, list[Pane]]:
    """Return the panes of each window; values and retractions of one firing are one pane."""
    by_window: dict[KeyWindow, list[Pane]] = defaultdict(list)
    for pane in part.observed.panes:
        numbers = [p.index for p in by_window[pane.key, pane.window]]
        if (pane.diff > 0 or part.mode is DISCARDING) and numbers[-1:] != [pane.index]:
            by_window[pane.key, pane.window].append(pane)
    return by_window


def panes_of(part: Part, key_window: KeyWindow) -> list[tuple[Any, ...]]:
    """Return the panes of a window, for a message."""
    return [
        (p.timing, p.index, p.diff, p.value)
        for p in part.observed.panes
        if (p.key, p.window) == key_window
    ]


# Retractions


def _wrongly_standing(part: Part) -> Broken:
    current_panes: dict[KeyWindow, object] = {}
    for pane in part.observed.panes:
        key_window = pane.key, pane.window
        current = current_panes.pop(key_window, None)
        if current != (pane_content(pane) if pane.diff < 0 else None):
            yield {"pane": pane, "current pane of its window": current}
        if pane.diff > 0:
            current_panes[key_window] = pane_content(pane)


TAKEN_BACK: Final = PaneLaw(
    "a retraction removes the current pane of its window, and precedes the pane that replaces it",
    lambda part: part.mode is RETRACTING and has_panes(part),
    _wrongly_standing,
)


def _wrongly_merged(part: Part) -> Broken:
    panes = part.observed.panes
    for n, pane in enumerate(panes):
        if pane.diff < 0:
            continue
        before_it = takewhile(partial(_is_retracted_with, pane), reversed(panes[:n]))
        windows = [
            p.window for p in before_it if p.key == pane.key and lies_in(p.window, pane.window)
        ][::-1]
        if not _in_order(windows, part.changing):
            yield {"pane": pane, "retracted before it": windows, "expected": sorted(windows)}
        others = net_panes(p for p in panes[: n + 1] if p.key == pane.key)
        beside = [o for o in others if o != pane_content(pane) and lies_in(o[1], pane.window)]
        if beside:
            yield {"pane": pane, "not retracted in a part of its window": beside, "expected": []}


def _is_retracted_with(pane: Pane, other: Pane) -> bool:
    """Return whether another pane is a retraction in the same event."""
    return other.diff < 0 and other.event == pane.event


def _in_order(windows: Sequence[Any], changing: bool) -> bool:
    """Return whether windows are in order; windows that are split may be a sequence of their own."""
    steps_back = [one for one, two in pairwise(windows) if one > two]
    return len(steps_back) <= changing


MERGED: Final = PaneLaw(
    "the panes of merging windows are retracted in order before the pane of the merged window",
    lambda part: part.mode is RETRACTING and grows(part.step),
    _wrongly_merged,
)


def _overlapping(part: Part) -> Broken:
    """Check the net panes after each event, or at the end if events are not known."""
    net: Counter[tuple[Any, ...]] = Counter()
    for event, panes in by_event(part):
        for pane in panes:
            net[pane_content(pane)] += pane.diff
        for key in {pane.key for pane in panes}:
            windows = [what[1] for what, times in net.items() if times > 0 and what[0] == key]
            merged = merged_windows(part.step.windowing.window_fn, windows)
            if any(window != target for window, target in merged.items()):
                yield {"key": key, "after event": event, "windows with a pane": sorted(windows)}


APART: Final = PaneLaw(
    "if overlapping windows merge, no two current panes of a key have overlapping windows",
    lambda part: part.mode is RETRACTING and grows(part.step),
    _overlapping,
)


# What is dropped


def _dropped_alive(part: Part) -> Broken:
    for event, element in part.observed.late:
        expiry = element.windows[0][1] + part.lateness
        if expiry > part.input_watermarks[event]:
            yield {
                "dropped": element,
                "expires at": expiry,
                "watermark": part.input_watermarks[event],
            }


EXPIRED_ONLY: Final = PaneLaw(
    "an element is dropped only from an expired window",
    lambda part: (
        not shrinks(part.step) and not part.step.windowing.trigger.may_finish(part.step.windowing)
    ),
    _dropped_alive,
    in_batch=False,
)


def _taken_expired(part: Part) -> Broken:
    accepted = part.accepted
    for t in accepted:
        if part.is_expired(t.window, t.event) and part.is_expired(
            _joined(t, part, accepted), t.event
        ):
            yield {
                "accepted": t,
                "watermark": part.input_watermarks[t.event],
                "expected": "dropped",
            }


def _joined(t: AcceptedElement, part: Part, accepted: Sequence[AcceptedElement]) -> Any:
    """Return what an element's window becomes with earlier windows and the windows of the same event."""
    mine = [u for u in accepted if u.element.key == t.element.key]
    before = {at[1] for at in contents(part.step, [u for u in mine if u.event < t.event])}
    new = {u.window for u in mine if u.event == t.event}
    return merged_windows(part.step.windowing.window_fn, before | new)[t.window]


EXPIRED: Final = PaneLaw(
    "an element of an expired window is dropped, unless the window merges with a live one",
    lambda part: part.exact and part.fully_observed and not shrinks(part.step) and has_panes(part),
    _taken_expired,
    in_batch=False,
)


def _wrongly_counted(part: Part) -> Broken:
    rows = [(event, window) for event, e in part.observed.inputs for window in e.windows]
    expired = sum(part.is_expired(window, event) for event, window in rows)
    if max(part.observed.dropped) != expired:
        yield {"dropped": max(part.observed.dropped), "elements of expired windows": expired}


STATE_EXPIRED: Final = PaneLaw(
    "a stateful DoFn drops the elements of expired windows, and no others",
    lambda part: part.exact and not has_panes(part),
    _wrongly_counted,
    in_batch=False,
)


def _dropped(part: Part) -> Broken:
    if any(part.observed.dropped):
        yield {
            "dropped": max(part.observed.dropped),
            "expected": 0,
            "dropped elements": part.observed.late,
        }


KEEPS_WINDOWS: Final = PaneLaw(
    "a grouping that keeps the windows of its input drops nothing, because they hold the watermark",
    lambda part: (
        not part.step.assigns
        and not shrinks(part.step)
        and not (has_panes(part) and part.step.windowing.trigger.may_finish(part.step.windowing))
    ),
    _dropped,
)


def _dropped_apart(part: Part) -> Broken:
    """Find retractions that were accepted though the values that they cancel were dropped.

    If inputs are only counted, a retraction that was dropped without its value stands for any value of its
    window, so that nothing can be said of the others.
    """
    accepted, dropped = (_net_by_event(found) for found in _accepted_and_dropped(part))
    for event, now in accepted.items():
        for row, change in now.items():
            before = sum(some[row] for n, some in accepted.items() if n < event)
            lost = _total(some for n, some in dropped.items() if n < event)
            counted = part.step.kind in COUNTED_KINDS
            owed = counted and any(net < 0 for other, net in lost.items() if other[:2] == row[:2])
            if change < 0 and before + change < 0 < lost[row] and not owed:
                yield {
                    "key, window, value, timestamp": row,
                    "event": event,
                    "retractions accepted": -change,
                    "values accepted before": before,
                    "values dropped before": lost[row],
                }


def _accepted_and_dropped(part: Part) -> Iterator[list[tuple[int, object, object]]]:
    """Yield the elements that were accepted, then those that were dropped, with events and windows."""
    yield [(t.event, t.window, t.element) for t in part.accepted]
    yield [(event, element.windows[0], element) for event, element in part.observed.late]


_Identity: TypeAlias = tuple[Any, object, str, object]
"""The key, window, value and timestamp of an element."""


def _total(nets: Iterable[Counter[_Identity]]) -> Counter[_Identity]:
    total: Counter[_Identity] = Counter()
    for net in nets:
        total.update(net)
    return total


def _net_by_event(rows: Iterable[tuple[int, object, Any]]) -> dict[int, Counter[_Identity]]:
    """Return the insertions less the retractions of each event, by key, window, value and timestamp."""
    net: dict[int, Counter[_Identity]] = defaultdict(Counter)
    for event, window, e in rows:
        net[event][e.key, window, repr(e.value), e.timestamp] += e.diff
    return net


DROPPED_TOGETHER: Final = PaneLaw(
    "a retraction is dropped if the value that it cancels was dropped",
    lambda part: (
        part.changing and part.events_known and part.fully_observed and has_late_output(part.step)
    ),
    _dropped_apart,
    in_batch=False,
)


# When


def _held_back(part: Part) -> Broken:
    count = _count_of(part.step.windowing.trigger)
    accepted, panes = part.accepted, part.observed.panes
    for t in accepted:
        now = [u for u in accepted if u.event <= t.event and u.element.key == t.element.key]
        merged = _window_of(t, part, now)
        arrived = sum(lies_in(u.window, merged) for u in now)
        out = [
            p
            for p in panes
            if p.key == t.element.key and p.event <= t.event and lies_in(p.window, merged)
        ]
        emitted = sum(len(p.value) for p in out)
        if arrived - emitted >= count:
            yield {
                "window": merged,
                "arrived": arrived,
                "in panes": emitted,
                "trigger count": count,
            }


def _window_of(t: AcceptedElement, part: Part, now: Iterable[AcceptedElement]) -> Any:
    """Return the window that an element's window becomes with those up to an event."""
    return merged_windows(part.step.windowing.window_fn, [u.window for u in now])[t.window]


def _count_of(trigger: Trigger) -> int:
    """Return the count of a trigger that only counts; 0 for other triggers."""
    if isinstance(trigger, Repeatedly) and isinstance(trigger.underlying, AfterCount):
        return trigger.underlying.count
    return 0


COUNTED: Final = PaneLaw(
    "a window with a count trigger holds back fewer elements than the count, also after merging",
    lambda part: bool(
        part.events_known
        and part.fully_observed
        and part.mode is DISCARDING
        and part.step.kind == "list"
        and not part.changing
        and _count_of(part.step.windowing.trigger)
        and not shrinks(part.step)
    ),
    _held_back,
    in_batch=False,
)


def _fired_too_early(part: Part) -> Broken:
    count = _count_before_firing(part.step.windowing.trigger)
    events: dict[KeyWindow, list[int]] = defaultdict(list)
    for t in part.accepted:
        events[t.element.key, t.window].append(t.event)
    for key_window, panes in firings(part).items():
        before = -1
        for pane in panes:
            new = sum(before < event <= pane.event for event in events[key_window])
            if pane.timing == "EARLY" and new < count:
                yield {"window": key_window, "pane": pane, "new elements": new, "count": count}
            before = pane.event


def _count_before_firing(trigger: Trigger) -> int:
    """Return the number of elements with which a window fires early; 0 if something else decides, too."""
    return _count_of(trigger) or (0 if trigger.early_count == NEVER else trigger.early_count)


FIRED_BY_COUNT: Final = PaneLaw(
    "a window that fires early after a number of elements has as many new ones",
    lambda part: bool(
        has_panes(part)
        and part.events_known
        and part.fully_observed
        and not part.changing
        and not part.step.windowing.window_fn.is_merging()
        and _count_before_firing(part.step.windowing.trigger)
    ),
    _fired_too_early,
    in_batch=False,
)


def tells_time(trigger: Trigger) -> bool:
    """Return whether a trigger depends on processing time."""
    return isinstance(trigger, (AfterProcessingTime, AtPeriod)) or any(
        map(tells_time, trigger.children)
    )


def _in_old_windows(part: Part) -> Broken:
    """Assign each element to windows again, by its own timestamp; one that was in no window stays in none."""
    window_fn = part.step.windowing.window_fn
    for _, e in part.observed.inputs:
        (assigned,) = islice(
            window_fn.assign_column([(e.key, e.value)], [e.timestamp], [e.windows]), 1
        )
        if e.windows and set(assigned) != set(e.windows):
            yield {"element": e, "windows of its timestamp": assigned}


NEW_WINDOWS: Final = PaneLaw(
    "an element with a new timestamp is in the windows of that timestamp",
    lambda part: part.step.later > 0 and part.step.beside in (None, "flatten"),
    _in_old_windows,
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
    STATE_EXPIRED,
    DROPPED_TOGETHER,
    KEEPS_WINDOWS,
    COUNTED,
    FIRED_BY_COUNT,
    SIDE_CONTENT,
    NEW_WINDOWS,
    REPEATED_ONCE,
)
"""All laws of a grouping."""
