"""Smaller runs, to find the smallest counterexample of a law."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, TypeVar

import attrs

from headrace.sdk.testing.runs.run import Run, inherited
from headrace.sdk.testing.runs.steps import Step, emits_panes
from headrace.sdk.testing.streams.script import Script
from headrace.triggers.composite_triggers import Repeatedly
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.watermark_triggers import DefaultTrigger

T = TypeVar("T")

DEFAULTS: Final[dict[str, Any]] = {
    "only": None,
    "one_key": False,
    "side_windows": None,
    "later": 0,
    "pauses": None,
}
"""The attributes of a step that become smaller at once."""


def smaller(run: Run) -> Iterator[Run]:
    """Yield smaller runs, those with the largest reduction first.

    >>> from headrace.sdk.testing.runs.steps import Step
    >>> script = (("watermark", 3), ("watermark", 9))
    >>> [less.script for less in smaller(Run(script, (Step(WindowingStrategy()),)))]
    [(('watermark', 9),)]
    """
    if run.columns:
        yield attrs.evolve(run, columns=False)
    for steps in _smaller_chains(run.steps):
        if steps != run.steps:
            yield _tidy(attrs.evolve(run, steps=steps))
    for script in smaller_scripts(run.script):
        yield attrs.evolve(run, script=script)
    for other in smaller_scripts(run.other):
        yield attrs.evolve(run, other=other)


def _tidy(run: Run) -> Run:
    """Remove a script that is no longer used."""
    return run if run.has_other else attrs.evolve(run, other=())


def _alone(step: Step) -> Step:
    return attrs.evolve(step, beside=None, branch=(), side_windows=None)


def _smaller_chains(steps: tuple[Step, ...]) -> Iterator[tuple[Step, ...]]:
    if len(steps) > 1:
        yield steps[:-1]
        if steps[1].assigns:
            yield steps[1:]
    for n, step in enumerate(steps):
        for less in _smaller_steps(step):
            yield inherited((*steps[:n], less, *steps[n + 1 :]))


def _smaller_steps(step: Step) -> Iterator[Step]:
    """Yield steps with one property reset to its default."""
    if step.beside:
        yield _alone(step)
    for name, default in DEFAULTS.items():
        yield from _with(step, **{name: default})
    if not emits_panes(step):
        yield from _with(step, kind="sum")
    for branch in _smaller_chains(step.branch):
        yield attrs.evolve(step, branch=branch)
    windowing, default_strategy = step.windowing, WindowingStrategy()
    for field in attrs.fields(WindowingStrategy):
        plain = getattr(default_strategy, field.name)
        if field.init and field.name not in {"window_fn", "trigger", "accumulation_mode"}:
            yield from _with(step, windowing=attrs.evolve(windowing, **{field.name: plain}))
    simple = (DefaultTrigger(), Repeatedly(AfterCount(1)))
    for trigger in () if windowing.trigger in simple else (*simple, *windowing.trigger.children):
        yield from _with(step, windowing=attrs.evolve(windowing, trigger=trigger))


def _with(step: Step, **changes: Any) -> Iterator[Step]:
    """Yield the changed step, unless it is equal or loses data that the step does not lose."""
    less = attrs.evolve(step, **changes)
    if less != step and (_loses(step) or not _loses(less)):
        yield less


def _loses(step: Step) -> bool:
    return step.windowing.trigger.may_finish(step.windowing)


def smaller_scripts(script: Script) -> Iterator[tuple[Any, ...]]:
    """Yield scripts without some events or elements; of the last event, an element is kept."""
    if not script:
        return
    *events, end = script
    for less in _smaller_lists(events):
        yield (*less, end)
    for n, (kind, what) in enumerate(script):
        if kind == "elements" and len(what) > 1:
            for fewer in _smaller_lists(what):
                yield (*script[:n], (kind, tuple(fewer)), *script[n + 1 :])


def _smaller_lists(items: Sequence[T]) -> Iterator[list[T]]:
    """Yield lists without a half, without a quarter, and without one of the items."""
    size = len(items)
    for length in dict.fromkeys((size // 2, size // 4, 1)):
        for start in range(0, size, length) if length else ():
            yield [*items[:start], *items[start + length :]]
