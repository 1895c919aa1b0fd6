"""Sources in Beam's form, which divide themselves.

``Read`` accepts them beside Headrace's own, which :mod:`headrace.sdk.sources.source` has.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.sources.range_trackers import RangeTracker
from headrace.sdk.sources.source import BoundedSource as OwnSource
from headrace.sdk.typehints.display_data import HasDisplayData


@attrs.frozen
class SourceBundle:
    """A part of a source.

    Args:
        weight: its share of the work, in any unit.
        source: the source, which can be another one than the whole.
        start_position: the first position; None for the beginning.
        stop_position: the position after the last one; None for the end.

    >>> SourceBundle(1, "source", 0, 10).stop_position
    10
    """

    weight: float
    source: Any
    start_position: Any
    stop_position: Any


class BoundedSource(HasDisplayData):
    """A source of Beam that divides itself into ranges of positions; subclass it.

    :meth:`split` must return the same parts each time, because workers call it too. New sources are shorter
    as :class:`headrace.io.BoundedSource`.

    >>> from headrace.io.iobase import BoundedSource, SourceBundle
    >>> from headrace.io.range_trackers import OffsetRangeTracker
    >>> class Count(BoundedSource):
    ...     def split(self, desired_bundle_size, start_position=None, stop_position=None):
    ...         yield SourceBundle(1, self, 0, 2)
    ...         yield SourceBundle(1, self, 2, 3)
    ...
    ...     def get_range_tracker(self, start_position, stop_position):
    ...         return OffsetRangeTracker(start_position, stop_position)
    ...
    ...     def read(self, range_tracker):
    ...         number = range_tracker.start_position()
    ...         while range_tracker.try_claim(number):
    ...             yield number
    ...             number += 1
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.Read(Count()) | Map(print)
    0
    1
    2
    """

    def estimate_size(self) -> int | None:
        """Return the size of the source in bytes; None if it is not known."""
        return None

    @abstractmethod
    def split(
        self,
        desired_bundle_size: int,
        start_position: Any = None,
        stop_position: Any = None,
    ) -> Iterable[SourceBundle]:
        """Divide the source.

        Args:
            desired_bundle_size: the size that a part should have, in bytes.
            start_position: the first position; None for the beginning.
            stop_position: the position after the last one; None for the end.
        """

    @abstractmethod
    def get_range_tracker(self, start_position: Any, stop_position: Any) -> RangeTracker:
        """Return what tracks the positions of a part while it is read."""

    @abstractmethod
    def read(self, range_tracker: RangeTracker) -> Iterable[Any]:
        """Return the elements of a part: values, or values with their timestamps."""

    def default_output_coder(self) -> Any:
        """Return the coder of the elements; it has no effect."""
        return None

    def is_bounded(self) -> bool:
        """Return whether the source is bounded."""
        return True

    def as_source(self) -> OwnSource[Any]:
        """Return a source of Headrace that reads this one; ``Read`` calls it."""
        return DividedSource(self)


SMALLEST_BUNDLE: int = 1 << 20
"""The smallest size that is asked for when a source is divided, in bytes."""

UNKNOWN_BUNDLE: int = 1 << 26
"""The size that is asked for if the size of the source is not known."""

BUNDLES: int = 100
"""The number of parts of a large source."""


@attrs.frozen(eq=False)
class DividedSource(OwnSource[Any]):
    """A source of Beam, with its parts as partitions.

    Args:
        origin: the source.
    """

    origin: BoundedSource
    _bundles: list[SourceBundle] = attrs.field(factory=list, init=False, repr=False)

    def partitions(self) -> Sequence[int]:
        return range(len(self._divided()))

    def read(self, partition: int) -> Iterator[Any]:
        bundles = self._divided()
        if partition >= len(bundles):
            raise PipelineError(
                f"{type(self.origin).__name__}.split returned more than {partition} parts before, but "
                f"{len(bundles)} now",
                remedy="let split return the same parts each time",
            )
        part = bundles[partition]
        tracker = part.source.get_range_tracker(part.start_position, part.stop_position)
        yield from part.source.read(tracker)

    def _divided(self) -> list[SourceBundle]:
        if not self._bundles:
            size = self.origin.estimate_size()
            wanted = UNKNOWN_BUNDLE if size is None else max(SMALLEST_BUNDLE, size // BUNDLES)
            self._bundles.extend(map(_checked, self.origin.split(wanted)))
        return self._bundles


def _checked(bundle: Any) -> SourceBundle:
    """Return a part of a source; a named tuple of the same fields will do."""
    if hasattr(bundle, "source") and hasattr(bundle, "stop_position"):
        return bundle  # type: ignore[no-any-return]
    raise PipelineError(
        f"split returned {shorten(bundle)}",
        remedy="return SourceBundle(weight, source, start_position, stop_position)",
    )
