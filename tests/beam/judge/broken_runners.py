"""Bugs of Beam runners: functions that change a pane, and runners whose panes they change."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from threading import Event
from typing import Any, TypeAlias

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
    from apache_beam.transforms.trigger import GeneralTriggerDriver
    from apache_beam.utils.windowed_value import PaneInfo, PaneInfoTiming, WindowedValue

Change: TypeAlias = Callable[[Any], Any]
"""Returns the pane that is emitted instead of a pane, or None."""

EMITTING = ("process_elements", "process_timer")
"""The methods of Beam's trigger driver that emit panes."""


def break_panes(name: str, change: Change, set_method: Callable[..., None] = setattr) -> None:
    """Let a method of Beam's trigger driver emit changed panes."""
    emit = getattr(GeneralTriggerDriver, name)

    def broken(*args: Any) -> Any:
        return [pane for pane in map(change, emit(*args)) if pane is not None]

    set_method(GeneralTriggerDriver, name, broken)


def drops_late_panes(pane: Any) -> Any:
    return None if pane.pane_info.timing == PaneInfoTiming.LATE else pane


def counts_from_one(pane: Any) -> Any:
    return _with(pane, index=pane.pane_info.index + 1)


def calls_late_panes_on_time(pane: Any) -> Any:
    is_late = pane.pane_info.timing == PaneInfoTiming.LATE
    return _with(pane, timing=PaneInfoTiming.ON_TIME) if is_late else pane


def _with(pane: Any, timing: Any = None, index: int | None = None) -> Any:
    info = pane.pane_info
    timing = info.timing if timing is None else timing
    index = info.index if index is None else index
    info = PaneInfo(info.is_first, info.is_last, timing, index, info.nonspeculative_index)
    return WindowedValue(pane.value, pane.timestamp, pane.windows, info)


def puts_an_element_in_twice(pane: Any) -> Any:
    values = list(pane.value)
    return WindowedValue(values[:1] + values, pane.timestamp, pane.windows, pane.pane_info)


def forgets_the_panes_before(pane: Any) -> Any:
    values = list(pane.value)[-1:]
    return WindowedValue(values, pane.timestamp, pane.windows, pane.pane_info)


def stamps_at_the_start(pane: Any) -> Any:
    return WindowedValue(pane.value, pane.windows[0].start, pane.windows, pane.pane_info)


class CountsFromOne(BundleBasedDirectRunner):
    """Numbers the panes of a window from 1; it changes Beam's code for good, in the judge's process."""

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        for name in EMITTING:
            if getattr(GeneralTriggerDriver, name).__module__ != __name__:
                break_panes(name, counts_from_one)
        return super().run_pipeline(pipeline, options)


class Waits(BundleBasedDirectRunner):
    """Never ends."""

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        Event().wait()
