"""Several values with the same metadata, as batches of a DoFn's methods have (Beam's names)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from headrace.sdk.elements.windowed_value import PANE_INFO_UNKNOWN, WindowedValue
from headrace.triggers.pane import PaneInfo
from headrace.windowing.time.timestamps import Timestamp, TimestampTypes
from headrace.windowing.window import BoundedWindow


class WindowedBatch(ABC):
    """Values, each with a timestamp and windows, in one batch."""

    @abstractmethod
    def with_values(self, new_values: Any) -> WindowedBatch:
        """Return another batch of values with the same timestamps and windows."""

    @abstractmethod
    def as_windowed_values(
        self, explode_fn: Callable[[Any], Iterable[Any]]
    ) -> Iterator[WindowedValue]:
        """Return the elements of the batch.

        Args:
            explode_fn: makes values of the batch.
        """

    @staticmethod
    def from_windowed_values(
        windowed_values: Iterable[WindowedValue], *, produce_fn: Callable[[list[Any]], object]
    ) -> Iterator[HomogeneousWindowedBatch]:
        """Make batches of elements: one for each timestamp, set of windows and pane.

        Args:
            windowed_values: the elements.
            produce_fn: makes a batch of a list of values.

        >>> elements = [WindowedValue(n, n % 2, ()) for n in range(4)]
        >>> batches = WindowedBatch.from_windowed_values(elements, produce_fn=sum)
        >>> [(batch.timestamp, batch.values) for batch in batches]
        [(Timestamp(0), 2), (Timestamp(1), 4)]
        """
        together: dict[WindowedValue, list[object]] = {}
        for element in windowed_values:
            together.setdefault(element.with_value(None), []).append(element.value)
        for common, values in together.items():
            yield HomogeneousWindowedBatch(common.with_value(produce_fn(values)))


@attrs.frozen
class HomogeneousWindowedBatch(WindowedBatch):
    """Values in one batch that have the same timestamp, windows and pane.

    Args:
        windowed_value: the batch as a value, with what its values have in common.

    >>> batch = HomogeneousWindowedBatch.of(["a", "b"], 3, ())
    >>> [element.value for element in batch.as_windowed_values(iter)]
    ['a', 'b']
    """

    windowed_value: WindowedValue

    @staticmethod
    def of(
        values: Any,
        timestamp: TimestampTypes,
        windows: Iterable[BoundedWindow],
        pane_info: PaneInfo = PANE_INFO_UNKNOWN,
    ) -> HomogeneousWindowedBatch:
        """Return a batch.

        Args:
            values: the values, in any form that stands for several.
            timestamp: event time: seconds, datetime or Timestamp.
            windows: their windows.
            pane_info: their pane.
        """
        return HomogeneousWindowedBatch(WindowedValue(values, timestamp, windows, pane_info))

    @property
    def values(self) -> Any:
        """The values."""
        return self.windowed_value.value

    @property
    def timestamp(self) -> Timestamp:
        """The timestamp of each value."""
        return self.windowed_value.timestamp

    @property
    def windows(self) -> tuple[BoundedWindow, ...]:
        """The windows of each value."""
        return self.windowed_value.windows

    @property
    def pane_info(self) -> PaneInfo:
        """The pane of each value."""
        return self.windowed_value.pane_info

    def with_values(self, new_values: object) -> HomogeneousWindowedBatch:
        return HomogeneousWindowedBatch(self.windowed_value.with_value(new_values))

    def as_windowed_values(
        self, explode_fn: Callable[[Any], Iterable[object]]
    ) -> Iterator[WindowedValue]:
        return map(self.windowed_value.with_value, explode_fn(self.values))
