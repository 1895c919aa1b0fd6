"""The laws to which a Beam runner is held: laws of the kit that panes alone can show, and some more.

A runner does not tell which event caused a pane, nor which elements it dropped. The inputs of the first
grouping are the rows of the script; those whose window had expired by the watermark of the script are late.
The inputs of the second grouping are the panes of the first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, Final

import attrs

from headrace.sdk.beam.judge.runner_cases import MILLISECOND, windows_of
from headrace.sdk.testing.laws.pane_law import Broken, PaneLaw
from headrace.sdk.testing.laws.pane_laws import DISTINCT, NUMBERED, ONE_ON_TIME, firings
from headrace.sdk.testing.laws.result_laws import LIKE_BATCH, NOTHING_LOST
from headrace.sdk.testing.runs.batch_oracle import (
    ACCUMULATING,
    DISCARDING,
    Part,
    lies_in,
    pane_timestamps,
    source_watermarks,
)
from headrace.sdk.testing.runs.run import Run, adapted
from headrace.sdk.testing.runs.run_on_runner import (
    UNKNOWN_EVENT,
    GroupingInput,
    Observation,
    Pane,
)
from headrace.sdk.testing.runs.steps import Step, holds_lists
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window import GLOBAL_WINDOW


def runner_parts(run: Run, panes: Sequence[Sequence[Pane]], streaming: bool) -> Iterator[Part]:
    """Yield the groupings of a run, with their inputs and panes.

    Args:
        run: the run.
        panes: the panes of each grouping.
        streaming: whether it was run from its script; else all elements were there at once.
    """
    known = source_watermarks(run.script) if streaming else [MIN_MICROS] * (len(run.script) + 1)
    inputs = list(_rows(run))
    for n, (step, found) in enumerate(zip(run.steps, panes, strict=True)):
        late = [(event, e) for event, e in _singly(inputs) if _is_late(e, event, step, known, n)]
        observed = Observation(list(found), inputs, late, [len(late)])
        yield Part(step, observed, known, ended=True, exact=n == 0, events_known=False)
        if n + 1 < len(run.steps):
            inputs = [*_inputs(run.steps[n + 1], found)]


def _rows(run: Run) -> Iterator[tuple[int, GroupingInput]]:
    """Yield the inputs of the first grouping, with the numbers of their events."""
    step = run.steps[0]
    for event, (kind, what) in enumerate(run.script):
        for row in what if kind == "elements" else ():
            key, value, timestamp, diff = row
            key = "all" if step.one_key else key
            yield event, GroupingInput(key, value, timestamp, diff, windows_of(row, step.windowing))


def _inputs(step: Step, panes: Sequence[Pane]) -> Iterator[tuple[int, GroupingInput]]:
    """Yield the panes of a grouping as inputs of the next one."""
    for pane in panes:
        key, value = adapted(step.one_key, holds_lists(step), pane.key, pane.value)
        windows = windows_of((key, value, pane.timestamp, 1), step.windowing)
        yield UNKNOWN_EVENT, GroupingInput(key, value, pane.timestamp, 1, windows)


def _singly(inputs: Sequence[tuple[int, GroupingInput]]) -> Iterator[tuple[int, GroupingInput]]:
    """Yield inputs once for each of their windows."""
    for event, e in inputs:
        for window in e.windows:
            yield event, attrs.evolve(e, windows=(window,))


def _is_late(e: GroupingInput, event: int, step: Step, known: Sequence[int], n: int) -> bool:
    expiry = e.windows[0][1] + step.windowing.allowed_lateness
    return n == 0 and bool(expiry <= known[event])


def agrees_in_batch(run: Run) -> bool:
    """Return whether the final result of a run must be the same in a stream and in a batch.

    No element is dropped. If there is a second grouping, it adds up the discarding panes of the first.
    """
    first, *others = run.steps
    known = source_watermarks(run.script)
    late = any(_is_late(e, event, first, known, 0) for event, e in _singly([*_rows(run)]))
    return not late and all(_adds_up(first, other) for other in others)


def _adds_up(first: Step, second: Step) -> bool:
    same_stamps = first.windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW
    discards = first.windowing.accumulation_mode is DISCARDING
    return same_stamps and discards and first.kind in {"list", "sum"} and second.kind == "sum"


# The laws of the kit, with those of late elements apart


def _nothing_late(law: PaneLaw, sentence: str) -> PaneLaw:
    return attrs.evolve(
        law, sentence=sentence, sees=lambda part: law.sees(part) and not part.observed.late
    )


BATCH_RESULT: Final = _nothing_late(LIKE_BATCH, "panes make up the batch result of all elements")

ONE_PANE: Final = _nothing_late(
    NOTHING_LOST,
    "a discarding grouping puts each element into exactly one pane of each of its windows",
)

LATE_DROPPED: Final = attrs.evolve(
    LIKE_BATCH,
    sentence="elements of expired windows are dropped, and no others",
    sees=lambda part: LIKE_BATCH.sees(part) and bool(part.observed.late),
    in_batch=False,
)


# What a pane holds


def _lists(part: Part) -> bool:
    return part.step.kind == "list"


def _without_news(part: Part) -> Broken:
    """Compare each pane with the one before it in its window."""
    for key_window, panes in firings(part).items():
        before: list[Any] = []
        for pane in panes:
            held = before if part.mode is ACCUMULATING else []
            if len(pane.value) <= len(held) and pane.timing != "ON_TIME":
                yield {"window": key_window, "panes": [(p.timing, p.value) for p in panes]}
            before = pane.value


NEW_ELEMENTS: Final = PaneLaw("a pane that is not ON_TIME has new elements", _lists, _without_news)


def _shrinking(part: Part) -> Broken:
    for key_window, panes in firings(part).items():
        for one, two in pairwise(panes):
            if Counter(map(repr, one.value)) - Counter(map(repr, two.value)):
                yield {"window": key_window, "panes": [(p.timing, p.value) for p in panes]}


KEEPS_ELEMENTS: Final = PaneLaw(
    "an accumulating pane holds all elements of the pane before it",
    lambda part: _lists(part) and part.mode is ACCUMULATING,
    _shrinking,
)


# When


def _arrived_after_end(part: Part) -> Iterator[tuple[int, GroupingInput]]:
    """Yield the inputs that arrived when the watermark had passed their window."""
    for event, e in _singly(part.observed.inputs):
        if e.windows[0][1] <= part.input_watermarks[event]:
            yield event, e


def _early_too_late(part: Part) -> Broken:
    spelled = Counter(
        (e.key, e.windows[0], repr(e.value)) for _, e in _singly(part.observed.inputs)
    )
    after = Counter((e.key, e.windows[0], repr(e.value)) for _, e in _arrived_after_end(part))
    for pane in part.observed.panes:
        for value in pane.value if pane.timing == "EARLY" else ():
            here = pane.key, pane.window, repr(value)
            if after[here] and after[here] == spelled[here]:
                yield {"EARLY pane": pane, "arrived after the end of the window": value}


EARLY_IN_TIME: Final = PaneLaw(
    "an EARLY pane holds no element that arrived after the watermark had passed the window",
    lambda part: part.exact and _lists(part) and not part.step.windowing.window_fn.is_merging(),
    _early_too_late,
    in_batch=False,
)


def _by_default(part: Part) -> bool:
    punctual = part.exact and not any(_arrived_after_end(part))
    return isinstance(part.step.windowing.trigger, DefaultTrigger) and punctual


def _not_once(part: Part) -> Broken:
    for key_window, panes in firings(part).items():
        if [pane.timing for pane in panes] != ["ON_TIME"]:
            yield {
                "window": key_window,
                "panes": [(p.timing, p.index, p.value) for p in panes],
                "expected": "one ON_TIME pane",
            }


DEFAULT_ONCE: Final = PaneLaw(
    "with the default trigger a window without late elements has one pane, which is ON_TIME",
    _by_default,
    _not_once,
)


# Timestamps


def _wrongly_stamped(part: Part) -> Broken:
    """Compare timestamps in milliseconds: some runners have no microseconds."""
    expected = pane_timestamps(part.step, part.accepted)
    at_end = _stamps_at_end(part.step)
    for pane in part.observed.panes:
        at = pane.key, pane.window
        stamp = pane.window.last if at_end else expected.get(at, pane.timestamp)
        if (at_end or _is_alone(pane, part)) and abs(stamp - pane.timestamp) > MILLISECOND:
            yield {"pane": pane, "timestamp": pane.timestamp, "expected": stamp}


def _is_alone(pane: Pane, part: Part) -> bool:
    """Return whether a pane is the only one of its window, and of the windows that have merged into it.

    The timestamp of a later pane combines only elements that have come since the pane before it.
    """
    of_key = (other.window for other in part.observed.panes if other.key == pane.key)
    return [lies_in(window, pane.window) for window in of_key].count(True) == 1


def _stamps_at_end(step: Step) -> bool:
    return step.windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW


def _in_front(part: Part) -> bool:
    """Return whether no element was behind the watermark, which holds the timestamps of panes."""
    if not part.exact:
        return max(part.input_watermarks) == MIN_MICROS
    return all(part.input_watermarks[event] <= e.timestamp for event, e in part.observed.inputs)


STAMPED_AS_ASKED: Final = PaneLaw(
    "a pane has the timestamp that the timestamp combiner of its windowing says",
    lambda part: _stamps_at_end(part.step) or _in_front(part),
    _wrongly_stamped,
)


def _outside(part: Part) -> Broken:
    for pane in part.observed.panes:
        start, end = pane.window[:2]
        if not start <= pane.timestamp < end and pane.window != GLOBAL_WINDOW:
            yield {"pane": pane, "timestamp": pane.timestamp, "window": (start, end)}


IN_ITS_WINDOW: Final = PaneLaw(
    "the timestamp of a pane lies in its window", lambda part: True, _outside
)


RUNNER_LAWS: Final = (
    BATCH_RESULT,
    ONE_PANE,
    LATE_DROPPED,
    ONE_ON_TIME,
    DISTINCT,
    NUMBERED,
    NEW_ELEMENTS,
    KEEPS_ELEMENTS,
    EARLY_IN_TIME,
    DEFAULT_ONCE,
    STAMPED_AS_ASKED,
    IN_ITS_WINDOW,
)
"""All laws of the panes of a Beam runner."""
