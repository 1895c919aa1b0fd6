"""Ranges of offsets as restrictions, and their tracker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from headrace.sdk.pardo.splittable.restrictions import RestrictionProgress, RestrictionTracker
from headrace.sdk.sources.range_trackers import OffsetRangeTracker


@attrs.frozen
class OffsetRange:
    """The offsets from ``start`` up to, and without, ``stop``.

    Args:
        start: the first offset.
        stop: the offset after the last one.

    Raises:
        ValueError: ``start`` is larger than ``stop``.

    >>> OffsetRange(0, 10).size(), list(OffsetRange(0, 10).split(4))
    (10, [OffsetRange(start=0, stop=4), OffsetRange(start=4, stop=8), OffsetRange(start=8, stop=10)])
    """

    start: int
    stop: int

    def __attrs_post_init__(self) -> None:
        """Check the order of the offsets."""
        if self.start > self.stop:
            raise ValueError(
                f"the start {self.start} of an OffsetRange must not be larger than its stop {self.stop}"
            )

    def split(
        self, desired_num_offsets_per_split: int, min_num_offsets_per_split: int = 1
    ) -> Iterator[OffsetRange]:
        """Yield parts of the range; a last part that is small is added to the one before it.

        Args:
            desired_num_offsets_per_split: number of offsets in a part.
            min_num_offsets_per_split: minimum number of offsets in a part.
        """
        size = max(desired_num_offsets_per_split, min_num_offsets_per_split)
        least = max(desired_num_offsets_per_split // 4, min_num_offsets_per_split)
        start = self.start
        while start < self.stop:
            stop = min(start + size, self.stop)
            if self.stop - stop < least:
                stop = self.stop
            yield OffsetRange(start, stop)
            start = stop

    def split_at(self, split_pos: int) -> tuple[OffsetRange, OffsetRange]:
        """Return the part before an offset, and the part from it on."""
        return OffsetRange(self.start, split_pos), OffsetRange(split_pos, self.stop)

    def new_tracker(self) -> OffsetRangeTracker:
        """Return a range tracker, as sources in Beam's form use it.

        A splittable DoFn needs ``OffsetRestrictionTracker(range)`` instead.
        """
        return OffsetRangeTracker(self.start, self.stop)

    def size(self) -> int:
        """Return the number of offsets."""
        return self.stop - self.start


class OffsetRestrictionTracker(RestrictionTracker):
    """The tracker of a range of offsets, which are claimed in increasing order.

    Offsets can be left out. All offsets up to the last one that was tried count as done.

    Args:
        offset_range: the range.

    >>> tracker = OffsetRestrictionTracker(OffsetRange(0, 3))
    >>> [tracker.try_claim(offset) for offset in range(4)]
    [True, True, True, False]
    >>> tracker.check_done()
    True
    """

    def __init__(self, offset_range: OffsetRange) -> None:
        if not isinstance(offset_range, OffsetRange):
            raise TypeError(f"OffsetRestrictionTracker needs an OffsetRange, not {offset_range!r}")
        self._range = offset_range
        self._claimed: int | None = None
        self._tried: int | None = None
        self._checkpointed = False

    def check_done(self) -> bool:
        """Return True if all offsets were claimed, or left out.

        Raises:
            ValueError: offsets are left.
        """
        own = self._range
        if own.start == own.stop or (self._tried is not None and self._tried >= own.stop - 1):
            return True
        left = own.start if self._tried is None else self._tried + 1
        raise ValueError(f"the offsets from {left} to {own.stop - 1} of {own} were not claimed")

    def current_restriction(self) -> OffsetRange:
        """Return the range."""
        return self._range

    def current_progress(self) -> RestrictionProgress:
        """Return the part of the offsets that lie before the last claimed one."""
        own = self._range
        if self._claimed is None:
            return RestrictionProgress(fraction=0.0)
        fraction = (self._claimed - own.start) / own.size() if own.size() else 1.0
        return RestrictionProgress(fraction=fraction)

    def start_position(self) -> int:
        """Return the first offset."""
        return self._range.start

    def stop_position(self) -> int:
        """Return the offset after the last one."""
        return self._range.stop

    def try_claim(self, position: int) -> bool:
        """Claim an offset.

        Raises:
            ValueError: the offset is before the range, or not larger than the last one.
        """
        if self._tried is not None and position <= self._tried:
            raise ValueError(
                f"offsets must be claimed in increasing order, but {position} follows {self._tried}"
            )
        self._tried = position
        if position < self._range.start:
            raise ValueError(f"the offset {position} is before the range {self._range}")
        if position >= self._range.stop:
            return False
        self._claimed = position
        return True

    def try_split(self, fraction_of_remainder: float) -> tuple[OffsetRange, OffsetRange] | None:
        """Divide the offsets after the last one that was tried."""
        if self._checkpointed:
            return None
        last = self._range.start - 1 if self._tried is None else self._tried
        kept = int(max(1, (self._range.stop - last) * fraction_of_remainder))
        if last + kept >= self._range.stop:
            return None
        self._checkpointed = fraction_of_remainder == 0
        self._range, rest = self._range.split_at(last + kept)
        return self._range, rest

    def is_bounded(self) -> bool:
        """Return True."""
        return True


class UnsplittableRestrictionTracker(RestrictionTracker):
    """Another tracker, which is never divided.

    A run processes its restriction in one piece: it keeps no part of it in a checkpoint.

    Args:
        underling_tracker: the other tracker.

    >>> tracker = UnsplittableRestrictionTracker(OffsetRestrictionTracker(OffsetRange(0, 3)))
    >>> tracker.try_claim(0), tracker.try_split(0), tracker.try_claim(1)
    (True, None, True)
    """

    def __init__(self, underling_tracker: RestrictionTracker) -> None:
        self._tracker = underling_tracker

    def try_split(self, fraction_of_remainder: float) -> None:
        """Return None."""

    def current_restriction(self) -> Any:
        """Return the restriction of the other tracker."""
        return self._tracker.current_restriction()

    def current_progress(self) -> RestrictionProgress:
        """Return the progress of the other tracker."""
        return self._tracker.current_progress()

    def check_done(self) -> Any:
        """Check the other tracker."""
        return self._tracker.check_done()

    def try_claim(self, position: Any) -> bool:
        """Claim a position of the other tracker."""
        return self._tracker.try_claim(position)

    def is_bounded(self) -> bool:
        """Return whether the restriction of the other tracker is bounded."""
        return self._tracker.is_bounded()

    def __getattr__(self, name: str) -> Any:
        """Return any other attribute of the other tracker."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tracker, name)
