"""Of any program of the test kit, the rounds and the samples are what the run really did."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from headrace.runners.engine import sampler
from headrace.sdk.metrics.observe_options import add_observers
from headrace.sdk.testing.runs.run import Run, StepCaptures, build, unchecked_pipeline
from headrace.sdk.testing.runs.steps import label
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.streams.script import ended, stream
from tests.unit.sdk.observing.test_observed_runs import Notes


@pytest.fixture(autouse=True)
def time_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sampler never skips a bundle."""
    monkeypatch.setattr(sampler, "ALLOWANCE", 3600.0)


def captured(tap: StepCaptures) -> Counter[tuple[Any, ...]]:
    """The panes of a grouping, as a sample has them."""
    return Counter(
        (
            sampler._text(row.value[0]),
            sampler._shown(row.value[1]),
            row.timestamp.micros,
            *row.windows[0][:2],
            row.pane.timing.name,
            row.pane.index,
            row.diff,
        )
        for row in tap.panes.elements
    )


@given(runs(2))
def test_samples_and_rounds_are_what_the_run_did(run: Run) -> None:
    notes = Notes()
    with unchecked_pipeline() as p:
        add_observers(p.options, [notes])
        scripts = [p | f"read {n}" >> stream(ended(s)) for n, s in enumerate(run.scripts)]
        taps = build(scripts[0], run, False, *scripts[1:])
        steps = p.run().metrics().steps
    for name, total in steps.items():
        parts = [done.steps[name] for done in notes.rounds]
        assert sum(part.elements_out for part in parts) == total.elements_out
        assert sum((part.panes for part in parts), Counter()) == total.panes
        assert sum(part.retractions for part in parts) == total.retractions
    assert notes.run is not None
    sampled = {step.label for step in notes.run.steps if step.groups}
    for n, tap in enumerate(taps):
        found = label(n, run.groupings[n])
        if found in sampled and run.groupings[n].beside != "join":
            assert notes.panes(found) == captured(tap)
