"""The axes of charts: what unit a range of microseconds has, and how its numbers are shown."""

from __future__ import annotations

from typing import Any, Final

import attrs

from headrace.windowing.time.units import DAY, HOUR, SECOND

_RELATIVE: Final = ((3 * 60, 1, "s"), (3 * 3600, 60, "min"), (3 * 86_400, 3600, "h"))
"""Units of spans: up to how many seconds, how long the unit is, and its name."""

_STEPS: Final = (
    *((n * SECOND, "%H:%M:%S") for n in (1, 2, 5, 10, 15, 30)),
    *((n * 60 * SECOND, "%H:%M") for n in (1, 2, 5, 10, 15, 30)),
    *((n * HOUR, "%H:%M") for n in (1, 2, 3, 6, 12)),
    *((n * DAY, "%d %b") for n in (1, 2, 7, 14, 28)),
)
"""Steps between the ticks of instants, with their format."""

_DAY_AT_MIDNIGHT: Final = (
    "utchours(datum.value) || utcminutes(datum.value) "
    "? utcFormat(datum.value, '%H:%M') : utcFormat(datum.value, '%d %b')"
)

ACROSS: Final = 9
UP: Final = 6
"""Maximum number of ticks on a horizontal and on a vertical axis."""


@attrs.frozen
class TimeAxis:
    """An axis of times.

    Attributes:
        title: its title, with the unit.
        origin: the time at 0, in microseconds.
        unit: microseconds per number on the axis.
        ticks: the step between ticks and the format of instants; None for plain numbers.
        bounds: the range, in microseconds.
    """

    title: str
    origin: int
    unit: int
    ticks: tuple[int, str] | None
    bounds: tuple[int, int]

    def number(self, instant: int) -> float:
        """Return the number of an instant on this axis.

        >>> time_axis("event time", (0, 60 * SECOND)).number(5 * SECOND)
        5
        """
        found = round((instant - self.origin) / self.unit, 3)
        return int(found) if found.is_integer() else found

    @property
    def type(self) -> str:
        """The type of Vega-Lite for these numbers."""
        return "temporal" if self.ticks else "quantitative"

    @property
    def domain(self) -> list[float]:
        """The range, as numbers."""
        return [self.number(bound) for bound in self.bounds]

    def scale(self) -> dict[str, Any]:
        """Return the scale for Vega-Lite."""
        plain = {"domain": self.domain, "nice": False}
        return {**plain, "type": "utc"} if self.ticks else {**plain, "zero": False}

    def axis(self) -> dict[str, Any]:
        """Return the properties of the axis for Vega-Lite."""
        shown: dict[str, object] = {"title": self.title, "labelOverlap": True, "labelSeparation": 8}
        if self.ticks is None:
            return {**shown, "tickCount": 6}
        step, form = self.ticks
        if not step:
            return {**shown, "tickCount": 6, "format": form}
        first, last = -(-self.bounds[0] // step), self.bounds[1] // step
        values = [self.number(n * step) for n in range(first, last + 1)]
        label = {"labelExpr": _DAY_AT_MIDNIGHT} if form == "%H:%M" else {"format": form}
        return {**shown, "values": values, **label}


def time_axis(
    title: str, bounds: tuple[int, int], relative_to: int | None = None, most: int = ACROSS
) -> TimeAxis:
    """Return the axis for a range.

    Times within an hour of 1970, as tests have them, are seconds; other times are dates and times of day.

    Args:
        title: its title, without the unit.
        bounds: the range in microseconds.
        relative_to: the instant from which times count; None for dates and times of day.
        most: maximum number of ticks.

    >>> time_axis("event time", (0, 60 * SECOND)).title
    'event time in s'
    """
    length = bounds[1] - bounds[0]
    if relative_to is None and max(map(abs, bounds)) > HOUR:
        return TimeAxis(title, 0, 1000, _ticks(length, most), bounds)
    origin = relative_to or 0
    unit, name = next(
        ((unit, name) for most, unit, name in _RELATIVE if length <= most * SECOND),
        (86_400, "days"),
    )
    return TimeAxis(f"{title} in {name}", origin, unit * SECOND, None, bounds)


def _ticks(length: int, most: int) -> tuple[int, str]:
    fitting = (step for step in _STEPS if length <= step[0] * most)
    return next(fitting, (0, "%b %Y"))


def axes_of(
    event_time: tuple[int, int], processing_time: tuple[int, int]
) -> tuple[TimeAxis, TimeAxis]:
    """Return the axes of a picture; if their ranges are far apart, processing time counts from its first.

    >>> event, processing = axes_of((0, 60 * SECOND), (1_000 * DAY, 1_000 * DAY + 30 * SECOND))
    >>> event.title, processing.title
    ('event time in s', 'processing time in s')
    """
    length = max(event_time[1] - event_time[0], processing_time[1] - processing_time[0])
    gap = max(event_time[0], processing_time[0]) - min(event_time[1], processing_time[1])
    origin = processing_time[0] if gap > max(2 * length, HOUR) else None
    event = time_axis("event time", event_time)
    processing = time_axis("processing time", processing_time, origin, UP)
    return event, processing
