"""The parts of the test kit that these tests use: the only module here that imports them."""

from headrace.sdk.beam.judge.runner_cases import in_milliseconds, without
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import UNKNOWN_EVENT, Observation
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.strategies.windowing import Where, aligned
from headrace.sdk.testing.streams.script import ScriptEvent, ScriptRow
from headrace.windowing.time.units import SECOND
from tests.laws.event_by_event import run_events

__all__ = [
    "SECOND",
    "UNKNOWN_EVENT",
    "Observation",
    "Run",
    "ScriptEvent",
    "ScriptRow",
    "Step",
    "Where",
    "aligned",
    "in_milliseconds",
    "run_events",
    "scripts",
    "without",
]
