"""The rows that a chain reads, as a DataFrame with the values that Headrace's readers return."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import date
from itertools import chain
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from headrace.runners.checks.timestamp_checks import FAR_FUTURE
from headrace.runners.spark.pushdown.stays import require
from headrace.runners.spark.sources.native import BATCH, is_native, kind_of
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.frames.frame_source import BoundedFrame, quoted
from headrace.windowing.time.timestamps import MICROS_PER_SECOND

TIME: Final = "__time"
"""The column of timestamps in microseconds."""

MOST_FILES: Final = 1_000
"""The largest number of files whose schemas are compared on the driver."""

NARROW: Final = ("tinyint", "smallint", "int")
"""Integers that are read as bigint, as Headrace's readers do."""

PYTHON_KINDS: Final[Mapping[str, type]] = {
    "bigint": int,
    "string": str,
    "boolean": bool,
    "date": date,
    "binary": bytes,
}
"""The Python types of the types of Spark that have the same values, by name."""

_SPARK_TYPES: Final[Mapping[str, str]] = {
    "int8": "TINYINT",
    "int16": "SMALLINT",
    "int32": "INT",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "string": "STRING",
    "bool": "BOOLEAN",
    "date32[day]": "DATE",
}
"""Spark's types by the names of Arrow's types of Parquet columns that Spark reads as the same values."""

_TYPES_OF_TIMES: Final[Mapping[str, str]] = {
    **_SPARK_TYPES,
    "timestamp[us, tz=UTC]": "TIMESTAMP",
}

_FIRST_USUAL: Final = -(1 << 40)
_LAST_USUAL: Final = FAR_FUTURE // MICROS_PER_SECOND - 1
"""The seconds since 1970 of the times that are usual; others are read as elements, with their checks."""


def rows_of(source: Any, session: SparkSession) -> DataFrame:
    """Return what a source reads, as Spark reads it.

    Args:
        source: the source, which has tables.
        session: the session.

    Raises:
        StaysInPython: Spark may read other values.
    """
    if isinstance(source, BoundedFrame) or (is_native(source) and isinstance(source, ParquetFiles)):
        frame: DataFrame = BATCH[kind_of(source)](source, session)
        return frame
    plain = type(source) is ParquetFiles and source.compression == "auto"
    require(plain, f"Python parses {type(source).__name__}")
    return _of_files(source, session)


def _of_files(source: ParquetFiles, session: SparkSession) -> DataFrame:
    """Return the rows of files whose columns have the same simple types in all of them.

    The types are known here, so Spark need not look for them, which would be a job of its own.
    """
    paths = list(chain.from_iterable(source.partitions()))
    require(len(paths) <= MOST_FILES, f"there are more than {MOST_FILES} files to compare")
    require(all(map(_is_plain, paths)), "Spark would take the name of a file in another way")
    wanted = source.fields_read or source.column_names()
    time = source.timestamp
    found = [_types(source, path) for path in paths]
    for types in found:
        require_other_letters(list(types))
    schema = []
    for name in found[0] if wanted is None else wanted:
        kinds = {types.get(name, "missing") for types in found}
        require(len(kinds) == 1, f"the column {name} has several types: {', '.join(sorted(kinds))}")
        kind, known = kinds.pop(), _TYPES_OF_TIMES if name == time else _SPARK_TYPES
        require(kind in known, f"the column {name} has the type {kind}")
        schema.append(f"{quoted(name)} {known[kind]}")
    reader = session.read.schema(", ".join(schema))
    reader = reader.options(recursiveFileLookup=True, datetimeRebaseMode="CORRECTED")
    return reader.parquet(*(f"file:{os.path.abspath(path)}" for path in paths))


def _is_plain(path: str) -> bool:
    """Return whether Spark takes a path as it is: not as a glob, an escape or a hidden file."""
    hidden = any(part.startswith(("_", ".")) for part in os.path.abspath(path).split(os.sep))
    return not hidden and not set(path) & set("*?[]{}\\%:#")


def _types(source: ParquetFiles, path: str) -> dict[str, str]:
    """Return the types of the columns of a file, by name."""
    with source.opened_file(path) as file:
        schema = file.schema_arrow
    return {name: str(kind) for name, kind in zip(schema.names, schema.types, strict=True)}


def time_of(source: BoundedFrame | ParquetFiles) -> str | None:
    """Return the column of the timestamps; None if elements are at the start of time."""
    time = source.rows.timestamp if isinstance(source, BoundedFrame) else source.timestamp
    assert not callable(time)  # else the source would have no tables
    return time


def types_of(frame: DataFrame) -> dict[str, str]:
    """Return the types of the columns of a DataFrame, by name."""
    return dict(frame.dtypes)


def widened(frame: DataFrame) -> DataFrame:
    """Return a DataFrame whose integers are of 64 bits."""
    narrow = [name for name, kind in frame.dtypes if kind in NARROW]
    if not narrow:
        return frame
    plain = map(quoted, frame.columns)
    return frame.selectExpr(
        *(
            f"CAST({column} AS BIGINT) AS {column}" if name in narrow else column
            for name, column in zip(frame.columns, plain, strict=True)
        )
    )


def micros_of(name: str, kind: str) -> str:
    """Return the timestamps as an expression of SQL, null where elements must be read.

    Args:
        name: the column of the times.
        kind: its type.

    Raises:
        StaysInPython: times have another type.
    """
    time, second = quoted(name), MICROS_PER_SECOND
    known = {
        "timestamp": (f"unix_micros({time})", f"unix_micros({time})", second),
        "double": (time, f"CAST(rint({time} * {second}.0D) AS BIGINT)", 1),
        "bigint": (time, f"{time} * {second}L", 1),
    }
    require(kind in known, f"the times have the type {kind or 'missing'}")
    told, micros, unit = known[kind]
    first, last = _FIRST_USUAL * unit, _LAST_USUAL * unit
    return f"CASE WHEN {told} BETWEEN {first}L AND {last}L THEN {micros} END"


def require_plain_names(names: Sequence[str]) -> None:
    """Check that Spark and narwhals tell names apart, and take them as they are.

    Raises:
        StaysInPython: they do not.
    """
    require_other_letters(names)
    plain = not any(set(name) & set(".`") for name in names)
    require(plain, "Spark takes a dot in the name of a field as a path")


def require_other_letters(names: Sequence[str]) -> None:
    """Check that Spark tells names apart.

    Raises:
        StaysInPython: some differ by case only.
    """
    known = len({name.lower() for name in names}) == len(set(names))
    require(known, "Spark takes names of fields without their case")
