"""Beam runners with a bug: each changes how the bundle-based runner or the portable one makes panes.

A runner changes Beam's code for good, so it runs in a process of its own, as the judge's pipelines do.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
    from apache_beam.transforms.trigger import GeneralTriggerDriver
    from apache_beam.utils.windowed_value import PaneInfo, PaneInfoTiming, WindowedValue


class Broken(BundleBasedDirectRunner):
    """A runner whose panes a function changes."""

    def change(self, pane: Any) -> Any:
        """Return the pane that is emitted instead, or None."""
        raise NotImplementedError

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        for name in ("process_elements", "process_timer"):
            emit = getattr(GeneralTriggerDriver, name)
            if not hasattr(emit, "is_broken"):
                setattr(GeneralTriggerDriver, name, changed(emit, self.change))
        return super().run_pipeline(pipeline, options)


def changed(emit: Callable[..., Any], change: Callable[[Any], Any]) -> Callable[..., Any]:
    """Return a method that changes the panes of a method of Beam's."""

    def broken(*args: Any) -> Any:
        return [pane for pane in map(change, emit(*args)) if pane is not None]

    broken.is_broken = True  # type: ignore[attr-defined]
    return broken


class DropsLatePanes(Broken):
    """Emits no LATE pane."""

    def change(self, pane: Any) -> Any:
        return None if pane.pane_info.timing == PaneInfoTiming.LATE else pane


class CountsFromOne(Broken):
    """Numbers the panes of a window from 1."""

    def change(self, pane: Any) -> Any:
        info = pane.pane_info
        info = PaneInfo(
            info.is_first, info.is_last, info.timing, info.index + 1, info.nonspeculative_index
        )
        return WindowedValue(pane.value, pane.timestamp, pane.windows, info)


class EmitsTwice(Broken):
    """Puts the first element of each pane into it twice."""

    def change(self, pane: Any) -> Any:
        values = list(pane.value)
        return WindowedValue(values[:1] + values, pane.timestamp, pane.windows, pane.pane_info)


class StampsAtStart(Broken):
    """Gives each pane the first timestamp of its window."""

    def change(self, pane: Any) -> Any:
        return WindowedValue(pane.value, pane.windows[0].start, pane.windows, pane.pane_info)


class CallsLateOnTime(Broken):
    """Says of each LATE pane that it is ON_TIME."""

    def change(self, pane: Any) -> Any:
        info = pane.pane_info
        if info.timing == PaneInfoTiming.LATE:
            info = PaneInfo(
                info.is_first,
                info.is_last,
                PaneInfoTiming.ON_TIME,
                info.index,
                info.nonspeculative_index,
            )
        return WindowedValue(pane.value, pane.timestamp, pane.windows, info)


class Waits(Broken):
    """Never ends."""

    def run_pipeline(self, pipeline: Any, options: Any) -> Any:
        from threading import Event

        Event().wait()
