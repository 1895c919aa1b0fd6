"""Steps: the groupings of a run, as plain data, and their names in a pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from typing import Any, Final, Literal, TypeAlias

import attrs

from headrace.sdk.testing.runs.repeating import Pauses
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.window_fn import WindowFn

Kind: TypeAlias = Literal[
    "sum",
    "list",
    "largest",
    "spread",
    "distinct",
    "last",
    "state",
    "count",
    "mean",
    "max",
    "several",
    "earliest",
    "latest",
]

SUBTRACTING: Final[tuple[Kind, ...]] = ("sum", "spread", "count", "mean")
"""Results of CombineFns that can subtract."""

UNDIVIDED_KINDS: Final[tuple[Kind, ...]] = (
    "spread",
    "distinct",
    "last",
    "count",
    "mean",
    "max",
    "several",
    "earliest",
    "latest",
)
"""Results that cannot be combined from the results of parts, so discarding panes have another kind."""

_SKETCHES: Final[tuple[Kind, ...]] = ("distinct",) if find_spec("datasketches") else ()

KINDS: Final[tuple[Kind, ...]] = ("sum", "list", "largest", "spread", "last", *_SKETCHES)
"""A sum, which can subtract; a list; a combination that must keep its inputs to support retractions; a
variance, which can subtract; the last values by event time, which an evictor keeps; and, if the package
datasketches is there, a sketch, which cannot subtract."""

KNOWN_KINDS: Final[tuple[Kind, ...]] = (
    "sum",
    "count",
    "mean",
    "max",
    "several",
    "earliest",
    "latest",
    *_SKETCHES,
)
"""Results that are combined as columns; all but the sum and the sketch are drawn only for elements that are
columns. Several are a sum and a maximum."""

STAMPED_KINDS: Final[Mapping[Kind, str]] = {
    "last": "Evict",
    "earliest": "Earliest",
    "latest": "Latest",
}
"""Results that depend on the timestamps of values, with the last part of the label of the grouping node."""

LAST_VALUES: Final = 2
"""The number of values that the evictor keeps."""

Beside: TypeAlias = Literal["flatten", "join", "side"]

UNSAFE: Final = "--allow_unsafe_triggers"
"""The flag of pipelines whose triggers may lose data."""


@attrs.frozen
class Step:
    """A grouping of a run, and the transforms that precede it.

    Attributes:
        windowing: its windowing strategy.
        kind: the result for the values of a key; ``"state"`` for a sum that a stateful DoFn adds up.
        assigns: whether it assigns new windows, or keeps the windows of its input.
        one_key: whether it replaces all keys by a single key.
        only: the predicate of a filter before it; None for no filter.
        beside: whether another collection is flattened into its input, joined with it, or a side input of
            it: the elements of the run's other script, or a branch. The values of a join are a tuple of two
            lists, without a kind. Of a side input, the weights of all values are added to each value: by a
            Map before the grouping, or by the stateful DoFn itself.
        branch: the groupings of that branch, which also process the elements of the run's first script; empty
            if the other collection is the other script.
        side_windows: the windows of a side input; None for the windows of the step.
        later: how much later its elements get, in seconds, after they were assigned to windows: then a
            ``TimestampedValue`` assigns them again. 0 for no new timestamps.
        pauses: the pauses of a splittable DoFn before it, whose outputs it groups; None for no such DoFn.
    """

    windowing: WindowingStrategy
    kind: Kind = "sum"
    assigns: bool = True
    one_key: bool = False
    only: Callable[[Any], bool] | None = None
    beside: Beside | None = None
    branch: tuple[Step, ...] = ()
    side_windows: WindowFn | None = None
    later: int = 0
    pauses: Pauses | None = None


def in_parts(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps with sums in place of results that discarding panes cannot make up."""
    return tuple(
        attrs.evolve(step, branch=in_parts(step.branch), kind=_kind_in_parts(step))
        for step in steps
    )


def _kind_in_parts(step: Step) -> Kind:
    discards = step.windowing.accumulation_mode is AccumulationMode.DISCARDING
    return "sum" if discards and step.kind in UNDIVIDED_KINDS else step.kind


def has_stateful_side(step: Step) -> bool:
    """Return whether the side input of a step belongs to a stateful DoFn, not to a Map before a grouping."""
    return step.kind == "state" and step.beside == "side"


def emits_panes(step: Step) -> bool:
    """Return whether the outputs of a step are panes, by its trigger and accumulation mode.

    A stateful DoFn ignores both, and emits one output for each key and window. A join has no kind.
    """
    return step.kind != "state" or step.beside == "join"


def retracts(step: Step) -> bool:
    """Return whether a grouping is in RETRACTING mode."""
    mode = step.windowing.accumulation_mode
    return emits_panes(step) and mode is AccumulationMode.RETRACTING


def mode_of(step: Step) -> AccumulationMode:
    """Return how the outputs of a step make its result.

    A stateful DoFn emits one output for each window, so all of its outputs stand, as in RETRACTING mode.
    """
    return step.windowing.accumulation_mode if emits_panes(step) else AccumulationMode.RETRACTING


def output_windowing(step: Step) -> WindowingStrategy:
    """Return the windowing of a step that keeps the windows of another one's output."""
    if not emits_panes(step):
        return step.windowing
    trigger = step.windowing.trigger.get_continuation_trigger()
    return attrs.evolve(step.windowing, trigger=trigger)


def side_windowing(step: Step) -> WindowingStrategy:
    """Return the windowing of the side input of a step: it fires once, unless it can be retracted."""
    window_fn, mode = step.side_windows or step.windowing.window_fn, AccumulationMode.RETRACTING
    if not any(emits_panes(aside) and mode_of(aside) is mode for aside in step.branch):
        return WindowingStrategy(window_fn)
    lateness = max(aside.windowing.allowed_lateness for aside in step.branch)
    return WindowingStrategy(window_fn, accumulation_mode=mode, allowed_lateness=lateness)


def holds_lists(step: Step) -> bool:
    """Return whether list values stay lists in a step."""
    return step.kind == "list" or step.beside == "join"


def name(n: int) -> str:
    """Return the name of the n-th grouping."""
    return f"grouping {n}"


def side_name(n: int, step: Step) -> str:
    """Return the name of the transform that adds a side input to the values of the n-th grouping."""
    return name(n) if has_stateful_side(step) else f"beside {n}"


def label(n: int, step: Step) -> str:
    """Return the label of the grouping node."""
    if step.beside == "join":
        return f"{name(n)}/GroupByKey"
    inner = STAMPED_KINDS.get(step.kind)
    return f"{name(n)}/{inner}" if inner else name(n)


def suffixes(n: int, step: Step) -> list[str]:
    """Return the suffixes of the labels before the n-th grouping, one for each of its inputs."""
    return [f"{n} left", f"{n} right"] if step.beside else [f"{n}"]
