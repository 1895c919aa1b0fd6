"""Differences between the versions of Spark that Headrace supports.

=========  ==========================================================================================
version    what is different
=========  ==========================================================================================
4.2, 4.3   nothing
4.1        Spark does not tell a Python source where to start: :class:`RememberingReader` remembers it
4.0        in addition, Python has state only with pandas frames (:class:`OnFrames`), and two Java classes
           have other names
=========  ==========================================================================================

This module imports pyspark only in functions, because the check of PySpark's version needs the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any, Final

import attrs

from headrace.errors import UnsupportedError

BatchReader = Callable[[Iterator[Any]], Iterable[Sequence[Any]]]

_STREAMING: Final = "org.apache.spark.sql.execution.streaming"
_STATE_SERVERS: Final = "org.apache.spark.sql.execution.python.streaming"


@attrs.frozen
class SparkVersion:
    """A minor version of Spark.

    Attributes:
        name: such as ``"4.3"``.
        protobuf: the oldest protobuf that its PySpark supports.
        tells_start: whether Spark tells a Python source where a batch starts (admission control).
        state_on_rows: whether ``transformWithState`` exists; else only ``transformWithStateInPandas``.
        checkpoint_package: the Java package of the file managers of checkpoints.
        state_server: the Java class, and logger, of the server that gives Python its state.
    """

    name: str
    protobuf: str = "6.33.5"
    tells_start: bool = True
    state_on_rows: bool = True
    checkpoint_package: str = f"{_STREAMING}.checkpointing"
    state_server: str = f"{_STATE_SERVERS}.TransformWithStateInPySparkStateServer"


VERSIONS: Final = (
    SparkVersion(
        "4.0",
        protobuf="5.28.3",
        tells_start=False,
        state_on_rows=False,
        checkpoint_package=_STREAMING,
        state_server=f"{_STATE_SERVERS}.TransformWithStateInPandasStateServer",
    ),
    SparkVersion("4.1", protobuf="6.33.0", tells_start=False),
    SparkVersion("4.2"),
    SparkVersion("4.3"),
)
"""The supported versions, oldest first."""

OLDEST: Final = VERSIONS[0].name
TOO_NEW: Final = "4.4"


def spark_version(found: str) -> SparkVersion:
    """Return the supported version to which a release belongs.

    Raises:
        UnsupportedError: the version is not supported.

    >>> spark_version("4.1.4").name
    '4.1'
    """
    name = minor(found)
    for supported in VERSIONS:
        if supported.name == name:
            return supported
    raise UnsupportedError(
        f"Spark {found} is not supported",
        remedy=f"use Spark {', '.join(each.name for each in VERSIONS[:-1])} or {VERSIONS[-1].name}",
    )


def installed() -> SparkVersion:
    """Return the version of the installed PySpark; the newest supported one if there is none.

    Raises:
        UnsupportedError: the version is not supported.
    """
    found = _pyspark()
    return VERSIONS[-1] if found is None else spark_version(found)


def oldest_protobuf() -> str:
    """Return the oldest protobuf that the installed PySpark supports."""
    found = minor(_pyspark() or "")
    return next((each.protobuf for each in VERSIONS if each.name == found), VERSIONS[-1].protobuf)


def minor(found: str) -> str:
    """Return the minor version of a release.

    >>> minor("4.0.5")
    '4.0'
    """
    return ".".join(re.findall(r"\d+", found)[:2])


def _pyspark() -> str | None:
    """Return the version of the PySpark that is imported: with spark-submit it is the one of Spark."""
    try:
        return getattr(import_module("pyspark"), "__version__", None)
    except ImportError:
        return None


class RememberingReader:
    """A reader of a Python data source that remembers where the next batch starts.

    Spark 4.0 and 4.1 ask only for the latest offset, even before they ask for the first one. After a restart
    they ask for the partitions between the last offset and itself, and so tell where the query has stopped.

    Args:
        reader: a ``DataSourceStreamReader`` as of Spark 4.2, whose ``latestOffset`` has a start.
    """

    def __init__(self, reader: Any) -> None:
        self._reader = reader
        self._first: dict[str, Any] | None = None
        self._last: dict[str, object] | None = None

    def initialOffset(self) -> dict[str, object]:
        """Return the offset before the first batch: the same one each time."""
        if self._first is None:
            self._first = self._reader.initialOffset()
        return self._first

    def latestOffset(self) -> dict[str, object]:
        """Return the offset after the next batch."""
        start = self.initialOffset() if self._last is None else self._last
        self._last = self._reader.latestOffset(start, None)
        return self._last

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Any:
        """Return the partitions of a batch; the first call after a restart tells the last offset."""
        if self._last is None:
            self._last = end
        return self._reader.partitions(start, end)

    def read(self, partition: Any) -> Any:
        """Read a partition, on a worker."""
        return self._reader.read(partition)

    def commit(self, end: dict[str, Any]) -> None:
        """Tell the source that a batch is done."""
        self._reader.commit(end)

    def stop(self) -> None:
        """Release what the source holds."""
        self._reader.stop()


def source_reader(reader: object) -> Any:
    """Return the reader of a data source for the installed Spark.

    Args:
        reader: a ``DataSourceStreamReader`` as of Spark 4.2.
    """
    if installed().tells_start:
        return reader
    from pyspark.sql.datasource import DataSourceStreamReader

    DataSourceStreamReader.register(RememberingReader)  # Spark checks the type
    return RememberingReader(reader)


class OnFrames:
    """A processor of rows as one of pandas frames, which is all that Spark 4.0 has.

    Args:
        processor: a ``StatefulProcessor`` for ``transformWithState``.
        row: the type of its rows, a NamedTuple.
        batches: divides the rows that it returns into frames.
    """

    def __init__(self, processor: Any, row: Any, batches: BatchReader) -> None:
        self._processor = processor
        self._row = row
        self._batches = batches

    def init(self, handle: object) -> None:
        """Open the state."""
        self._processor.init(handle)

    def handleInputRows(self, key: Any, frames: Iterable[Any], timers: object) -> Iterator[Any]:
        """Process the rows of a key in a batch."""
        rows = (row for frame in frames for row in self._rows(frame))
        outputs = self._processor.handleInputRows(tuple(map(int, key)), rows, timers)
        for batch in self._batches(outputs):
            yield self._frame(batch)

    def handleExpiredTimer(self, key: Any, timers: Any, expired: object) -> Iterator[object]:
        """Process a timer of Spark's; Headrace sets none."""
        return iter(())

    def close(self) -> None:
        """Release what the processor holds."""
        self._processor.close()

    def _rows(self, frame: Any) -> Iterator[Any]:
        columns = (frame[name].tolist() for name in self._row._fields)
        return map(self._row._make, zip(*columns, strict=True))

    def _frame(self, rows: Sequence[Any]) -> object:
        import pandas as pd

        return pd.DataFrame([tuple(row) for row in rows], columns=self._row._fields)


def with_state(
    grouped: Any, processor: object, schema: str, row: object, batches: BatchReader
) -> Any:
    """Return the rows that a processor makes of a grouped streaming DataFrame.

    Args:
        grouped: the DataFrame, grouped by key.
        processor: a ``StatefulProcessor`` for ``transformWithState``.
        schema: Spark's schema of the rows.
        row: the type of the rows, a NamedTuple.
        batches: divides rows into pandas frames, on Spark 4.0.
    """
    if installed().state_on_rows:
        return grouped.transformWithState(processor, schema, "append", "none")
    framed = OnFrames(processor, row, batches)
    return grouped.transformWithStateInPandas(framed, schema, "append", "none")
