"""ReadFromSpark and FromDataFrame: transforms that read from Spark's sources and DataFrames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.record_variable import RecordT
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.schemas import Schema, arguments_of, required_schema
from headrace.sdk.io.files.file_source import TimestampOf, require_columns
from headrace.sdk.io.frames.frame_source import (
    BoundedFrame,
    FrameRows,
    GivenFrame,
    SparkFormat,
    UnboundedFrame,
)
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Read
from headrace.windowing.watermarks.policies import WatermarkPolicy

_PARTITIONS_OF: Final = {"kafka": ("topic", "partition")}
"""Columns that name the source partition, by format."""


class ReadFromSpark(PTransform[PBegin, PCollection[Row]]):
    """Reads one of Spark's own sources, such as Kafka, as rows; runs on Spark only.

    Each record is an :class:`hr.Row` with a field for each column; a struct is a dict. Kafka's columns
    are key, value, topic, partition, offset, timestamp and timestampType.

    Args:
        format: Spark's name of the source: ``kafka``, ``rate``, ``delta``, ``jdbc``, ``orc``, …
        options: the options of the source, including a path.
        schema: a Spark schema, or a DDL string such as ``"id LONG, name STRING"``, for sources that
            require one.
        streaming: whether the source is unbounded (Spark's ``readStream``).
        timestamp: a column, or a function of the row, that gives its event time.
        watermark: the watermark policy in streaming mode. Without one, the watermark stays at the
            beginning of time until the run is drained. A source partition counts from its first row.
        partition_by: the columns that name the source partition of a row; topic and partition for Kafka.
            Each source partition has a watermark.

    >>> p = Pipeline()  # to run it, use runner="spark"
    >>> _ = p | ReadFromSpark("rate", {"rowsPerSecond": 5}, streaming=True, timestamp="timestamp")
    """

    def __init__(
        self,
        format: str,
        options: Mapping[str, Any] | None = None,
        *,
        schema: Any = None,
        streaming: bool = False,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        partition_by: Sequence[str] | None = None,
    ) -> None:
        super().__init__()
        texts = {name: _option_text(value) for name, value in (options or {}).items()}
        names = _PARTITIONS_OF.get(format.lower(), ()) if partition_by is None else partition_by
        kind = UnboundedFrame if streaming else BoundedFrame
        rows = FrameRows(timestamp, tuple(names))
        self._source = kind(SparkFormat(format, texts, schema), rows)
        self._watermark = watermark

    def default_label(self) -> str:
        return f"ReadFromSpark({getattr(self._source.origin, 'format', '')})"

    def expand(self, pcoll: PBegin) -> PCollection[Row]:
        return Read(self._source, self._watermark).with_output_types(Row).expand(pcoll)


class FromDataFrame(PTransform[PBegin, PCollection[RecordT]], Generic[RecordT]):
    """Reads a Spark DataFrame, streaming or not, as rows.

    Each row is an :class:`hr.Row` with a field for each column, or an instance of ``schema``; a struct is a
    dict. Runners other than
    Spark collect a DataFrame that is not streaming, and refuse one that is.

    Args:
        df: the DataFrame.
        timestamp: a column, or a function of the row, that gives its event time.
        watermark: the watermark policy in streaming mode (see :class:`ReadFromSpark`). The DataFrame's
            own ``withWatermark`` is ignored.
        partition_by: the columns that name the source partition of a row.
        schema: a class of records (a named tuple, dataclass or attrs class), whose fields are columns;
            other columns are ignored.

    Raises:
        PipelineError: ``df`` is not a Spark DataFrame, or does not have a field of the schema as a column.

    >>> FromDataFrame([1, 2])
    Traceback (most recent call last):
    headrace.errors.PipelineError: [1, 2] is not a Spark DataFrame...
    """

    def __init__(
        self,
        df: Any,
        *,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        partition_by: Sequence[str] = (),
        schema: type[RecordT] | None = None,
    ) -> None:
        super().__init__()
        if not (hasattr(df, "isStreaming") and hasattr(df, "mapInArrow")):
            raise PipelineError(
                f"{shorten(df)} is not a Spark DataFrame",
                remedy="pass a pyspark.sql.DataFrame; for values in memory, use hr.Create",
            )
        columns = tuple(df.columns)
        if schema is not None:
            required_schema(schema)
            fields = [argument.field for argument in arguments_of(schema)]
            require_columns(columns, fields, "FromDataFrame")
        kind: Any = UnboundedFrame if df.isStreaming else BoundedFrame
        self._source = kind(GivenFrame(df), FrameRows(timestamp, tuple(partition_by), schema))
        self._watermark = watermark
        self._type = schema or Schema(Row, tuple((name, Any) for name in columns))

    def expand(self, pcoll: PBegin) -> PCollection[RecordT]:
        read: Read[RecordT] = Read(self._source, self._watermark)
        return read.with_output_types(self._type).expand(pcoll)


def _option_text(value: object) -> str:
    """Return the value of an option in Spark's notation."""
    return str(value).lower() if isinstance(value, bool) else str(value)
