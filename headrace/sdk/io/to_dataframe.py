"""ToDataFrame: a collection as a table, after the run.

Workers write parts of the collection as files of Parquet, and the table is read from these files, so it
never passes through the process that runs the pipeline.
"""

from __future__ import annotations

import atexit
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.arrow import arrow
from headrace.sdk.io.file_naming import FileNaming
from headrace.sdk.io.parquet_sink import ParquetSink
from headrace.sdk.io.sink import Commit, PartSink, SinkPart
from headrace.sdk.pvalue import PDone
from headrace.sdk.transform import PTransform
from headrace.sdk.writing import Write
from headrace.triggers.bundle import Bundle


@attrs.define(eq=False)
class TableSink(PartSink):
    """Writes parts as files of Parquet, each once, in a directory of their own.

    Args:
        directory: where; all workers must reach it.
        schema: as for :class:`~headrace.io.ParquetSink`; made from the elements by default.

    Attributes:
        files: what was written, once the run is over; None before.
        loader: makes a DataFrame of such files; a runner with DataFrames sets it.
    """

    directory: str
    schema: Any = None
    files: list[str] | None = attrs.field(default=None, init=False)
    loader: Callable[[Sequence[str]], Any] | None = attrs.field(default=None, init=False)

    def write_part(self, part: SinkPart) -> str:
        return self._write(self._writer().table(part.bundle))

    def commit(self, commit: Commit) -> None:
        if commit.streaming:
            raise PipelineError(
                "a run that streams has no end after which there is a table",
                where=commit.step,
                remedy="write to a table or to files: hr.io.WriteToTable, hr.io.WriteToParquet",
            )
        parquet, pyarrow = arrow("pyarrow.parquet"), arrow()
        schemas = [parquet.read_schema(path) for path in commit.written]
        if not schemas:
            self.files = [self._write(self._writer().table(Bundle([])))]
            return
        common = pyarrow.unify_schemas(schemas, promote_options="permissive")
        for path, schema in zip(commit.written, schemas, strict=True):
            if not schema.equals(common):
                self._fit(path, common)
        self.files = list(commit.written)

    def _fit(self, path: str, schema: Any) -> None:
        """Write a file again with a schema that holds for all."""
        table, pyarrow = arrow("pyarrow.parquet").read_table(path), arrow()
        columns = {
            field.name: table[field.name].cast(field.type)
            if field.name in table.column_names
            else pyarrow.nulls(len(table), field.type)
            for field in schema
        }
        arrow("pyarrow.parquet").write_table(pyarrow.table(columns, schema=schema), path)

    def _writer(self) -> ParquetSink:
        return ParquetSink(FileNaming(self.directory), self.schema)

    def _write(self, table: Any) -> str:
        path = f"{self.directory}/{uuid4().hex}.parquet"
        arrow("pyarrow.parquet").write_table(table, path)
        return path

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel without what only the process of the run knows."""
        return type(self), (self.directory, self.schema)


class ToDataFrame(PTransform[Any, Any]):
    """Keeps a collection as a table for the program that runs the pipeline; in batch mode only.

    Args:
        schema: a pyarrow schema, or the types of the columns by their names; made from the elements,
            records with named fields, by default.
        directory: where the table lies; on a cluster all machines must reach it. By default a temporary
            directory of this machine, which goes when the program ends.

    Raises:
        PipelineError: pyarrow is not installed.

    >>> table = ToDataFrame()
    >>> with Pipeline() as p:
    ...     _ = p | Create([hr.Row(airport="EWR", delay=7)]) | table
    >>> table.to_arrow().to_pylist()
    [{'airport': 'EWR', 'delay': 7}]
    """

    def __init__(self, schema: Any = None, *, directory: str | None = None) -> None:
        super().__init__()
        arrow()
        self._sink = TableSink(str(directory or mkdtemp(prefix="headrace-table-")), schema)
        if directory is None:
            atexit.register(shutil.rmtree, self._sink.directory, ignore_errors=True)
        Path(self._sink.directory).mkdir(parents=True, exist_ok=True)

    def expand(self, pcoll: Any) -> PDone:
        return Write(self._sink).expand(pcoll)

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``, in memory, after a run on any runner."""
        tables = map(arrow("pyarrow.parquet").read_table, self._files())
        return arrow().concat_tables(tables)

    def dataframe(self) -> Any:
        """Return the table as a DataFrame of Spark, after a run on Spark.

        Raises:
            PipelineError: there was no such run.
        """
        files = self._files()
        if self._sink.loader is None:
            raise PipelineError(
                "there is no DataFrame, since the pipeline did not run on Spark",
                remedy="use to_arrow(), or run it with --runner=spark",
            )
        return self._sink.loader(files)

    def _files(self) -> list[str]:
        if self._sink.files is None:
            raise PipelineError(
                "there is no table, since the pipeline has not run to its end",
                remedy="run it first",
            )
        return self._sink.files
