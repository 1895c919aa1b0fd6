"""GroupIntoBatches: the values of each key in batches of limited size and age (Beam's name)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator
from typing import Any, Final
from zlib import crc32

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import identity
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.state.specs import BagStateSpec, CombiningValueStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.sdk.pardo.stateful_dofn import key_of_pair
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.windowing.time.timestamps import DurationTypes, duration_micros

SHARDS: Final = 8
"""The number of shards of a key."""


@attrs.frozen
class ShardedKey:
    """A key with the number of its shard (Beam's name).

    Attributes:
        key: the key.
        shard: the shard, as bytes.

    >>> ShardedKey("a", b"0").key
    'a'
    """

    key: Any
    shard: bytes


class GroupIntoBatches(PTransform[PCollection[Any], PCollection[Any]]):
    """Groups the values of each key and window into batches: (key, list of values).

    A batch is emitted when it is full, at the latest when its window ends. Each batch but the last one of a
    window has exactly ``batch_size`` values, unless a time limit is given.

    Args:
        batch_size: maximum number of values in a batch.
        max_buffering_duration_secs: processing time after which a batch is emitted that is not full, in
            seconds; None or 0 for no limit.
        clock: has no effect: the clock of the runner counts.

    Raises:
        PipelineError: the size is not a number greater than 0, or the duration is negative.

    >>> with Pipeline() as p:
    ...     readings = p | Create([("a", 1), ("a", 2), ("b", 3), ("a", 4)])
    ...     _ = readings | GroupIntoBatches(2) | Map(print)
    ('a', [1, 2])
    ('a', [4])
    ('b', [3])
    """

    def __init__(
        self,
        batch_size: int,
        max_buffering_duration_secs: DurationTypes | None = None,
        clock: Any = None,
    ) -> None:
        super().__init__()
        warn_of_ignored("GroupIntoBatches", clock=clock)
        self._limits = _checked(batch_size, max_buffering_duration_secs)

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        require_collection(pcoll)
        key_type, value_type = pair_types(pcoll.element_type)
        output_type = pair_type(key_type, list[value_type])  # type: ignore[valid-type]
        batch = ParDo(_BatchOfKey(*self._limits)).with_output_types(output_type)
        return pcoll | "Batch" >> batch

    class WithShardedKey(PTransform[PCollection[Any], PCollection[Any]]):
        """Groups the values of each key into batches, with several batches of a key at a time.

        Each key is divided into eight shards, which different workers process: (ShardedKey, list of values).
        Use it if few keys have most of the values.

        Args:
            batch_size: maximum number of values in a batch.
            max_buffering_duration_secs: see :class:`GroupIntoBatches`.
            clock: has no effect.

        >>> with Pipeline() as p:
        ...     batches = p | Create([("a", 1), ("a", 2)]) | GroupIntoBatches.WithShardedKey(2)
        ...     _ = batches | MapTuple(lambda sharded, values: (sharded.key, values)) | Map(print)
        ('a', [1, 2])
        """

        def __init__(
            self,
            batch_size: int,
            max_buffering_duration_secs: DurationTypes | None = None,
            clock: Any = None,
        ) -> None:
            super().__init__()
            warn_of_ignored("GroupIntoBatches.WithShardedKey", clock=clock)
            self._limits = _checked(batch_size, max_buffering_duration_secs)

        def default_label(self) -> str:
            return "GroupIntoBatches.WithShardedKey"

        def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
            require_collection(pcoll)
            value_type = pair_types(pcoll.element_type)[1]
            shard = ParDo(Shard(self._limits[0])).with_output_types(
                pair_type(ShardedKey, value_type)
            )
            return pcoll | "Shard" >> shard | "Batch" >> GroupIntoBatches(*self._limits)


class Shard(DoFn):
    """Divides the pairs of a key: the shard changes after each batch.

    Args:
        batch_size: the number of elements of a key after which its shard changes.
        spread: whether small bundles use different shards. The first shard of a bundle then follows from the
            timestamp of its first element, so that a retry of the bundle uses the same shards.
    """

    def __init__(self, batch_size: int, spread: bool = True) -> None:
        self._batch_size = batch_size
        self._spread = spread
        self._start: int | None = None
        self._seen: defaultdict[Hashable, int] = defaultdict(int)

    def start_bundle(self) -> None:
        self._start = None
        self._seen = defaultdict(int)

    def process(self, pair: Any, timestamp: Any = DoFn.TimestampParam) -> Iterator[Any]:
        if self._start is None:
            self._start = crc32(b"%d" % timestamp.micros) if self._spread else 0
        key = key_of_pair(pair)
        known = identity(key)
        shard = (self._start + self._seen[known] // self._batch_size) % SHARDS
        self._seen[known] += 1
        yield ShardedKey(key, b"%d" % shard), pair[1]


class _BatchOfKey(DoFn):
    """Buffers the values of a key and window until there are enough of them, or time has passed."""

    shares_values = True
    """It changes no value, so its states need not copy them."""

    VALUES = BagStateSpec("values")
    COUNT = CombiningValueStateSpec("count", CountCombineFn())
    WINDOW_END = TimerSpec("window_end", TimeDomain.WATERMARK)
    BUFFERING_END = TimerSpec("buffering_end", TimeDomain.REAL_TIME)

    def __init__(self, batch_size: int, max_duration: DurationTypes | None) -> None:
        self._batch_size = batch_size
        self._max_duration = max_duration

    def default_label(self) -> str:
        return "GroupIntoBatches"

    def process(
        self,
        pair: Any,
        window: Any = DoFn.WindowParam,
        values: Any = DoFn.StateParam(VALUES),
        count: Any = DoFn.StateParam(COUNT),
        window_end: Any = DoFn.TimerParam(WINDOW_END),
        buffering_end: Any = DoFn.TimerParam(BUFFERING_END),
    ) -> Iterator[Any]:
        key, value = pair
        values.add(value)
        count.add(None)
        number = count.read()
        if number == 1:
            window_end.set(window.max_timestamp())
            if self._max_duration is not None:
                buffering_end.set_relative(self._max_duration)
        if number >= self._batch_size:
            buffering_end.clear()
            window_end.clear()
            yield from _flushed(key, values, count)

    @on_timer(WINDOW_END)
    def window_ends(
        self,
        key: object = DoFn.KeyParam,
        values: object = DoFn.StateParam(VALUES),
        count: object = DoFn.StateParam(COUNT),
        buffering_end: Any = DoFn.TimerParam(BUFFERING_END),
    ) -> Iterator[object]:
        """Emit what is left when the window ends."""
        buffering_end.clear()
        yield from _flushed(key, values, count)

    @on_timer(BUFFERING_END)
    def buffering_ends(
        self,
        key: object = DoFn.KeyParam,
        values: object = DoFn.StateParam(VALUES),
        count: object = DoFn.StateParam(COUNT),
        window_end: Any = DoFn.TimerParam(WINDOW_END),
    ) -> Iterator[object]:
        """Emit what there is when the first value has waited long enough."""
        window_end.clear()
        yield from _flushed(key, values, count)


def _flushed(key: object, values: Any, count: Any) -> Iterator[object]:
    batch = values.read()
    values.clear()
    count.clear()
    if batch:
        yield key, batch


def _checked(size: int, duration: DurationTypes | None) -> tuple[int, DurationTypes | None]:
    if not isinstance(size, int) or isinstance(size, bool) or size < 1:
        raise PipelineError(
            f"the batch_size of GroupIntoBatches is {shorten(size)}",
            remedy="use a whole number greater than 0",
        )
    micros = 0 if duration is None else duration_micros(duration)
    if micros < 0:
        raise PipelineError(
            f"the max_buffering_duration_secs of GroupIntoBatches is {duration}",
            remedy="use a number of seconds greater than 0, or None for no limit",
        )
    return size, duration if micros else None
