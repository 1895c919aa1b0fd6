"""What the laws draw and play, taken over here: the one place that knows where it lives."""

from headrace.sdk.testing.playing import UNKNOWN, Heard
from headrace.sdk.testing.runs import Run, Step
from headrace.sdk.testing.script import SECOND, Event, Row
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.strategies.windowing import Where, aligned
from tests.laws.playing import follow

__all__ = [
    "SECOND",
    "UNKNOWN",
    "Event",
    "Heard",
    "Row",
    "Run",
    "Step",
    "Where",
    "aligned",
    "follow",
    "scripts",
]
