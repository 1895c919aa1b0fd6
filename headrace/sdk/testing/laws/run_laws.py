"""Laws of whole runs: what is dropped, and panes or final results of one run that is run in several ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.runs.batch_oracle import end_result, shrinks, without_empty
from headrace.sdk.testing.runs.programs import program
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Observation, Pane
from headrace.sdk.testing.runs.steps import retracts
from headrace.sdk.testing.strategies.targeted_runs import drops_nothing
from headrace.sdk.testing.streams.script import rows_of, with_rows

RunPanes: TypeAlias = Sequence[Sequence[Any]]
"""The panes of each grouping of a run; any objects with the attributes of a Pane."""

LawInMode: TypeAlias = tuple[str, str]
"""A law and a mode."""

Judgement: TypeAlias = dict[LawInMode, LawBroken | None]
"""The result of each law that applies to a run: the violation, or None."""

AGREES: Final = "the panes are the same as the reference's"
IN_TIME: Final = "if no element is late, nothing is dropped, however long panes are delayed"
HELD: Final = "nothing is dropped after a retracting grouping with at most the same lateness"
LIKE_ELEMENTS: Final = "the panes of columns are the panes of elements"
UNWATCHED: Final = "capturing inputs and late elements does not change the panes"


def in_reverse(run: Run) -> Run:
    """Return a run with its elements in reverse order of arrival, except the elements of a side input."""
    script, other = (with_rows(each, rows_of(each)[::-1]) for each in (run.script, run.other))
    if any(step.beside == "side" for step in run.steps):  # its elements must not become late
        other = run.other
    return attrs.evolve(run, script=script, other=other)


def of_results(
    law: str, run: Run, one: Sequence[Observation], two: Sequence[Observation], name: str
) -> Judgement:
    """Compare the final results of a run that was run in two ways."""
    for step, here, there in zip(run.groupings, one, two, strict=True):
        found, expected = (
            without_empty(step, end_result(step, observed.panes)) for observed in (here, there)
        )
        if found != expected:
            sides = {"grouping": step, "stream": found, name: expected}
            remedy = "check which elements are dropped, held back or retracted"
            return {(law, "streaming"): LawBroken(law, program(run), sides, remedy)}
    return {(law, "streaming"): None}


def of_drops(run: Run, observed: Sequence[Observation]) -> Judgement:
    """Check that nothing was dropped in runs in which nothing may be dropped."""
    found: Judgement = {}
    if drops_nothing(run):
        remedy = "hold the output watermark at the timestamp of a pane until it is emitted"
        found[IN_TIME, "streaming"] = _dropping(IN_TIME, run, observed, remedy)
    if _retracts_in_front(run):
        remedy = "hold the output watermark as long as an emitted pane may be retracted"
        found[HELD, "streaming"] = _dropping(HELD, run, observed[1:], remedy)
    return found


def _dropping(law: str, run: Run, observed: Sequence[Observation], remedy: str) -> LawBroken | None:
    dropped = [max(each.dropped) + (each.side.dropped if each.side else 0) for each in observed]
    late = [late for each in observed for _, late in each.late]
    sides = {"dropped by each grouping": dropped, "expected": 0, "late elements": late}
    return LawBroken(law, program(run), sides, remedy) if any(dropped) else None


def _retracts_in_front(run: Run) -> bool:
    """Return whether retracting groupings precede others with at least the same lateness."""
    if len(run.steps) < 2 or not run.plain or any(map(shrinks, run.steps)):
        return False
    strategies = [step.windowing for step in run.steps]
    return (
        all(map(retracts, run.steps[:-1]))
        and all(one.allowed_lateness <= two.allowed_lateness for one, two in pairwise(strategies))
        and not any(windowing.trigger.may_finish(windowing) for windowing in strategies)
    )


def of_reference(
    run: Run, observed: Sequence[Observation], expected_panes: RunPanes | None
) -> Judgement:
    """Compare panes with the panes of a reference, if it supports the run."""
    if expected_panes is None:
        return {}
    sides = "only from the runner", "only from the reference"
    different = _different(run, [each.panes for each in observed], expected_panes, sides)
    return {(AGREES, "streaming"): _differing(AGREES, run, different, "run the program on both")}


def of_capturing(
    run: Run, watched: Sequence[Observation], unwatched: Sequence[Observation]
) -> Judgement:
    """Compare the panes of a run with the panes of the same run whose late elements are not captured."""
    sides = "only with captures", "only without captures"
    with_captures, without = ([each.panes for each in some] for some in (watched, unwatched))
    different = _different(run, with_captures, without, sides)
    remedy = "compare the engine's shortcuts with its general state of a key"
    return {(UNWATCHED, "streaming"): _differing(UNWATCHED, run, different, remedy)}


def of_columns(
    run: Run, mode: str, columns: Sequence[Observation], elements: Sequence[Observation]
) -> Judgement:
    """Compare the panes of a run with the panes of the same run whose elements are not columns."""
    sides = "only of columns", "only of elements"
    found, expected = ([each.panes for each in some] for some in (columns, elements))
    different = _different(run, found, expected, sides)
    remedy = "compare the contents that each path makes of a bundle"
    return {(LIKE_ELEMENTS, mode): _differing(LIKE_ELEMENTS, run, different, remedy)}


def _differing(
    law: str, run: Run, different: Mapping[str, object] | None, remedy: str
) -> LawBroken | None:
    return LawBroken(law, program(run), different, remedy) if different else None


def _different(
    run: Run, some: RunPanes, others: RunPanes, names: tuple[str, str]
) -> dict[str, object] | None:
    """Return the panes that only one of two runs has, at the first grouping where they differ.

    A splittable DoFn goes on in rounds between events, and all runs of a pipeline have these in common. So if
    there is one, panes are compared without the numbers of their events.
    """
    events = all(step.pauses is None for step in run.steps)
    for step, one, other in zip(run.groupings, some, others, strict=True):
        here, there = (
            sorted((_readable(pane, events) for pane in panes), key=repr) for panes in (one, other)
        )
        if here != there:
            left, right = names
            differences = {left: _difference(here, there), right: _difference(there, here)}
            return {"grouping": step, **differences}
    return None


def _difference(some: Sequence[object], others: Sequence[object]) -> list[object]:
    left = Counter(map(repr, some)) - Counter(map(repr, others))
    return [each for each in some if left[repr(each)]]


def _readable(pane: Pane, event: bool) -> tuple[object, ...]:
    """Return a pane as plain data, in a readable order, with the number of its event or without."""
    return (
        *([pane.event] if event else []),
        pane.key,
        tuple(pane.window[:2]),
        pane.value,
        pane.diff,
        pane.timing,
        pane.timestamp,
        (pane.index, pane.nonspeculative, pane.first, pane.last),
    )
