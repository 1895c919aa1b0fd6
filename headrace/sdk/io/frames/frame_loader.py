"""Parquet files as a DataFrame: the loader that a runner sets, and one schema for all files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

import attrs

from headrace.errors import UnsupportedError
from headrace.sdk.io.formats.parquet.arrow import arrow


@attrs.define(eq=False)
class FrameLoader:
    """Creates DataFrames from Parquet files; it is not pickled with a sink.

    Attributes:
        load: creates a DataFrame from paths; None on a runner without DataFrames.
        written: whether the run has written a batch, or has ended.
    """

    load: Callable[[Sequence[str]], Any] | None = None
    written: bool = False

    def required(self, remedy: str) -> Callable[[Sequence[str]], Any]:
        """Return a function that creates a DataFrame from files, which can have different schemas.

        Args:
            remedy: what to do on a runner without DataFrames.

        Raises:
            UnsupportedError: the runner has no DataFrames.
        """
        load = self.load
        if load is None:
            raise UnsupportedError(
                "there is no DataFrame, because the pipeline does not run on Spark", remedy=remedy
            )
        return lambda files: load(with_one_schema(files))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the state of the process that runs the pipeline."""
        return type(self), ()


class LoadsFrames:
    """A sink with a field ``loader``, since it creates DataFrames in the process that runs the pipeline."""

    __slots__ = ()
    loader: FrameLoader


def with_one_schema(files: Sequence[str]) -> list[str]:
    """Return files with the same rows and the common schema of all; other files are converted copies.

    The copies are in a directory ``_converted`` next to the files.
    """
    parquet, pyarrow = arrow("pyarrow.parquet"), arrow()
    schemas = [parquet.read_schema(path) for path in files]
    common = pyarrow.unify_schemas(schemas, promote_options="permissive")
    return [
        path if schema.equals(common) else _converted(path, common)
        for path, schema in zip(files, schemas, strict=True)
    ]


def _converted(path: str, schema: Any) -> str:
    """Return a copy of a file with another schema; missing columns are null."""
    directory, name = os.path.split(path)
    copies = Path(directory, "_converted")
    copies.mkdir(exist_ok=True)
    target = copies / f"{crc32(str(schema).encode()):08x}-{name}"
    if not target.exists():
        parquet, pyarrow = arrow("pyarrow.parquet"), arrow()
        table = parquet.read_table(path)
        columns = {
            field.name: table[field.name].cast(field.type)
            if field.name in table.column_names
            else pyarrow.nulls(len(table), field.type)
            for field in schema
        }
        new = target.with_suffix(".new")
        parquet.write_table(pyarrow.table(columns, schema=schema), new)
        os.replace(new, target)
    return str(target)
