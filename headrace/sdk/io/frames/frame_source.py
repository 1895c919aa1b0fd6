"""Spark DataFrames as sources: where rows come from, and how they become elements.

This module does not import Spark. A source describes where the rows come from; the Spark runner creates
a DataFrame from it and passes in the rows as Arrow columns on its workers.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Final, NoReturn, TypeAlias

import attrs

from headrace.errors import ElementError, PipelineError, TimeError, UnsupportedError, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableRecords
from headrace.sdk.elements.record_tables import AS_ROWS
from headrace.sdk.elements.row import Row, rows_of
from headrace.sdk.elements.schemas import arguments_of, checked_records
from headrace.sdk.io.files.file_source import CHUNK_ROWS, TimestampOf, needed, times_given
from headrace.sdk.io.formats.parquet.time_columns import timed_table
from headrace.sdk.sources.source import (
    Batch,
    BoundedSource,
    BoundedTables,
    ReadsBundles,
    ReadsTables,
    UnboundedSource,
)
from headrace.windowing.time.timestamps import micros, micros_of_all

SourcePartition: TypeAlias = tuple[Hashable, ...]
"""The identity of a source's partition: the values of the columns that name it."""

USUAL_SECONDS: Final = 4e9
"""Floats up to this number are instants without further checks: until 2096."""

ALL: Final[SourcePartition] = ()
"""The only partition of a source without partition columns."""


@attrs.frozen(eq=False)
class SparkFormat:
    """One of Spark's sources.

    Attributes:
        format: its name, such as ``kafka``.
        options: option values by name.
        schema: a Spark schema, or a DDL string such as ``"id LONG, name STRING"``.

    >>> SparkFormat("rate", {"rowsPerSecond": "1"})
    SparkFormat(format='rate', options={'rowsPerSecond': '1'}, schema=None)
    """

    format: str
    options: Mapping[str, str] = attrs.field(factory=dict)
    schema: Any = None

    @property
    def place(self) -> str:
        """The path, table or topic that it reads, or the name of the format.

        >>> SparkFormat(
        ...     "kafka", {"subscribe": "sales", "kafka.bootstrap.servers": "host:9092"}
        ... ).place
        'kafka://host:9092/sales'
        """
        if self.format == "kafka":
            topics = self.options.get("subscribe") or self.options.get("subscribePattern", "")
            return f"kafka://{self.options.get('kafka.bootstrap.servers', '')}/{topics}"
        named = (self.options.get(name) for name in ("path", "dbtable", "table"))
        return next(filter(None, named), self.format)


@attrs.frozen(eq=False)
class GivenFrame:
    """An existing DataFrame, which is not pickled with the pipeline.

    >>> GivenFrame(None)
    GivenFrame(frame=None)
    """

    frame: Any

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the DataFrame."""
        return type(self), (None,)


@attrs.frozen(eq=False)
class FrameRows:
    """A way to make elements of the rows of a DataFrame.

    Attributes:
        timestamp: the column, or the function of the row, that gives its event time.
        partition_by: the columns that name the source partition of a row.
        schema: a class of records, whose fields are columns; None for rows of all columns.
    """

    timestamp: TimestampOf = None
    partition_by: tuple[str, ...] = ()
    schema: type | None = None

    def bundle(self, batch: Any) -> Bundle:
        """Return the rows of an Arrow record batch.

        Raises:
            ElementError: a row has no valid timestamp.
        """
        columns = batch.to_pydict()
        rows = self._records(columns)
        if self.timestamp is None or not rows:
            return Bundle(rows)
        return Bundle(rows, self._timestamps(batch, rows))

    @property
    def are_fields(self) -> bool:
        """Whether elements have all columns as fields, and no function is called to make them."""
        return self.schema is None and not callable(self.timestamp)

    def table(self, batch: Any, fields: Sequence[str]) -> Bundle:
        """Return some columns of an Arrow record batch as elements that are still a table.

        Raises:
            ElementError: a row has no valid timestamp.
        """
        import pyarrow as pa

        table = pa.Table.from_batches([batch])
        assert not callable(self.timestamp)
        try:
            return timed_table(table, fields, AS_ROWS, self.timestamp)
        except TimeError:
            return self.bundle(batch)  # it raises an error that names the row

    def _records(self, columns: Mapping[str, list[object]]) -> list[Any]:
        if self.schema is None:
            return rows_of(columns, columns.values())
        names = [argument.field for argument in arguments_of(self.schema)]
        return checked_records(self.schema, names, [columns[name] for name in names])

    def _timestamps(self, batch: object, rows: list[Any]) -> list[int]:
        if callable(self.timestamp):
            instants = times_given(self.timestamp, rows)
        else:
            column = _column(batch, self.timestamp)
            if _is_micros(column):
                timestamps: list[int] = column.cast("int64").to_pylist()
                return timestamps
            found = micros_of_floats(column)
            if found is not None:
                return found
            instants = column.to_pylist()
        try:
            return micros_of_all(instants)
        except TimeError:
            _raise_timestamp_error(rows, instants)

    def divided(self, batch: Any, tables: bool = False) -> Iterator[tuple[SourcePartition, Bundle]]:
        """Return the rows of each source partition, with the partition's name.

        Args:
            batch: an Arrow record batch.
            tables: whether elements stay tables.
        """
        bundle = self.table(batch, batch.schema.names) if tables else self.bundle(batch)
        if not self.partition_by:
            yield ALL, bundle
            return
        columns = (_column(batch, name).to_pylist() for name in self.partition_by)
        names = list(zip(*columns, strict=True))
        for name in (distinct := dict.fromkeys(names)):
            yield name, bundle if len(distinct) == 1 else bundle.where([n == name for n in names])


class FrameTables(ReadsTables):
    """A DataFrame whose rows can stay columns.

    Attributes:
        origin: where the DataFrame comes from.
        rows: how its rows become elements.
        fields: the columns of its tables; all by default.
    """

    origin: SparkFormat | GivenFrame
    rows: FrameRows
    fields: tuple[str, ...]

    @property
    def records(self) -> TableRecords | None:
        """How rows become elements; None for instances of a class, or if a function gives the time."""
        if not self.rows.are_fields:
            return None
        if not isinstance(self.origin, GivenFrame):
            return AS_ROWS
        names = self.origin.frame.columns
        distinct = set(map(str.lower, names))  # Spark selects columns without regard to case
        return AS_ROWS if names and len(distinct) == len(names) else None

    @property
    def why_elements(self) -> str:
        return super().why_elements if not self.rows.are_fields else "names of columns are repeated"

    @property
    def fields_read(self) -> Sequence[str]:
        read = needed(self.fields or None, self.rows.timestamp) or ()
        return tuple(dict.fromkeys((*read, *self.rows.partition_by))) if read else ()

    def with_fields(self, names: Sequence[str]) -> FrameTables:
        if not isinstance(self.origin, GivenFrame):
            return self  # its columns are not known before it is read
        narrowed = attrs.evolve(self, fields=tuple(names))  # type: ignore[misc]  # of its subclasses
        return narrowed if set(narrowed.fields_read) <= set(self.origin.frame.columns) else self

    def selected(self, frame: Any) -> Any:
        """Return the columns of a DataFrame that are needed."""
        return frame.select(*map(quoted, self.fields_read)) if self.fields else frame


@attrs.frozen(eq=False)
class BoundedFrame(BoundedSource[Row], ReadsBundles, FrameTables, BoundedTables):
    """The rows of a bounded DataFrame.

    Args:
        origin: where the DataFrame comes from.
        rows: how its rows become elements.
        fields: the columns of its tables; all by default.

    >>> BoundedFrame(SparkFormat("jdbc"), FrameRows()).partitions()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: only Spark can read the format 'jdbc'...
    """

    origin: SparkFormat | GivenFrame
    rows: FrameRows = FrameRows()
    fields: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The place of the format; empty for a given DataFrame."""
        return self.origin.place if isinstance(self.origin, SparkFormat) else ""

    def partitions(self) -> Sequence[None]:
        """Return one partition, for runners without Spark, which collect the DataFrame's rows."""
        if isinstance(self.origin, SparkFormat):
            _refuse_reading(self.origin)
        return [None]

    def read(self, partition: Any) -> Iterator[Row]:
        return (row for bundle in self.read_bundles(partition) for row in bundle.values)

    def read_bundles(self, partition: object) -> Iterator[Bundle]:
        """Collect the rows of the DataFrame in this process."""
        assert isinstance(self.origin, GivenFrame)
        for batch in self.origin.frame.toArrow().to_batches(CHUNK_ROWS):
            yield self.rows.bundle(batch)

    def read_tables(self, partition: object) -> Iterator[Bundle]:
        """Collect the columns that are needed in this process."""
        assert isinstance(self.origin, GivenFrame)
        for batch in self.selected(self.origin.frame).toArrow().to_batches(CHUNK_ROWS):
            yield self.rows.table(batch, self.fields or batch.schema.names)


@attrs.frozen(eq=False)
class UnboundedFrame(UnboundedSource[Row], FrameTables):
    """The rows of an unbounded DataFrame.

    Args:
        origin: where the DataFrame comes from.
        rows: how its rows become elements.
        fields: the columns of its tables; all by default.

    >>> UnboundedFrame(SparkFormat("rate"), FrameRows()).partitions()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: only Spark can read the format 'rate'...
    """

    reports_watermarks: ClassVar[bool] = False

    origin: SparkFormat | GivenFrame
    rows: FrameRows = FrameRows()
    fields: tuple[str, ...] = attrs.field(default=(), kw_only=True)

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The place of the format; empty for a given DataFrame."""
        return self.origin.place if isinstance(self.origin, SparkFormat) else ""

    def partitions(self) -> NoReturn:
        """Raise an error, because only Spark can read the source."""
        _refuse_reading(self.origin)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[Row]:
        _refuse_reading(self.origin)


def _refuse_reading(origin: SparkFormat | GivenFrame) -> NoReturn:
    what = f"the format {origin.format!r}" if isinstance(origin, SparkFormat) else "this DataFrame"
    raise UnsupportedError(
        f"only Spark can read {what}", remedy="run the pipeline with --runner=spark"
    )


def _column(batch: Any, name: object) -> Any:
    if name in batch.schema.names:
        return batch.column(name)
    raise PipelineError(
        f"there is no column {name!r}", remedy=f"use one of {', '.join(batch.schema.names)}"
    )


def _is_micros(column: Any) -> bool:
    """Return whether an Arrow column holds instants in microseconds, like Spark's timestamps."""
    kind = column.type
    return (
        getattr(kind, "unit", "") == "us"
        and bool(getattr(kind, "tz", ""))
        and not column.null_count
    )


def micros_of_floats(column: Any) -> list[int] | None:
    """Return an Arrow column of seconds as microseconds; None if it holds other values than usual floats."""
    if str(column.type) != "double" or column.null_count or not len(column):
        return None
    seconds = column.to_numpy(zero_copy_only=False)
    if not (seconds.min() >= -USUAL_SECONDS and seconds.max() <= USUAL_SECONDS):
        return None
    found: list[int] = (seconds * 1e6).round().astype("int64").tolist()
    return found


def quoted(name: str) -> str:
    """Return the name of a column in Spark's notation."""
    return "`" + name.replace("`", "``") + "`"


def _raise_timestamp_error(rows: list[Row], instants: list[Any]) -> NoReturn:
    """Raise an error that names the first row without a valid timestamp."""
    for row, instant in zip(rows, instants, strict=True):
        try:
            micros(instant)
        except TimeError as error:
            raise ElementError(error.problem, where=shorten(row), remedy=error.remedy) from error
    raise AssertionError("all rows have a timestamp")
