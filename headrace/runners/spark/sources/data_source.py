"""The feed: all sources that Python reads, as one streaming source of Spark.

It runs in a process of its own beside the driver (Spark's Python data source API). An offset is a
:class:`~headrace.runners.source_rounds.Position`, and so is the heartbeat: a batch comes from time to time
even where nothing else does, so that clocks advance. What a round brings goes to the workers as payloads
inside the input partitions; with it goes a control row, by which watermarks and clock travel in the data.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import attrs
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.runners.source_positions import Position, drained, position_of
from headrace.runners.source_rounds import SourceRounds
from headrace.runners.spark.cluster.error_transport import carrying
from headrace.runners.spark.shuffle.bundle_columns import pack
from headrace.runners.spark.shuffle.wire import SCHEMA, Row, dumps, record_batch
from headrace.runners.spark.sources.control_rows import CONTROL, Control
from headrace.sdk.graph import Read

NAME: Final = "headrace"

P = ParamSpec("P")
T = TypeVar("T")


@attrs.frozen
class FeedPlan:
    """What the feed must know.

    Attributes:
        reads: the Read nodes by their places in the graph.
        limit: at most so many records of a partition a round.
        heartbeat: microseconds between rounds that bring nothing.
        width: so many tasks share what a round brings.
        drain: a file; once it exists, nothing more is read, and watermarks go to the end of time.
        pause: a file; while it exists, no round begins.
        natives: labels of sources that Spark reads itself.
    """

    reads: tuple[tuple[int, Read], ...]
    limit: int
    heartbeat: int
    width: int
    drain: str
    pause: str
    natives: tuple[str, ...] = ()


@attrs.frozen
class Share(InputPartition):
    """What one task gets of a round: rows on the wire."""

    rows: tuple[Row, ...]


def carried(method: Callable[P, T]) -> Callable[P, T]:
    """Let what a method raises cross Spark."""

    @wraps(method)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with carrying():
            return method(*args, **kwargs)

    return call


class FeedReader(DataSourceStreamReader):
    """The rounds, as Spark asks for them."""

    def __init__(self, plan: FeedPlan) -> None:
        self._plan = plan
        reads = tuple(read for _, read in plan.reads)
        self._rounds = SourceRounds(reads, plan.limit, plan.heartbeat, plan.natives)
        self._ahead: dict[int, dict[str, Any]] = {}
        self._silent = True

    @carried
    def initialOffset(self) -> dict[str, Any]:
        return self._rounds.start().as_json()

    @carried
    def latestOffset(self, start: dict[str, Any], limit: Any) -> dict[str, Any]:
        before = position_of(start)
        if os.path.exists(self._plan.pause):
            return start
        ended = before.done and self._rounds.is_finished(before)
        if ended and not self._silent:
            return start
        if ended or os.path.exists(self._plan.drain):
            self._silent = False  # a run that had ended says so once more after a restart
            return drained(before).as_json()
        after, bundles = self._rounds.read(before)
        if after is before:
            return start
        self._silent = False
        self._ahead = {after.round: bundles}
        return after.as_json()

    @carried
    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[InputPartition]:
        before, after = position_of(start), position_of(end)
        if before.round == after.round:
            return []
        bundles = self._ahead.pop(after.round, None)
        if bundles is None:
            bundles = self._rounds.replay(before, after)
        return self._shares(after, bundles)

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        yield record_batch(partition.rows)

    def _shares(self, after: Position, bundles: dict[str, Any]) -> list[InputPartition]:
        control = Control(after.round, after.now, after.watermarks, after.done)
        shares: list[list[Row]] = [[] for _ in range(self._plan.width)]
        shares[0].append(Row(0, CONTROL, 0, dumps(control)))
        for place, read in self._plan.reads:
            for bundle in filter(len, bundles.get(read.label, ())):
                pieces = list(bundle.pieces(-(-len(bundle) // len(shares))))
                first = place if len(pieces) == 1 else 0
                for number, piece in enumerate(pieces, first):
                    row = Row(0, place, 0, dumps((after.now, pack(piece))))
                    shares[number % len(shares)].append(row)
        return [Share(tuple(share)) for share in shares if share]


def feed_source(plan: FeedPlan) -> type[DataSource]:
    """Return the data source of a feed; it carries its plan along when it travels."""

    class Feed(DataSource):
        @classmethod
        def name(cls) -> str:
            return NAME

        def schema(self) -> str:
            return SCHEMA

        def streamReader(self, schema: Any) -> DataSourceStreamReader:
            return FeedReader(plan)

    return Feed


def feed(session: SparkSession, plan: FeedPlan) -> Any:
    """Return the feed as a streaming frame."""
    session.dataSource.register(feed_source(plan))
    return session.readStream.format(NAME).load()
