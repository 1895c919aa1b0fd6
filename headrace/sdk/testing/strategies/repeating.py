"""Strategies for splittable DoFns: the pauses of a :class:`Repeat` before some steps of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import attrs

from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.repeating import MOST, Pauses
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.steps import Step, retracts


@st.composite
def with_pauses(draw: st.DrawFn, run: Run, choices: Sequence[bool]) -> Run:
    """Draw which steps of a run follow a splittable DoFn, where they can.

    Args:
        draw: given by Hypothesis.
        run: the run.
        choices: the probabilities, for each step.
    """
    steps = [
        attrs.evolve(step, pauses=draw(_pauses())) if draw(st.sampled_from(choices)) else step
        for step in run.steps
    ]
    return attrs.evolve(run, steps=allowed_pauses(steps))


def _pauses() -> st.SearchStrategy[Pauses]:
    part, every = st.sampled_from([MOST, MOST, 2, 1]), st.integers(1, MOST - 1)
    return st.builds(Pauses, part, every, st.integers(0, 3), st.booleans(), st.booleans())


def allowed_pauses(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps without the splittable DoFns that cannot be there.

    Their input must not be retracted. Their outputs have their own timestamps, so the step assigns windows.
    """
    found, changing = [], False
    for step in steps:
        changing = changing or any(map(retracts, step.branch))
        allowed = step.assigns and not changing
        found.append(step if allowed else attrs.evolve(step, pauses=None))
        changing = changing or retracts(step)
    return tuple(found)
