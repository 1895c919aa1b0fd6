"""Watermarks of sources that Spark or the workers read, computed on the workers.

The driver does not see the elements of these sources. So the tasks that read them record the
timestamps of each source partition, as many as the watermark policy needs, and send them to every key
group of the first level, which keeps watermark estimators in its state. All key groups get the same
observations, compute the same watermarks, and pass them on in control rows. A batch can have such rows
without a round of the data source; then the batch time in Spark's offset log advances processing time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.spark.shuffle.control_rows import Control, merged
from headrace.sdk.io.frames.frame_source import SourcePartition
from headrace.sdk.pipelines.graph import Read
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS
from headrace.windowing.watermarks.policies import (
    FromSource,
    PartitionedWatermark,
    WatermarkPolicy,
)

if TYPE_CHECKING:
    from headrace.runners.spark.shuffle.write import Scope

OBSERVED: Final = -3
"""The step of rows with observations."""


@attrs.frozen
class Observed:
    """The timestamps of a source that a task has observed.

    Attributes:
        label: label of the Read.
        task: number of the task, by which observations of a batch are sorted.
        now: time of the batch in microseconds.
        timestamps: the timestamps of each partition that its estimator needs.
        reports: the watermarks that the source has reported; the end of time for a finished partition.
    """

    label: str
    task: int
    now: int
    timestamps: dict[SourcePartition, list[int]]
    reports: dict[SourcePartition, int] = attrs.field(factory=dict)


@attrs.define
class NativeWatermarkObserver:
    """Records the timestamps of the elements that a task reads.

    Args:
        policy: the watermark policy of the source.
    """

    policy: WatermarkPolicy
    timestamps: dict[SourcePartition, list[int]] = attrs.field(factory=dict, init=False)

    def record(self, partition: SourcePartition, bundle: Bundle) -> None:
        """Record elements of a partition."""
        if len(bundle):
            known = self.timestamps.get(partition, [])
            new = bundle.observed_times(self.policy)
            self.timestamps[partition] = self.policy.condense([*known, *new])

    def observed(self, label: str, scope: Scope) -> Observed:
        """Return the recorded timestamps of a source."""
        return Observed(label, scope.task, scope.now, self.timestamps)


@attrs.define
class SourceClock:
    """The watermarks of the sources and processing time in a key group, kept between batches.

    Args:
        reads: all Read nodes.
        native: labels of the sources whose watermarks follow from observations.
    """

    reads: Sequence[Read]
    native: Sequence[str]
    _last: Control = attrs.field(init=False)
    _watermarks: dict[str, PartitionedWatermark] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start before the first round."""
        self.restore(None)

    def restore(self, state: Any) -> None:
        """Restore what :meth:`state` returned; None is the initial state, also of a source that is new."""
        sources = {read.label: MIN_MICROS for read in self.reads}
        last, each = state or (Control(0, MIN_MICROS, sources, done=False), {})
        self._last = attrs.evolve(last, watermarks={**sources, **last.watermarks})
        self._watermarks = {
            read.label: PartitionedWatermark(read.watermark or FromSource(), ())
            for read in self.reads
            if read.label in self.native
        }
        for label, observed in each.items():
            self._watermarks[label].restore(observed)

    def state(self) -> tuple[Control, dict[str, Any]]:
        """Return the state as plain data."""
        return self._last, {label: source.state() for label, source in self._watermarks.items()}

    def advance(self, controls: Sequence[Control], observed: Iterable[Observed]) -> Control:
        """Return the watermarks and processing time after a batch.

        Args:
            controls: the controls of a round of the data source; empty if the batch has no round.
            observed: the observations of the tasks.
        """
        observations = sorted(observed, key=lambda each: (each.label, each.task))
        base = merged(controls) if controls else self._last
        now = max([self._last.now, base.now, *(each.now for each in observations)])
        self._last = attrs.evolve(base, now=now)
        for each in observations:
            self._observe(each, now)
        return self._last.with_outputs({label: self._watermark(label) for label in self.native})

    def _observe(self, observed: Observed, now: int) -> None:
        watermarks = self._watermarks[observed.label]
        for partition, timestamps in observed.timestamps.items():
            watermarks.add(partition)
            watermarks.observe(partition, timestamps, len(timestamps), now)
        for partition, watermark in observed.reports.items():
            watermarks.report(partition, watermark)

    def _watermark(self, label: str) -> int:
        """Return the watermark of a source; the end of time if the run is drained."""
        from_round = self._last.watermarks[label]
        source = self._watermarks[label]
        _, partitions = source.state()
        drained = from_round == MAX_MICROS
        return from_round if drained or not partitions else source.watermark(self._last.now)
