"""What the laws draw and play, taken over here: the one place that knows where it lives."""

from tests.laws.playing import UNKNOWN, follow
from tests.laws.strategies import SECOND, Event, Row, Run, Step, Where, aligned, scripts

__all__ = [
    "SECOND",
    "UNKNOWN",
    "Event",
    "Row",
    "Run",
    "Step",
    "Where",
    "aligned",
    "follow",
    "scripts",
]
