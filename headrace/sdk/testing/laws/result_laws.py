"""Laws of the results of a grouping: its panes, after every firing and at the end, agree with a batch."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, Final

from headrace.sdk.testing.laws.pane_law import Broken, PaneLaw, by_event
from headrace.sdk.testing.runs.batch_oracle import (
    ACCUMULATING,
    DISCARDING,
    RETRACTING,
    AcceptedElement,
    KeyWindow,
    Part,
    Result,
    batch_result,
    changes_in,
    changes_of,
    contents,
    end_result,
    grows,
    lies_behind,
    lies_in,
    may_forget_windows,
    net_panes,
    pane_content,
    pane_timestamps,
    result_of,
    shrinks,
    without_empty,
)
from headrace.sdk.testing.runs.run_on_runner import Pane

# After every firing


def _timed(part: Part) -> bool:
    """Apply to groupings whose events are known."""
    return part.events_known and part.fully_observed and not may_forget_windows(part)


def _wrong_until(part: Part) -> Broken:
    @cache
    def answer(key: object, event: int) -> dict[KeyWindow, object]:
        until = [t for t in part.accepted if t.element.key == key and t.event <= event]
        found = contents(part.step, until).items()
        return {
            at: result_of(part.step.kind, changes_in(part.step, inside)) for at, inside in found
        }

    for pane in part.observed.panes:
        if pane.diff > 0:
            expected = answer(pane.key, pane.event)
            key_window = pane.key, pane.window
            if key_window not in expected or pane.value != expected[key_window]:
                yield {"pane": pane, "a batch of all elements so far": expected}


UNTIL: Final = PaneLaw(
    "after every firing a pane equals the batch result of all elements so far",
    lambda part: part.mode is not DISCARDING and _timed(part),
    _wrong_until,
    in_batch=False,
)


def _wrongly_left(part: Part) -> Broken:
    """Compare the net panes after each event with a batch of the elements that have fired."""
    net: Counter[tuple[Any, ...]] = Counter()
    fired: dict[object, dict[int, AcceptedElement]] = defaultdict(dict)
    accepted = part.accepted
    for event, panes in by_event(part):
        for pane in panes:
            net[pane_content(pane)] += pane.diff
            fired[pane.key] |= _fired_by(pane, part, accepted, fired[pane.key].values())
        for key in {pane.key for pane in panes}:
            found = Counter(dict(_without_timestamps(net, key)))
            now = batch_result(part.step, fired[key].values())
            expected = Counter({(*at, repr(value)): 1 for at, value in now.items()})
            if found != expected:
                yield {
                    "after event": event,
                    "net panes": found,
                    "a batch of the fired elements": expected,
                }


def _fired_by(
    pane: Pane, part: Part, accepted: Sequence[AcceptedElement], before: Iterable[AcceptedElement]
) -> dict[int, AcceptedElement]:
    """Return the elements that a pane fires, given those that fired before.

    A pane fires all elements of its window. A retraction fires all elements in the same original windows as
    elements that have fired before and remain; their replacements have yet to fire.
    """
    inside = behind(pane, part, accepted)
    if pane.diff < 0:
        there = contents(part.step, before).values()
        windows = {t.window for some in there for t in some}
        inside = [t for t in inside if t.window in windows]
    return {id(t): t for t in inside}


def _without_timestamps(
    net: Counter[tuple[object, ...]], key: object
) -> Iterator[tuple[object, int]]:
    """Yield the net panes of a key, without timestamps."""
    for (of, window, value, _), times in net.items():
        if of == key and times:
            yield (of, window, value), times


STANDS: Final = PaneLaw(
    "after every firing the net panes equal the batch result of all fired elements",
    lambda part: part.mode is RETRACTING and not shrinks(part.step) and _timed(part),
    _wrongly_left,
    in_batch=False,
)


def until(pane: Pane, part: Part, accepted: Sequence[AcceptedElement]) -> Any:
    """Return the result of the elements that were accepted in the window of a pane up to its event."""
    return result_of(part.step.kind, changes_in(part.step, behind(pane, part, accepted)))


def behind(pane: Pane, part: Part, accepted: Sequence[AcceptedElement]) -> list[AcceptedElement]:
    """Return the elements that were accepted in the window of a pane up to its event."""
    return [
        t
        for t in accepted
        if t.element.key == pane.key and t.event <= pane.event and inside(t.window, pane, part)
    ]


def inside(window: Any, pane: Pane, part: Part) -> bool:
    """Return whether a window has become the window of a pane; a window that shrinks keeps its start."""
    if grows(part.step):
        return lies_in(window, pane.window)
    return bool(window[0] == pane.window[0])


def _wrong_so_far(part: Part) -> Broken:
    accepted, panes = part.accepted, part.observed.panes
    for n, pane in enumerate(panes):
        if not _ends_its_firing(panes[n:]):
            continue
        here = [p for p in panes[: n + 1] if p.key == pane.key and inside(p.window, pane, part)]
        found = result_of(part.step.kind, changes_of(part.step, here))
        expected = until(pane, part, accepted)
        if found != expected:
            yield {
                "panes so far": here,
                "result": found,
                "a batch of all elements so far": expected,
            }


def _ends_its_firing(panes: Sequence[Pane]) -> bool:
    """Return whether the first pane is not followed by another pane of the same firing."""
    pane, *rest = panes
    return not any((p.key, p.window, p.index) == (pane.key, pane.window, pane.index) for p in rest)


ADDING_UP: Final = PaneLaw(
    "after every firing discarding panes add up to the batch result of all elements so far",
    lambda part: part.mode is DISCARDING and _timed(part),
    _wrong_so_far,
    in_batch=False,
)


# At the end


def compare_with_batch(part: Part) -> tuple[Result, Result]:
    """Return the final result of a grouping, and the result of a batch of the elements that it accepted."""
    step = part.step
    streamed, batched = end_result(step, part.observed.panes), batch_result(step, part.accepted)
    return without_empty(step, streamed), without_empty(step, batched)


def _unlike_batch(part: Part) -> Broken:
    streamed, batched = compare_with_batch(part)
    if streamed != batched:
        yield {"the stream": streamed, "a batch of the accepted elements": batched}


def _ends(part: Part) -> bool:
    changing = part.changing and part.mode is ACCUMULATING
    return part.ended and part.fully_observed and not changing and not may_forget_windows(part)


LIKE_BATCH: Final = PaneLaw(
    "panes minus retractions equal the batch result of all elements that were not dropped",
    _ends,
    _unlike_batch,
)


def _wrongly_stamped(part: Part) -> Broken:
    accepted = part.accepted
    lagging = {t.element.key for t in accepted if lies_behind(t, part, by=part.lateness)}
    expected = pane_timestamps(part.step, accepted)
    for key, window, value, timestamp in net_panes(part.observed.panes):
        stamp = expected.get((key, window), timestamp)
        if key not in lagging and timestamp != stamp:
            yield {
                "pane": (key, window, value),
                "timestamp": timestamp,
                "timestamp in a batch": stamp,
            }


STAMPED: Final = PaneLaw(
    "a final pane has the timestamp of a batch, if no element was behind the watermark by more than the "
    "allowed lateness",
    lambda part: part.mode is RETRACTING and _ends(part),
    _wrongly_stamped,
)


def _lost_or_doubled(part: Part) -> Broken:
    inputs = Counter((e.key, repr(e.value)) for _, e in part.observed.inputs for _ in e.windows)
    dropped = Counter((e.key, repr(e.value)) for _, e in part.observed.late)
    out = Counter((p.key, repr(v)) for p in part.observed.panes for v in p.value)
    if out + dropped != inputs:
        yield {
            "inputs": inputs,
            "in panes": out,
            "dropped": dropped,
            "lost": inputs - out - dropped,
        }


NOTHING_LOST: Final = PaneLaw(
    "every element is in exactly one pane of each of its windows, or was dropped",
    lambda part: (
        part.ended
        and part.mode is DISCARDING
        and part.fully_observed
        and part.step.kind == "list"
        and part.step.assigns
        and not part.changing
        and not part.step.windowing.trigger.may_finish(part.step.windowing)
    ),
    _lost_or_doubled,
)
