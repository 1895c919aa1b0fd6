"""Backfill: files or a table up to a point, then a topic from there, as one collection.

The history and the topic are two reads whose collections are flattened. The topic is read once the history
has ended, so that the state does not hold both; and the watermark of the whole is the lower one of both,
so that it passes the seam only then. Each read has its own position in the checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from headrace.errors import PipelineError, UnsupportedError, shorten
from headrace.sdk.io.frames.frame_source import BoundedFrame
from headrace.sdk.io.kafka.offsets import start_of
from headrace.sdk.io.kafka.read_from_kafka import ReadFromKafka, ReadWithDeadLetters
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.transforms import Filter
from headrace.sdk.pipelines.graph import Read as ReadNode
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import Timestamp, TimestampTypes, micros


class Backfill(PTransform[PBegin, Any]):
    """Reads a history up to a point, and a topic of Kafka from there on.

    Nothing is read twice or left out at the seam, also if the run is killed there. With a time, the history
    gives the elements before it, and the topic those from it on, by their event times. With offsets, the
    history gives all its elements, and the topic starts at the offsets. The watermark stays at the beginning
    of time until the history has been read; then it is the topic's.

    Args:
        history: a transform that reads a bounded source, such as ``ReadFromParquet``, and shapes its elements
            like those of the topic; with a time, they need timestamps.
        then: the topic: ``ReadFromKafka``, also with ``with_exception_handling``. It starts at ``at``, except
            if it has a start of its own, or if its event times come from a function; then it must start
            early enough.
        at: the seam: a time, or offsets by ``(topic, partition)``.

    Raises:
        PipelineError: the history is unbounded, or an argument is not valid.
        UnsupportedError: the history is one of Spark's own sources, in streaming mode.

    >>> history = Create([TimestampedValue(("quay", {"total": 5}), "2025-12-31T23:00:00Z")])
    >>> topic = hr.io.ReadFromKafka(
    ...     {"bootstrap.servers": "localhost:9092"},
    ...     "sales",
    ...     key_deserializer=hr.io.StringSerde(),
    ...     value_deserializer=hr.io.JsonSerde(),
    ...     watermark=BoundedOutOfOrderness(10),
    ... )
    >>> sales = Pipeline() | hr.io.Backfill(history, then=topic, at="2026-01-01T00:00:00Z")
    """

    def __init__(
        self,
        history: PTransform[Any, Any],
        then: ReadFromKafka | ReadWithDeadLetters,
        at: TimestampTypes | Mapping[tuple[str, int], int],
    ) -> None:
        super().__init__()
        if not isinstance(then, (ReadFromKafka, ReadWithDeadLetters)):
            raise PipelineError(
                f"then is {shorten(then)}",
                remedy="give hr.io.ReadFromKafka(…), and apply other transforms to the result",
            )
        if not isinstance(history, PTransform):
            raise PipelineError(
                f"the history is {shorten(history)}",
                remedy="give a transform that reads, such as hr.io.ReadFromParquet(…) or hr.Read(source)",
            )
        self._history = history
        self._then = then
        self._at = start_of(at, "at") if isinstance(at, Mapping) else Timestamp(micros=micros(at))

    def default_label(self) -> str:
        return f"Backfill({self._then.label})"

    def expand(self, pcoll: PBegin) -> PCollection[Any] | tuple[PCollection[Any], PCollection[Any]]:
        history = pcoll | "History" >> self._history
        _check_history(history)
        found: Any = pcoll | "Topic" >> self._then.following(self._at, tuple(_reads(history)))
        main, bad = found if isinstance(found, DoOutputsTuple) else (found, None)
        if isinstance(self._at, Timestamp):
            history |= "Before" >> Filter(_is_before, self._at.micros)
            main |= "From" >> Filter(_is_from, self._at.micros)
        merged: PCollection[Any] = (history, main) | "Merge" >> Flatten()
        return merged if bad is None else (merged, bad)


def _is_before(element: object, seam: int, time: Any = DoFn.TimestampParam) -> bool:
    return time.micros < seam  # type: ignore[no-any-return]


def _is_from(element: object, seam: int, time: Any = DoFn.TimestampParam) -> bool:
    return time.micros >= seam  # type: ignore[no-any-return]


def _check_history(history: Any) -> None:
    if not isinstance(history, PCollection):
        raise PipelineError(
            f"the history gives {shorten(history)}, not a collection",
            remedy="give a transform that reads, and has one output",
        )
    if not history.is_bounded:
        raise PipelineError(
            "the history is unbounded, so it has no end at which the topic could begin",
            where=history.producer,
            remedy="give a bounded source, such as files without watch=",
        )


def _reads(history: PCollection[Any]) -> Iterator[str]:
    """Return the labels of the reads from which a collection comes."""
    for node in history.pipeline.graph.upstream(history.collection.node):
        if isinstance(node, ReadNode):
            _check_read(node)
            yield node.label


def _check_read(node: ReadNode) -> None:
    if isinstance(node.source, BoundedFrame):
        raise UnsupportedError(
            "the history is read by Spark itself, which does not tell a stream when it has ended",
            where=node.label,
            remedy="read the files with a reader of Headrace, such as hr.io.ReadFromParquet",
        )
