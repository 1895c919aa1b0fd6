"""Calls of DoFns on batches: rows of a bundle become batches, and batches become rows again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from itertools import accumulate, chain, repeat
from typing import Any

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import CallingStep, Outputs, any_number
from headrace.sdk.typehints.batches import MAX_BATCH, Batches, Batching, elements_of

Program = Callable[[Bundle], Outputs]


def with_batches(program: Program, batches: Batches, step: CallingStep) -> Program:
    """Return the program that calls another on batches, or takes its outputs as batches.

    Args:
        program: calls a DoFn on each row of a bundle.
        batches: what the DoFn has to do with batches.
        step: the step, for errors.
    """

    def run(bundle: Bundle) -> Outputs:
        rows = bundle if batches.takes is None else in_batches(bundle, batches.takes)
        outputs = program(rows)
        if not batches.yields:
            return outputs
        return {tag: _elements(made, step) for tag, made in outputs.items()}

    return run


def in_batches(bundle: Bundle, batching: Batching) -> Bundle:
    """Return a bundle whose values are batches of rows with the same timestamp, windows, pane and diff."""
    columns = (bundle.timestamps, bundle.windows, bundle.panes, bundle.diffs)
    if all(isinstance(column, repeat) for column in columns):
        return bundle.with_values([batching(part) for part in _parts(bundle.values)])
    groups: dict[Any, list[Any]] = defaultdict(list)
    for value, *place in zip(bundle.values, *columns, strict=False):
        groups[tuple(place)].append(value)
    rows = [(batching(part), *place) for place, values in groups.items() for part in _parts(values)]
    return Bundle(*map(list, zip(*rows, strict=True))) if rows else bundle


def _parts(values: list[object]) -> list[list[object]]:
    return [values[at : at + MAX_BATCH] for at in range(0, len(values), MAX_BATCH)]


def _elements(batches: Bundle, step: CallingStep) -> Bundle:
    """Return the elements of batches, as rows."""
    found = [_elements_of(batch, step) for batch in batches.values]
    ends = list(accumulate(map(len, found)))
    return any_number(list(chain.from_iterable(found)), ends, batches, step)[MAIN]


def _elements_of(batch: object, step: CallingStep) -> list[object]:
    elements = elements_of(batch)
    if elements is not None:
        return elements
    raise ElementError(
        f"{step.function} emitted {shorten(batch)}, which is not a batch",
        where=step.label,
        remedy="yield a list or a numpy array; to emit elements, use DoFn.yields_elements",
    )
