"""Runs whose elements reach the first steps as columns."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.run import Run, inherited, is_big, is_odd
from headrace.sdk.testing.runs.steps import KNOWN_KINDS, Kind, Step, in_parts
from headrace.sdk.testing.streams.script import Script, ScriptEvent, rows_of, with_rows
from headrace.windowing.sessions import Sessions

HUGE: Final = 1 << 59
"""A factor with which sums of a few digits are larger than the integers of numpy."""

EMPTY: Final[Mapping[str, str | None]] = {"a": None, "b": ""}
"""Keys in place of others, which must not be the same."""

UNMATCHED: Final[Mapping[str, str | None]] = {"a": "unmatched"}
"""A key in place of another, which the other side of a join does not have."""

_KEPT: Final[tuple[Kind, ...]] = ("list", "state")
"""The kinds of results that stay."""


@cache
def on_columns(runs: st.SearchStrategy[Run], joins: bool = False) -> st.SearchStrategy[Run]:
    """Draw the same runs, with elements that reach the first steps as columns.

    The first groupings of most of them combine in a way that is known for columns. Runs whose scripts have
    retractions, or which have filters of other kinds or splittable DoFns, stay as they are.

    Args:
        runs: the strategy for runs.
        joins: whether the first groupings of some become joins with a second source.

    >>> from hypothesis import find
    >>> from headrace.testing.strategies import runs
    >>> run = find(on_columns(runs()), lambda run: run.steps[0].kind == "mean")
    >>> run.columns
    True
    """
    return _on_columns(runs, joins)


@st.composite
def _on_columns(draw: st.DrawFn, runs: st.SearchStrategy[Run], joins: bool) -> Run:
    run = draw(runs)
    if not _can_be_columns(run):
        return run
    first, *others = (attrs.evolve(s, branch=draw(_known_first(s.branch))) for s in run.steps)
    chain = (first, *others)
    factor, keys = draw(st.sampled_from([1, 1, 1, HUGE])), draw(st.sampled_from([{}, {}, EMPTY]))
    script, other = (_changed(each, factor, keys) for each in (run.script, run.other))
    if first.beside:
        steps = chain
    elif joins and not run.has_other and draw(st.sampled_from([False] * 5 + [True])):
        steps = inherited((attrs.evolve(first, beside="join", later=0), *others))
        other = _changed(script, -1, draw(st.sampled_from([{}, UNMATCHED])))
    else:
        steps = draw(_known_first(chain))
    return attrs.evolve(run, script=script, other=other, steps=steps, columns=True)


def _can_be_columns(run: Run) -> bool:
    if any(step.pauses for step in run.groupings):
        return False
    rows = [row for script in run.scripts for row in rows_of(script)]
    filters = (step.only for step in run.groupings)
    return all(isinstance(row, tuple) and row[3] == 1 for row in rows) and {
        None,
        is_odd,
        is_big,
    }.issuperset(filters)


@st.composite
def _known_first(draw: st.DrawFn, steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Draw the first of several groupings: most of them collect columns."""
    if not steps or steps[0].kind in _KEPT or not draw(st.sampled_from([False, True, True, True])):
        return steps
    first, *others = steps
    kind, window_fn = draw(st.sampled_from(KNOWN_KINDS)), first.windowing.window_fn
    if window_fn.is_merging():
        window_fn = Sessions(draw(st.integers(2, 9)))
    windowing = attrs.evolve(first.windowing, window_fn=window_fn)
    first = attrs.evolve(first, kind=kind, windowing=windowing, later=0)
    return inherited(in_parts((first, *others)))


def _changed(
    script: Script, factor: int, keys: Mapping[str, str | None]
) -> tuple[ScriptEvent, ...]:
    """Return a script with all values multiplied, and some keys replaced."""
    rows = [
        (keys.get(key, key), value * factor, *others) for key, value, *others in rows_of(script)
    ]
    return with_rows(script, rows)
