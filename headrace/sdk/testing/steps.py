"""Steps: the groupings of a run, as plain data, and their names in a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import attrs

from headrace.triggers.strategy import WindowingStrategy

Kind: TypeAlias = Literal["sum", "list", "largest"]

KINDS: Final[tuple[Kind, ...]] = ("sum", "list", "largest")
"""A sum, which can subtract; a list; a combination that must keep its inputs to support retractions."""

Beside: TypeAlias = Literal["flatten", "join"]

UNSAFE: Final = "--allow_unsafe_triggers"
"""The flag of pipelines whose triggers may lose data."""


@attrs.frozen
class Step:
    """A grouping of a run, and the transforms that precede it.

    Attributes:
        windowing: its windowing strategy.
        kind: the result for the values of a key.
        assigns: whether it assigns new windows, or keeps the windows of its input.
        one_key: whether it replaces all keys by a single key.
        only: the predicate of a filter before it; None for no filter.
        beside: whether another collection is flattened into its input or joined with it: the elements of the
            run's other script, or a branch. The values of a join are a tuple of two lists, without a kind.
        branch: the groupings of that branch, which also process the elements of the run's first script; empty
            if the other collection is the other script.
    """

    windowing: WindowingStrategy
    kind: Kind = "sum"
    assigns: bool = True
    one_key: bool = False
    only: Callable[[Any], bool] | None = None
    beside: Beside | None = None
    branch: tuple[Step, ...] = ()


def holds_lists(step: Step) -> bool:
    """Return whether list values stay lists in a step."""
    return step.kind == "list" or step.beside == "join"


def name(n: int) -> str:
    """Return the name of the n-th grouping."""
    return f"grouping {n}"


def label(n: int, step: Step) -> str:
    """Return the label of the grouping node."""
    return f"{name(n)}/GroupByKey" if step.beside == "join" else name(n)


def suffixes(n: int, step: Step) -> list[str]:
    """Return the suffixes of the labels before the n-th grouping, one for each of its inputs."""
    return [f"{n} left", f"{n} right"] if step.beside else [f"{n}"]
