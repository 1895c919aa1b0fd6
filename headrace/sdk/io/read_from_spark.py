"""ReadFromSpark and FromDataFrame: what a pipeline says to read what Spark reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.file_source import TimestampOf
from headrace.sdk.io.frames import (
    BoundedFrame,
    FrameRows,
    GivenFrame,
    SparkFormat,
    UnboundedFrame,
)
from headrace.sdk.pvalue import PCollection
from headrace.sdk.reading import Read
from headrace.sdk.row import Row
from headrace.sdk.transform import PTransform
from headrace.windowing.watermark import WatermarkPolicy

_PARTITIONS_OF: Final = {"kafka": ("topic", "partition")}
"""Columns that name the partition of the source, by format."""


class ReadFromSpark(PTransform[Any, Any]):
    """Reads one of Spark's own sources, such as Kafka, as rows; runs on Spark only.

    Each record is an :class:`hr.Row` with a field for each column; a struct is a dict. Kafka's columns
    are key, value, topic, partition, offset, timestamp and timestampType.

    Args:
        format: Spark's name of the source: ``kafka``, ``rate``, ``delta``, ``jdbc``, ``orc``, …
        options: its options; a path is one, too.
        schema: a schema of Spark's, or one in words (``"id LONG, name STRING"``), for sources that want
            one.
        streaming: whether to go on with what is yet to come (Spark's ``readStream``).
        timestamp: a column, or a function of the row, that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode. Without one
            it stays at the beginning of time until the run is drained. A partition of the source counts
            from its first row on.
        partition_by: the columns that name the partition of the source that a row is from; topic and
            partition with Kafka. Watermarks are tracked for each.

    >>> p = Pipeline()  # with runner="spark" it could run
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
        said = {name: _said(value) for name, value in (options or {}).items()}
        names = _PARTITIONS_OF.get(format.lower(), ()) if partition_by is None else partition_by
        kind = UnboundedFrame if streaming else BoundedFrame
        rows = FrameRows(timestamp, tuple(names))
        self._source = kind(SparkFormat(format, said, schema), rows)
        self._watermark = watermark

    def default_label(self) -> str:
        return f"ReadFromSpark({getattr(self._source.origin, 'format', '')})"

    def expand(self, pcoll: Any) -> PCollection[Any]:
        return Read(self._source, self._watermark).with_output_types(Row).expand(pcoll)


class FromDataFrame(PTransform[Any, Any]):
    """Reads a DataFrame of Spark, one that streams or one that does not, as rows.

    Each row is an :class:`hr.Row` with a field for each column; a struct is a dict. Other runners than
    Spark's collect a DataFrame that does not stream, and refuse one that does.

    Args:
        df: the DataFrame.
        timestamp: a column, or a function of the row, that says when it is.
        watermark: the policy by which the watermark follows the elements in streaming mode (see
            :class:`ReadFromSpark`). A watermark of Spark's own says nothing here.
        partition_by: the columns that name the partition of the source that a row is from.

    Raises:
        PipelineError: it is no DataFrame.

    >>> FromDataFrame([1, 2])
    Traceback (most recent call last):
    headrace.errors.PipelineError: [1, 2] is no DataFrame of Spark's...
    """

    def __init__(
        self,
        df: Any,
        *,
        timestamp: TimestampOf = None,
        watermark: WatermarkPolicy | None = None,
        partition_by: Sequence[str] = (),
    ) -> None:
        super().__init__()
        if not (hasattr(df, "isStreaming") and hasattr(df, "mapInArrow")):
            raise PipelineError(
                f"{shorten(df)} is no DataFrame of Spark's",
                remedy="give a pyspark.sql.DataFrame; for values of the program use hr.Create",
            )
        kind = UnboundedFrame if df.isStreaming else BoundedFrame
        self._source = kind(GivenFrame(df), FrameRows(timestamp, tuple(partition_by)))
        self._watermark = watermark

    def expand(self, pcoll: Any) -> PCollection[Any]:
        return Read(self._source, self._watermark).with_output_types(Row).expand(pcoll)


def _said(value: Any) -> str:
    """Return the value of an option as Spark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)
