"""The batch oracle: the elements that a grouping accepted, and the result of a batch of these elements.

The result is computed from scratch, from elements and never from what an engine merged: elements are
assigned to windows, the window function merges all windows at once, and the elements of each window give
its value. If retractions leave a window empty, it does not merge; in discarding mode, where panes contain
only changes, all windows that ever existed merge.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.testing.runs.linked_windows import LinkedWindows
from headrace.sdk.testing.runs.run import has_late_output
from headrace.sdk.testing.runs.run_on_runner import GroupingInput, Observation, Pane
from headrace.sdk.testing.runs.steps import (
    LAST_VALUES,
    STAMPED_KINDS,
    SUBTRACTING,
    Step,
    emits_panes,
    mode_of,
)
from headrace.sdk.testing.runs.validity_windows import ValidityWindows
from headrace.sdk.testing.streams.script import Script
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.sessions import Sessions
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import WindowFn

KeyWindow: TypeAlias = tuple[Any, BoundedWindow]
"""A key and a window."""

Result: TypeAlias = dict[KeyWindow, Any]
"""The value of each key and window."""

SignedValue: TypeAlias = tuple[Any, int]
"""A value and its diff, +1 or -1."""

DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
RETRACTING = AccumulationMode.RETRACTING

SUMS: Final = ("sum", "state")
"""The kinds of results that are sums."""

COUNTED_KINDS: Final = (*SUMS, *SUBTRACTING)
"""The kinds of results that are empty if there are as many retractions as values."""


# Results of values


def remaining_values(changes: Iterable[SignedValue]) -> list[Any]:
    """Return the values that were added more often than retracted, sorted by their repr."""
    values: dict[str, Any] = {}
    counts: Counter[str] = Counter()
    for value, diff in changes:
        values[repr(value)] = value
        counts[repr(value)] += diff
    return [values[spelling] for spelling in sorted((+counts).elements())]


def result_of(kind: str, changes: Iterable[SignedValue]) -> Any:
    """Return the result of a grouping of a kind for values that were added and retracted.

    If the kind is one of ``STAMPED_KINDS``, the values are pairs of timestamps and values.

    >>> result_of("sum", [(3, 1), (2, -1)]), result_of("largest", [(3, 1), (5, 1), (5, -1)])
    (1, 3)
    """
    if kind in SUMS:
        return sum(value * diff for value, diff in changes)
    if kind == "spread":
        return _spread([*changes])
    if kind == "count":
        return sum(diff for _, diff in changes)
    if kind == "mean":
        return _mean([*changes])
    values = remaining_values(changes)
    return _OF_VALUES[kind](values)


def _last(stamped: list[tuple[int, Any]]) -> list[Any]:
    by_time = sorted(stamped, key=lambda pair: (pair[0], encode_value(pair[1])))
    return sorted((value for _, value in by_time[-LAST_VALUES:]), key=repr)


def _by_time(direction: int, stamped: list[tuple[int, Any]]) -> Any:
    """Return the latest value, or the earliest one if the direction is -1; None if there is none."""
    ranked = [(time * direction, encode_value(value), value) for time, value in stamped]
    return max(ranked)[2] if ranked else None


def _spread(changes: Sequence[SignedValue]) -> object:
    number = sum(diff for _, diff in changes)
    total = sum(value * diff for value, diff in changes)
    return number * sum(value**2 * diff for value, diff in changes) - total**2 if number > 0 else 0


def _mean(changes: Sequence[SignedValue]) -> object:
    number = sum(diff for _, diff in changes)
    return sum(value * diff for value, diff in changes) / number if number else None


_OF_VALUES: Final[dict[str, Callable[[list[Any]], Any]]] = {
    "list": list,
    "largest": lambda values: max(values, default=0),
    "distinct": lambda values: len(set(map(repr, values))),
    "max": lambda values: max(values, default=None),
    "last": _last,
    "earliest": partial(_by_time, -1),
    "latest": partial(_by_time, 1),
    "several": lambda values: (sum(values), max(values, default=None)),
}
"""Results of the values that are not retracted, by kind."""


def is_empty(kind: str, changes: Sequence[SignedValue]) -> bool:
    """Return whether no values remain after retractions."""
    if kind in COUNTED_KINDS:
        return sum(diff for _, diff in changes) <= 0
    return not remaining_values(changes)


# Windows


class _MergeTargets(WindowFn.MergeContext):
    """Records the target of each window."""

    def __init__(self, windows: Iterable[BoundedWindow]) -> None:
        super().__init__(windows)
        self.targets = {window: window for window in self.windows}

    def merge(self, to_be_merged: Iterable[BoundedWindow], merge_result: BoundedWindow) -> None:
        self.targets.update(dict.fromkeys(to_be_merged, merge_result))


def merged_windows(
    window_fn: WindowFn, windows: Iterable[BoundedWindow]
) -> dict[BoundedWindow, BoundedWindow]:
    """Return the window that each of a key's windows becomes if all exist at once."""
    recorder = _MergeTargets(sorted(set(windows)))
    if window_fn.is_merging():
        window_fn.merge(recorder)
    return recorder.targets


def shrinks(step: Step) -> bool:
    """Return whether windows can become shorter."""
    return isinstance(step.windowing.window_fn, ValidityWindows)


def grows(step: Step) -> bool:
    """Return whether windows merge into windows that cover them."""
    return isinstance(step.windowing.window_fn, (Sessions, LinkedWindows))


def lies_in(inner: BoundedWindow, outer: BoundedWindow) -> bool:
    """Return whether a window is contained in another one."""
    return bool(outer[0] <= inner[0] and inner[1] <= outer[1])


# The elements that a grouping accepted


@attrs.frozen
class AcceptedElement:
    """An element that a grouping accepted, with its window and the event of its arrival."""

    event: int
    window: BoundedWindow
    element: GroupingInput


def accepted_elements(observed: Observation) -> list[AcceptedElement]:
    """Return the elements that a grouping accepted: its inputs in each window, without late ones."""
    late = Counter((event, e.windows[0], _spelling(e)) for event, e in observed.late)
    found = []
    for event, element in observed.inputs:
        for window in element.windows:
            row = event, window, _spelling(element)
            if late[row]:
                late[row] -= 1
            else:
                found.append(AcceptedElement(event, window, element))
    return found


def _spelling(e: GroupingInput) -> tuple[object, ...]:
    return e.key, repr(e.value), e.timestamp, e.diff


@attrs.frozen
class Part:
    """A grouping of a run, and what was observed of it.

    Attributes:
        step: the grouping.
        observed: its inputs and outputs.
        input_watermarks: its input watermark before each event, and after the last one.
        exact: whether these are exact; if not, they are lower bounds.
        changing: whether the input can have retractions.
        ended: whether the script reaches the end of time.
        events_known: whether the events of panes and inputs are known with certainty.
    """

    step: Step
    observed: Observation
    input_watermarks: Sequence[int]
    changing: bool = False
    ended: bool = False
    exact: bool = True
    events_known: bool = True

    @property
    def mode(self) -> AccumulationMode:
        """How the outputs make the result."""
        return mode_of(self.step)

    @property
    def lateness(self) -> int:
        """The allowed lateness, in microseconds."""
        return self.step.windowing.allowed_lateness

    @property
    def fully_observed(self) -> bool:
        """Whether all inputs and all dropped elements are known.

        The inputs of a join are not captured. A grouping that keeps its windows has no output for late
        elements; it drops some only if windows of several keys become windows of one key, and shrink. A
        stateful DoFn has no such output either, but it drops exactly the elements of expired windows.
        """
        if self.step.beside == "join":
            return False
        if not emits_panes(self.step) and self.exact:
            return True
        return has_late_output(self.step) or not any(self.observed.dropped)

    @property
    def accepted(self) -> list[AcceptedElement]:
        """The elements that the grouping accepted."""
        accepted = accepted_elements(self.observed)
        if not emits_panes(self.step) and self.exact:
            return [t for t in accepted if not self.is_expired(t.window, t.event)]
        return accepted

    def is_expired(self, window: BoundedWindow, event: int) -> bool:
        """Return whether a window has expired before an event."""
        return bool(window[1] + self.lateness <= self.input_watermarks[event])


def source_watermarks(script: Script) -> list[int]:
    """Return the watermark of a script's source before each event, and after the last one."""
    steps = (what if kind == "watermark" else MIN_MICROS for kind, what in script)
    return list(accumulate(steps, max, initial=MIN_MICROS))


def may_forget_windows(part: Part) -> bool:
    """Return whether windows that shrink may have expired before a retraction that would change them.

    The window of the last element never expires, but the one before it does, and it may be gone when a
    retraction should make it longer again. Such a retraction lies further behind the watermark than the
    allowed lateness; the output of a grouping has none.
    """
    return shrinks(part.step) and any(
        t.element.diff < 0 and lies_behind(t, part, by=part.lateness) for t in part.accepted
    )


def lies_behind(t: AcceptedElement, part: Part, by: int) -> bool:
    """Return whether an element may lie further behind the watermark than a number of microseconds."""
    return t.element.timestamp + by < part.input_watermarks[t.event]


# The result of these elements


def contents(
    step: Step, elements: Iterable[AcceptedElement]
) -> dict[KeyWindow, list[AcceptedElement]]:
    """Return the elements of each window if all elements exist at once."""
    parts: dict[Any, dict[BoundedWindow, list[AcceptedElement]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for t in elements:
        parts[t.element.key][t.window].append(t)
    found: dict[KeyWindow, list[AcceptedElement]] = defaultdict(list)
    for key, windows in parts.items():
        present = _non_empty_parts(step, windows)
        targets = merged_windows(step.windowing.window_fn, present)
        for window, inside in present.items():
            found[key, targets[window]] += inside
    return found


def _non_empty_parts(
    step: Step, parts: dict[BoundedWindow, list[AcceptedElement]]
) -> dict[BoundedWindow, list[AcceptedElement]]:
    """Return the windows that are not empty after retractions; all windows if they do not affect others."""
    discards = mode_of(step) is DISCARDING
    if discards or not step.windowing.window_fn.is_merging():
        return parts
    return {
        window: inside
        for window, inside in parts.items()
        if not is_empty(step.kind, changes_in(step, inside))
    }


def changes_in(step: Step, elements: Iterable[AcceptedElement]) -> list[SignedValue]:
    """Return the values and diffs of elements; values with their timestamps if the step needs them."""
    if step.kind in STAMPED_KINDS:
        return [((t.element.timestamp, t.element.value), t.element.diff) for t in elements]
    return [(t.element.value, t.element.diff) for t in elements]


def batch_result(step: Step, elements: Iterable[AcceptedElement]) -> Result:
    """Return the result of a batch of the elements that a step accepted.

    In discarding mode panes contain changes, so there is also a result for a window whose elements were all
    retracted.
    """
    kind, discards = step.kind, mode_of(step) is DISCARDING
    changes = {at: changes_in(step, inside) for at, inside in contents(step, elements).items()}
    return {
        at: result_of(kind, some)
        for at, some in changes.items()
        if discards or not is_empty(kind, some)
    }


def pane_timestamps(step: Step, elements: Iterable[AcceptedElement]) -> dict[KeyWindow, int]:
    """Return the timestamp of each window's pane in a batch of all elements.

    A timestamp counts if it was added more often than retracted; windows without such a timestamp are
    omitted.
    """
    found = {}
    for (key, window), inside in contents(step, elements).items():
        times: Counter[int] = Counter()
        for t in inside:
            times[t.element.timestamp] += t.element.diff
        if there := +times:
            found[key, window] = min(_output_time(step, window, there), window.last)
    return found


def _output_time(step: Step, window: BoundedWindow, timestamps: Iterable[int]) -> int:
    """Return the timestamp of an output; a stateful DoFn emits at the end of its window."""
    if not emits_panes(step):
        return int(window.last)
    there = list(timestamps)
    return step.windowing.output_time(window.last, min(there), max(there))


def net_panes(panes: Iterable[Pane]) -> Counter[tuple[Any, ...]]:
    """Return panes minus retractions."""
    net: Counter[tuple[Any, ...]] = Counter()
    for pane in panes:
        net[pane_content(pane)] += pane.diff
    return +net


def pane_content(pane: Pane) -> tuple[Any, ...]:
    """Return the content of a pane in a form that can be counted."""
    return pane.key, pane.window, repr(pane.value), pane.timestamp


def end_result(step: Step, panes: Sequence[Pane]) -> Result:
    """Return the final result of all panes of a run, interpreted by their accumulation mode."""
    if mode_of(step) is RETRACTING:
        return _net_result(panes)
    windows: dict[Any, set[BoundedWindow]] = defaultdict(set)
    for pane in panes:
        windows[pane.key].add(pane.window)
    targets = {
        key: merged_windows(step.windowing.window_fn, found) for key, found in windows.items()
    }
    by_window: dict[KeyWindow, list[Pane]] = defaultdict(list)
    for pane in panes:
        by_window[pane.key, targets[pane.key][pane.window]].append(pane)
    if mode_of(step) is ACCUMULATING:
        return {key_window: found[-1].value for key_window, found in by_window.items()}
    return {
        key_window: result_of(step.kind, changes_of(step, found))
        for key_window, found in by_window.items()
    }


def changes_of(step: Step, panes: Iterable[Pane]) -> Iterator[SignedValue]:
    """Yield the values and diffs of discarding panes; the value of a pane can be a list of values."""
    for pane in panes:
        for value in pane.value if step.kind == "list" else [pane.value]:
            yield value, pane.diff


def _net_result(panes: Sequence[Pane]) -> Result:
    """Return the net result of retracting panes; if a window has several panes left, all of them."""
    net = net_panes(panes)
    values = {pane_content(pane): pane.value for pane in panes}
    found: dict[KeyWindow, list[Any]] = defaultdict(list)
    for what, times in net.items():
        found[what[:2]] += [values[what]] * times
    return {
        at: panes_left[0] if len(panes_left) == 1 else ("all of", *panes_left)
        for at, panes_left in found.items()
    }


def without_empty(step: Step, result: Result) -> Result:
    """Return a result without empty windows; only retracting panes can distinguish them."""
    empty = ([], []) if step.beside == "join" else result_of(step.kind, [])
    retracting = mode_of(step) is RETRACTING
    return {
        key_window: value for key_window, value in result.items() if retracting or value != empty
    }
