"""ToDataFrame: a collection as a table, available after the run.

Workers write parts of the collection as Parquet files, and the table is read from these files, so the data
does not pass through the process that runs the pipeline.
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
from headrace.sdk.pvalue import PCollection, PDone
from headrace.sdk.sink import Commit, PartSink, SinkPart
from headrace.sdk.transform import PTransform
from headrace.sdk.writing import Write
from headrace.triggers.bundle import Bundle


@attrs.define(eq=False)
class TableSink(PartSink):
    """Writes parts as Parquet files to a directory.

    Args:
        directory: the directory; all workers must have access to it.
        schema: as for :class:`~headrace.io.ParquetSink`; by default inferred from the elements.

    Attributes:
        files: the written files after the run; None before.
        loader: creates a DataFrame from the files; a runner with DataFrames sets it.
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
                "ToDataFrame is not supported in streaming mode",
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
        """Rewrite a file with the common schema of all files."""
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
        """Pickle without the state of the process that runs the pipeline."""
        return type(self), (self.directory, self.schema)


class ToDataFrame(PTransform[PCollection[Any], PDone]):
    """Stores a collection as a table for the program that runs the pipeline; in batch mode only.

    Args:
        schema: a pyarrow schema, or the types of the columns by name; by default inferred from the
            elements, which are records with named fields.
        directory: where the table is stored; all machines of a cluster must have access to it. By default
            a temporary directory on this machine, which is deleted when the program ends.

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

    def expand(self, pcoll: PCollection[Any]) -> PDone:
        return Write(self._sink).expand(pcoll)

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``, in memory, after a run on any runner."""
        tables = map(arrow("pyarrow.parquet").read_table, self._files())
        return arrow().concat_tables(tables)

    def dataframe(self) -> Any:
        """Return the table as a Spark DataFrame, after a run on Spark.

        Raises:
            PipelineError: the pipeline did not run on Spark.
        """
        files = self._files()
        if self._sink.loader is None:
            raise PipelineError(
                "there is no DataFrame, because the pipeline did not run on Spark",
                remedy="use to_arrow(), or run the pipeline with --runner=spark",
            )
        return self._sink.loader(files)

    def _files(self) -> list[str]:
        if self._sink.files is None:
            raise PipelineError(
                "there is no table, because the pipeline has not finished",
                remedy="run the pipeline first",
            )
        return self._sink.files
