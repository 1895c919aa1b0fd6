"""Watermarks of sources that only the workers see: what is observed travels in the data, too.

The driver never sees the elements that Spark reads itself. So the tasks that take them in note the
timestamps of each partition of a source, as many as the watermark policy needs, and tell every key group
of the first level, which keeps the estimators in its state. All of them hear the same, so all come to the
same watermarks, and say so in the control rows that they work by and send on. A batch may bring such rows
and no round of the feed; then the time of the batch itself, from Spark's offset log, moves the clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import attrs

from headrace.runners.spark.shuffle.write import Scope
from headrace.runners.spark.sources.control_rows import Control, together
from headrace.sdk.graph import Read
from headrace.sdk.io.frames import SourcePartition
from headrace.triggers.bundle import Bundle
from headrace.windowing.column import materialise
from headrace.windowing.time import MAX_MICROS, MIN_MICROS
from headrace.windowing.watermark import (
    BoundedOutOfOrderness,
    FromSource,
    Monotonic,
    PartitionedWatermark,
    Percentile,
    WatermarkPolicy,
)

OBSERVED: Final = -3
"""The step of rows that say what was observed."""


@attrs.frozen
class Observed:
    """What a task has observed of a source.

    Attributes:
        label: of the Read.
        place: number of the task, by which those of a batch are put in order.
        now: time of the batch in microseconds.
        timestamps: of each partition, as many as its estimator needs.
    """

    label: str
    place: int
    now: int
    timestamps: dict[SourcePartition, list[int]]


@attrs.define
class NativeWatermarkObserver:
    """Takes note of what a task reads.

    Args:
        policy: by which the watermark follows.
    """

    policy: WatermarkPolicy
    timestamps: dict[SourcePartition, list[int]] = attrs.field(factory=dict, init=False)

    def note(self, partition: SourcePartition, bundle: Bundle) -> None:
        """Take note of elements of a partition."""
        if bundle.values:
            new = materialise(bundle.timestamps, len(bundle))
            known = self.timestamps.get(partition, [])
            self.timestamps[partition] = condensed([*known, *new], self.policy)

    def observed(self, label: str, scope: Scope) -> Observed:
        """Return what was noted of a source."""
        return Observed(label, scope.place, scope.now, self.timestamps)


def condensed(timestamps: list[int], policy: WatermarkPolicy) -> list[int]:
    """Return fewer timestamps that make the same difference to an estimator.

    >>> condensed([5, 9, 7], Monotonic()), condensed([5, 9, 7, 6], Percentile(50, memory=2))
    ([9], [9, 7, 6])
    """
    if isinstance(policy, (BoundedOutOfOrderness, Monotonic, FromSource)):
        return [max(timestamps)]
    if isinstance(policy, Percentile) and len(timestamps) > policy.memory + 1:
        return [max(timestamps[: -policy.memory]), *timestamps[-policy.memory :]]
    return timestamps


@attrs.define
class SourceClock:
    """What a key group of the first level knows of sources and the clock, from batch to batch.

    Args:
        reads: all the Read nodes.
        native: labels of those that Spark reads itself.
    """

    reads: Sequence[Read]
    native: Sequence[str]
    _last: Control = attrs.field(init=False)
    _watermarks: dict[str, PartitionedWatermark] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start before all rounds."""
        self.restore(None)

    def restore(self, state: Any) -> None:
        """Go on from what :meth:`state` gave; from the beginning if that is None."""
        sources = {read.label: MIN_MICROS for read in self.reads}
        last, each = state or (Control(0, MIN_MICROS, sources, done=False), {})
        self._last = last
        self._watermarks = {
            read.label: PartitionedWatermark(read.watermark or FromSource(), ())
            for read in self.reads
            if read.label in self.native
        }
        for label, observed in each.items():
            self._watermarks[label].restore(observed)

    def state(self) -> tuple[Control, dict[str, Any]]:
        """Return all that is known, as plain data."""
        return self._last, {label: known.state() for label, known in self._watermarks.items()}

    def go_on(self, controls: Sequence[Control], observed: Iterable[Observed]) -> Control:
        """Return what time it is after a batch.

        Args:
            controls: what the feed says of its round; nothing if the batch holds none.
            observed: what tasks have observed.
        """
        told = sorted(observed, key=lambda each: (each.label, each.place))
        base = together(controls) if controls else self._last
        now = max([self._last.now, base.now, *(each.now for each in told)])
        self._last = attrs.evolve(base, now=now)
        for each in told:
            self._observe(each, now)
        return self._last.behind({label: self._watermark(label) for label in self.native})

    def _observe(self, told: Observed, now: int) -> None:
        watermarks = self._watermarks[told.label]
        for partition, timestamps in told.timestamps.items():
            watermarks.add(partition)
            watermarks.observe(partition, timestamps, len(timestamps), now)

    def _watermark(self, label: str) -> int:
        """Return how far a source is complete; at the end of time if the feed says so."""
        said = self._last.watermarks[label]
        known = self._watermarks[label]
        _, partitions = known.state()
        return said if said == MAX_MICROS or not partitions else known.watermark(self._last.now)
