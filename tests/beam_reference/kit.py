"""What the laws draw and play, taken over here: the one place that knows where it lives."""

from headrace.sdk.testing.run_on_runner import UNKNOWN, Observation
from headrace.sdk.testing.runs import Run, Step
from headrace.sdk.testing.script import SECOND, Event, Row
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.strategies.windowing import Where, aligned
from tests.laws.event_by_event import follow

__all__ = [
    "SECOND",
    "UNKNOWN",
    "Event",
    "Observation",
    "Row",
    "Run",
    "Step",
    "Where",
    "aligned",
    "follow",
    "scripts",
]
