"""BatchElements: elements in lists, to share the fixed cost of a call among them (Beam's name)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.batching.group_into_batches import GroupIntoBatches, Shard
from headrace.sdk.combiners.pairs import Values
from headrace.sdk.elements.type_variables import T
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.time.timestamps import DurationTypes
from headrace.windowing.window import BoundedWindow

_LIVE_WINDOWS: Final = 10
"""The maximum number of windows with an incomplete batch."""

_BOUNDARIES: Final = (16, 32, 64, 128, 256, 512)
"""The default boundaries between lengths (as in Beam)."""


def _one(element: object) -> int:
    return 1


class BatchElements(PTransform[PCollection[Any], PCollection[Any]]):
    """Groups elements of the same window and bundle into lists.

    A batch is full when another element would make it larger than its target size. The target starts at
    ``min_batch_size`` and doubles up to ``max_batch_size``. At the end of a bundle, batches are emitted that
    are not full. The timestamp of a batch is the end of its window.

    Beam chooses sizes by the time that the following steps take. Steps run one after another on whole bundles
    here, so the arguments for this are accepted and have no effect: ``target_batch_overhead``,
    ``target_batch_duration_secs``, ``target_batch_duration_secs_including_fixed_cost``, ``variance``,
    ``clock``. For a fixed size, set both limits to it.

    Args:
        min_batch_size: the first target size.
        max_batch_size: the largest target size.
        target_batch_overhead: has no effect.
        target_batch_duration_secs: has no effect.
        target_batch_duration_secs_including_fixed_cost: has no effect.
        max_batch_duration_secs: collects batches of ``max_batch_size`` over several bundles, with state, for
            at most this many seconds of processing time.
        element_size_fn: returns the size of an element; by default 1. Not used with
            ``max_batch_duration_secs``.
        variance: has no effect.
        clock: has no effect.
        record_metrics: whether to record the distribution ``batch_size``.
        length_fn: returns the length of an element; with ``max_batch_duration_secs``, a batch has elements of
            similar length.
        bucket_boundaries: the lengths between which elements are similar, in ascending order.

    Raises:
        PipelineError: a size or boundary is not valid.

    >>> with Pipeline() as p:
    ...     _ = p | Create([1, 2, 3]) | BatchElements(2, 2) | Map(print)
    [1, 2]
    [3]
    """

    def __init__(
        self,
        min_batch_size: int = 1,
        max_batch_size: int = 10_000,
        target_batch_overhead: float | None = 0.05,
        target_batch_duration_secs: float | None = 10,
        target_batch_duration_secs_including_fixed_cost: float | None = None,
        max_batch_duration_secs: DurationTypes | None = None,
        *,
        element_size_fn: Callable[[Any], int] = _one,
        variance: float = 0.25,
        clock: Any = None,
        record_metrics: bool = True,
        length_fn: Callable[[Any], int] | None = None,
        bucket_boundaries: Sequence[int] | None = None,
    ) -> None:
        super().__init__()
        warn_of_ignored(
            "BatchElements",
            target_batch_overhead=target_batch_overhead,
            target_batch_duration_secs=target_batch_duration_secs,
            target_batch_duration_secs_including_fixed_cost=target_batch_duration_secs_including_fixed_cost,
            variance=variance,
            clock=clock,
        )
        _check_sizes(min_batch_size, max_batch_size)
        _check_boundaries(length_fn, bucket_boundaries)
        self._in_bundle = _BatchInBundle(
            min_batch_size, max_batch_size, element_size_fn, record_metrics
        )
        self._max_batch_size = max_batch_size
        self._max_duration = max_batch_duration_secs
        boundaries = tuple(bucket_boundaries or _BOUNDARIES)
        self._bucket = _Bucket(length_fn, boundaries) if length_fn else _bucket_of_all

    def expand(self, pcoll: PCollection[T]) -> PCollection[list[T]]:
        require_collection(pcoll)
        output_type = list[pcoll.element_type]  # type: ignore[name-defined]
        if self._max_duration is None:
            return pcoll | "Batch" >> ParDo(self._in_bundle).with_output_types(output_type)
        batches = (
            pcoll
            | "Bucket" >> each(self._bucket)
            | "Shard" >> ParDo(Shard(self._max_batch_size, spread=False))
            | "Batch" >> GroupIntoBatches(self._max_batch_size, self._max_duration)
        )
        return batches | "Values" >> Values().with_output_types(output_type)


@attrs.frozen
class _Bucket:
    """Pairs an element with the number of the bucket of its length."""

    length_of: Callable[[Any], int]
    boundaries: tuple[int, ...]

    def __call__(self, element: Any) -> tuple[int, Any]:
        return bisect_right(self.boundaries, self.length_of(element)), element


def _bucket_of_all(element: object) -> tuple[int, object]:
    return 0, element


@attrs.define
class _Batch:
    """An incomplete batch."""

    elements: list[object] = attrs.field(factory=list)
    size: int = 0


class _BatchInBundle(DoFn):
    """Collects batches, by window, within a bundle."""

    def __init__(
        self, minimum: int, maximum: int, size_of: Callable[[Any], int], record_metrics: bool
    ) -> None:
        self._minimum, self._maximum = minimum, maximum
        self._size_of = size_of
        self._record_metrics = record_metrics
        self._emitted = 0
        self._batches: dict[BoundedWindow, _Batch] = {}

    def default_label(self) -> str:
        return "BatchElements"

    @property
    def _target(self) -> int:
        """The target size: the first two batches have the minimum (as in Beam), then it doubles."""
        doublings = min(max(0, self._emitted - 1), 64)
        return min(self._maximum, self._minimum << doublings)

    def start_bundle(self) -> None:
        self._batches = {}

    def process(self, element: object, window: Any = DoFn.WindowParam) -> Iterator[WindowedValue]:
        size = self._size_of(element)
        batch = self._batches.setdefault(window, _Batch())
        if batch.elements and batch.size + size > self._target:
            yield self._flushed(window)
            batch = self._batches[window] = _Batch()
        batch.elements.append(element)
        batch.size += size
        if len(self._batches) > _LIVE_WINDOWS:
            yield self._flushed(max(self._batches, key=lambda each: self._batches[each].size))

    def finish_bundle(self) -> Iterable[WindowedValue]:
        return [self._flushed(window) for window in list(self._batches)]

    def _flushed(self, window: BoundedWindow) -> WindowedValue:
        batch = self._batches.pop(window)
        self._emitted += 1
        if self._record_metrics:
            Metrics.distribution("BatchElements", "batch_size").update(batch.size)
        return WindowedValue(batch.elements, window.max_timestamp(), (window,))


def _check_sizes(minimum: int, maximum: int) -> None:
    if not 1 <= minimum <= maximum:
        raise PipelineError(
            f"min_batch_size is {minimum} and max_batch_size is {maximum}: Minimum must not be greater than "
            "maximum, nor less than 1",
            remedy="use 1 <= min_batch_size <= max_batch_size",
        )


def _check_boundaries(length_fn: object, boundaries: Sequence[int] | None) -> None:
    if boundaries is None:
        return
    if length_fn is None:
        raise PipelineError("bucket_boundaries requires length_fn", remedy="pass length_fn, too")
    given = list(boundaries)
    if not given or given != sorted(given) or given[0] <= 0:
        raise PipelineError(
            f"bucket_boundaries is {given}, not a sorted list of positive lengths",
            remedy="pass lengths greater than 0 in ascending order",
        )
