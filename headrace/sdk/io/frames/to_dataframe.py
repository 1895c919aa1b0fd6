"""ToDataFrame: a collection as a table, complete after a batch run, growing in a streaming run.

Workers write parts of the collection as Parquet files, and the table is read from these files, so the data
does not pass through the process that runs the pipeline. In streaming mode each batch adds its files when
it is committed; a batch that is written again after a crash replaces its files.
"""

from __future__ import annotations

import atexit
import shutil
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.grouping.bundle import Bundle
from headrace.sdk.io.files.file_naming import FileNaming
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.frames.frame_loader import FrameLoader, LoadsFrames
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Commit
from headrace.sdk.sources.writing import Write


@attrs.frozen(eq=False)
class DataFrameSink(ParquetSink, LoadsFrames):
    """The Parquet files of a table, in a directory of its own.

    Args:
        temporary: whether the directory is deleted when the program ends.
        loader: see :class:`LoadsFrames`.
    """

    loader: FrameLoader = attrs.field(factory=FrameLoader, kw_only=True)
    temporary: bool = attrs.field(default=False, kw_only=True)

    @property
    def directory(self) -> Path:
        """The directory of the files."""
        return Path(self.naming.prefix).parent

    @property
    def files(self) -> list[str]:
        """The files of all committed batches.

        Raises:
            PipelineError: there are none, because no batch has been committed.
        """
        files = sorted(map(str, self.directory.glob(f"*{self.naming.suffix}")))
        if files or self.loader.written:
            return files or [self._empty_file()]
        raise PipelineError(
            "there is no table, because the pipeline has not written a batch",
            remedy="run the pipeline first",
        )

    def commit(self, commit: Commit) -> None:
        super().commit(commit)
        self.loader.written = True

    def close(self) -> None:
        super().close()
        self.loader.written = True

    def _empty_file(self) -> str:
        path = str(self.directory / "_empty.parquet")
        self.write_file(path, Bundle([]))
        return path


class ToDataFrame(PTransform[PCollection[Any], PDone]):
    """Stores a collection as a table for the program that runs the pipeline.

    In batch mode the table is complete after the run. In streaming mode it grows: :meth:`dataframe` and
    :meth:`to_arrow` return the rows of all batches that are committed at that time, each row once, also
    after a crash and a restart.

    Args:
        schema: a pyarrow schema, a class of records, or the types of the columns by name; by default the
            schema of the elements as far as it is known, and the rest is inferred from the elements, which
            are records with named fields.
        directory: where the table is stored; all machines of a cluster must have access to it. By default
            a temporary directory on this machine, which is deleted when the program ends. A streaming run
            with a checkpoint needs one, because the table must live as long as the checkpoint.
        diff_column: name of a column for +1 (an element) and -1 (its retraction); without it,
            retractions are refused.

    Raises:
        PipelineError: pyarrow is not installed.

    >>> table = ToDataFrame()
    >>> with Pipeline() as p:
    ...     _ = p | Create([hr.Row(airport="EWR", delay=7)]) | table
    >>> table.to_arrow().to_pylist()
    [{'airport': 'EWR', 'delay': 7}]
    """

    def __init__(
        self, schema: Any = None, *, directory: str | None = None, diff_column: str | None = None
    ) -> None:
        super().__init__()
        arrow()
        where = str(directory or mkdtemp(prefix="headrace-table-"))
        self._sink = DataFrameSink(
            FileNaming(f"{where}/part", ".parquet"),
            schema,
            diff_column=diff_column,
            temporary=directory is None,
        )
        if directory is None:
            atexit.register(shutil.rmtree, where, ignore_errors=True)
        Path(where).mkdir(parents=True, exist_ok=True)

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        self._sink = self._sink.with_element_type(pcoll.element_type)
        return Write(self._sink).expand(pcoll)

    def to_arrow(self) -> Any:
        """Return the table as a ``pyarrow.Table``, in memory, on any runner."""
        tables = map(arrow("pyarrow.parquet").read_table, self._sink.files)
        return arrow().concat_tables(tables, promote_options="permissive")

    def dataframe(self) -> Any:
        """Return the table as a Spark DataFrame, on Spark.

        Raises:
            UnsupportedError: the pipeline did not run on Spark.
        """
        remedy = "use to_arrow(), or run the pipeline with --runner=spark"
        return self._sink.loader.required(remedy)(self._sink.files)
