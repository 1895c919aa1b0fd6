"""DataFrames of Spark as sources: what is read, and how its rows become elements.

Nothing here knows Spark. What a source says is where the rows come from; the Spark runner makes a
DataFrame of it, and hands in the rows as Arrow columns, as they come to its workers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, TimeError, UnsupportedError, shorten
from headrace.sdk.io.file_source import CHUNK_ROWS, TimestampOf
from headrace.sdk.io.source import Batch, BoundedSource, ReadsBundles, UnboundedSource
from headrace.sdk.row import Row, rows_of
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import micros, micros_of_all

SourcePartition: TypeAlias = tuple[Hashable, ...]
"""What the rows of one partition of a source have in common: values of the columns that name it."""

ALL: Final[SourcePartition] = ()
"""The one partition of a source whose partitions have no names."""


@attrs.frozen(eq=False)
class SparkFormat:
    """One of Spark's sources.

    Attributes:
        format: its name, such as ``kafka``.
        options: by name.
        schema: a schema of Spark's, or one in words (``"id LONG, name STRING"``).

    >>> SparkFormat("rate", {"rowsPerSecond": "1"})
    SparkFormat(format='rate', options={'rowsPerSecond': '1'}, schema=None)
    """

    format: str
    options: Mapping[str, str] = attrs.field(factory=dict)
    schema: Any = None


@attrs.frozen(eq=False)
class GivenFrame:
    """A DataFrame that there is already; it stays where it is when the pipeline travels.

    >>> GivenFrame(None)
    GivenFrame(frame=None)
    """

    frame: Any

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave the DataFrame at home."""
        return type(self), (None,)


@attrs.frozen(eq=False)
class FrameRows:
    """How the rows of a DataFrame become elements.

    Attributes:
        timestamp: the column, or the function of the row, that says when it is.
        partition_by: the columns that name the partition of the source that a row is from.
    """

    timestamp: TimestampOf = None
    partition_by: tuple[str, ...] = ()

    def bundle(self, batch: Any) -> Bundle:
        """Return the rows of an Arrow record batch.

        Raises:
            ElementError: a row has no time.
        """
        columns = batch.to_pydict()
        rows = rows_of(columns, columns.values())
        if self.timestamp is None or not rows:
            return Bundle(rows)
        return Bundle(rows, self._timestamps(batch, rows))

    def _timestamps(self, batch: Any, rows: list[Row]) -> list[int]:
        if callable(self.timestamp):
            instants = list(map(self.timestamp, rows))
        else:
            column = _column(batch, self.timestamp)
            if _is_micros(column):
                timestamps: list[int] = column.cast("int64").to_pylist()
                return timestamps
            instants = column.to_pylist()
        try:
            return micros_of_all(instants)
        except TimeError:
            _refuse_untimely(rows, instants)

    def divided(self, batch: Any) -> Iterator[tuple[SourcePartition, Bundle]]:
        """Return the rows of each partition of the source, with its name."""
        bundle = self.bundle(batch)
        if not self.partition_by:
            yield ALL, bundle
            return
        columns = (_column(batch, name).to_pylist() for name in self.partition_by)
        names = list(zip(*columns, strict=True))
        for name in (different := dict.fromkeys(names)):
            yield name, bundle if len(different) == 1 else bundle.where([n == name for n in names])


@attrs.frozen(eq=False)
class BoundedFrame(BoundedSource[Row], ReadsBundles):
    """The rows of a DataFrame that ends.

    Args:
        origin: where it comes from.
        rows: how its rows become elements.

    >>> BoundedFrame(SparkFormat("jdbc"), FrameRows()).partitions()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: only Spark can read the format 'jdbc'...
    """

    origin: SparkFormat | GivenFrame
    rows: FrameRows = FrameRows()

    def partitions(self) -> Sequence[None]:
        """Return one partition, for runners without Spark: a DataFrame can be asked for its rows."""
        if isinstance(self.origin, SparkFormat):
            _refuse_reading(self.origin)
        return [None]

    def read(self, partition: Any) -> Iterator[Row]:
        return (row for bundle in self.read_bundles(partition) for row in bundle.values)

    def read_bundles(self, partition: Any) -> Iterator[Bundle]:
        """Collect the rows of the DataFrame here."""
        assert isinstance(self.origin, GivenFrame)
        for batch in self.origin.frame.toArrow().to_batches(CHUNK_ROWS):
            yield self.rows.bundle(batch)


@attrs.frozen(eq=False)
class UnboundedFrame(UnboundedSource[Row]):
    """The rows of a DataFrame that does not end.

    Args:
        origin: where it comes from.
        rows: how its rows become elements.

    >>> UnboundedFrame(SparkFormat("rate"), FrameRows()).partitions()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: only Spark can read the format 'rate'...
    """

    origin: SparkFormat | GivenFrame
    rows: FrameRows = FrameRows()

    def partitions(self) -> NoReturn:
        """Refuse runners without Spark."""
        _refuse_reading(self.origin)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Row]:
        _refuse_reading(self.origin)


def _refuse_reading(origin: SparkFormat | GivenFrame) -> NoReturn:
    what = f"the format {origin.format!r}" if isinstance(origin, SparkFormat) else "this DataFrame"
    raise UnsupportedError(
        f"only Spark can read {what}", remedy="run the pipeline with --runner=spark"
    )


def _column(batch: Any, name: Any) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    raise PipelineError(
        f"there is no column {name!r}", remedy=f"use one of {', '.join(batch.schema.names)}"
    )


def _is_micros(column: Any) -> bool:
    """Tell whether an Arrow column holds instants as microseconds, as Spark's timestamps are."""
    kind = column.type
    return (
        getattr(kind, "unit", "") == "us"
        and bool(getattr(kind, "tz", ""))
        and not column.null_count
    )


def _refuse_untimely(rows: list[Row], instants: list[Any]) -> NoReturn:
    """Name the first row that has no time."""
    for row, instant in zip(rows, instants, strict=True):
        try:
            micros(instant)
        except TimeError as error:
            raise ElementError(error.problem, where=shorten(row), remedy=error.remedy) from error
    raise AssertionError("all have")
