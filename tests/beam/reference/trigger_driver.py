"""Runs a script on Beam's GeneralTriggerDriver, key by key, with a controlled clock and watermark.

It is the counterpart of our grouping: Beam's Python runners that run triggers themselves use it. A driver
emits panes; it does not drop expired windows.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from headrace.triggers import WindowingStrategy
from headrace.windowing.time.timestamps import MIN_MICROS
from tests.beam.reference import in_beam
from tests.beam.reference.kit import ScriptEvent, ScriptRow
from tests.laws.oracle.window_history import Pane

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.transforms.trigger import GeneralTriggerDriver, InMemoryUnmergedState
    from apache_beam.transforms.window import WindowFn
    from apache_beam.utils.windowed_value import PaneInfoTiming, WindowedValue

BEFORE_EVENT_TIME = 10**15
"""Microseconds by which the clock is set back: Beam compares processing-time timers with the ends of
windows, so its clock has to be before all of them."""


@attrs.define
class Clock:
    """Processing time, as Beam's triggers read it."""

    now: int = -BEFORE_EVENT_TIME

    def time(self) -> Any:
        return in_beam.instant(self.now)


@attrs.define
class DriverRun:
    """A driver, its state per key, and the watermark."""

    driver: Any
    window_fn: Any
    clock: Clock
    watermark: int = MIN_MICROS
    keys: dict[str | None, Any] = attrs.field(factory=lambda: defaultdict(InMemoryUnmergedState))

    def add(self, rows: Sequence[ScriptRow]) -> Iterator[tuple[str | None, Any]]:
        """Elements that arrive together."""
        arrivals: dict[str | None, list[Any]] = defaultdict(list)
        for key, value, timestamp, _ in rows:
            arrivals[key].append(self.windowed(value, in_beam.instant(timestamp)))
        now = in_beam.instant(self.watermark)
        for key, values in arrivals.items():
            for out in self.driver.process_elements(self.keys[key], values, now, now):
                yield key, out

    def windowed(self, value: int, timestamp: Any) -> Any:
        windows = self.window_fn.assign(WindowFn.AssignContext(timestamp, value))
        return WindowedValue(value, timestamp, tuple(windows))

    def due(self) -> Iterator[tuple[str | None, Any]]:
        """Fire due timers, the earliest first, until there are no more."""
        for key, state in self.keys.items():
            while timers := self._due(state):
                for window, (name, domain, moment, _) in timers:
                    fired = self.driver.process_timer(window, name, domain, moment, state)
                    yield from ((key, out) for out in fired)

    def _due(self, state: Any) -> list[Any]:
        watermark, now = in_beam.instant(self.watermark), self.clock.time()
        fired, _ = state.get_timers(clear=True, watermark=watermark, processing_time=now)
        return sorted(fired, key=lambda timer: timer[1][2])


def run_in_beam(script: Sequence[ScriptEvent], windowing: WindowingStrategy) -> list[Pane]:
    """Beam's panes of a script."""
    theirs, clock = in_beam.windowing(windowing), Clock()
    run = DriverRun(GeneralTriggerDriver(theirs, clock), theirs.windowfn, clock)
    return [pane(n, *out) for n, event in enumerate(script) for out in after(run, *event)]


def after(run: DriverRun, kind: str, what: Any) -> Iterator[tuple[str | None, Any]]:
    """The output of an event."""
    if kind == "elements":
        yield from run.add(what)
    elif kind == "watermark":
        run.watermark = what
    else:
        run.clock.now = what - BEFORE_EVENT_TIME
    yield from run.due()


def pane(event: int, key: str | None, out: Any) -> Pane:
    (window,), info = out.windows, out.pane_info
    return Pane(
        key=key,
        window=(window.start.micros, window.end.micros),
        value=sorted(out.value),
        diff=1,
        timestamp=out.timestamp.micros,
        timing=PaneInfoTiming.to_string(info.timing),
        index=info.index,
        nonspeculative=info.nonspeculative_index,
        first=info.is_first,
        last=info.is_last,
        event=event,
    )
