"""What is drawn prints as a program that can be pasted, and says the same."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis.vendor.pretty import pretty

from headrace.sdk.testing.runs.programs import program
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import pane, run_alone
from headrace.sdk.testing.runs.steps import Step
from headrace.testing import TestStream
from headrace.testing.strategies import Pauses, on_columns, pipelines, runs, streams
from headrace.triggers import WindowingStrategy
from headrace.windowing import Timestamp, TimestampedValue
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.unit.sdk.testing.pair_elements import PAIRS


def ran(text: str) -> dict[str, Any]:
    """Paste and run."""
    namespace: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*holds accumulating panes")
        exec(text, namespace)
    return namespace


@pytest.mark.slow
@pytest.mark.usefixtures("capsys")
@settings(max_examples=60, suppress_health_check=[])
@example(Run((("watermark", MAX_MICROS),), (Step(WindowingStrategy(), pauses=Pauses(every=1)),)))
@given(pipelines() | on_columns(pipelines()))
def test_the_program_of_a_pipeline_says_what_the_pipeline_says(run: Run) -> None:
    found = ran(program(run))
    for n, heard in enumerate(run_alone(run, "local")):
        rows = found[f"panes_{n}"].elements
        assert [pane(row, -1) for row in rows] == heard.panes


@given(streams(PAIRS, lateness=3))
def test_a_stream_prints_as_the_calls_that_make_it(stream: TestStream) -> None:
    again = eval(repr(stream), {"TestStream": TestStream, **NAMES})
    assert again.events == stream.events


NAMES = {"TimestampedValue": TimestampedValue, "Timestamp": Timestamp}


@given(runs(retractions=True) | on_columns(runs()))
def test_a_run_prints_as_the_expression_that_makes_it(run: Run) -> None:
    import headrace.testing.strategies as strategies
    import headrace.triggers as triggers
    import headrace.windowing as windowing

    names = {k: v for home in (strategies, triggers, windowing) for k, v in vars(home).items()}
    assert eval(repr(run), names) == run


def test_hypothesis_shows_the_program() -> None:
    run = Run((("watermark", 7),), (Step(WindowingStrategy()),))
    assert pretty(run) == program(run)


def test_what_no_stream_can_play_is_shown_as_data() -> None:
    taken_back = (("elements", (("a", 1, 0, -1),)),)
    run = Run(taken_back, (Step(WindowingStrategy()),))
    assert program(run) == repr(run)
