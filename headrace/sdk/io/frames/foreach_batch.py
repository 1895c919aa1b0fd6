"""ForeachBatch: a function that gets each batch as a Spark DataFrame.

Workers write the elements as Parquet files, so they do not pass through the process that runs the pipeline.
The function gets a DataFrame of these files, which are deleted when it returns.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from tempfile import gettempdir
from typing import Any, Self
from uuid import uuid4

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.files.file_naming import FileNaming
from headrace.sdk.io.files.names_from_data import short_name
from headrace.sdk.io.formats.parquet.arrow import arrow
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.frames.frame_loader import FrameLoader, LoadsFrames
from headrace.sdk.pipelines.pvalue import PCollection, PDone
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.sink import Commit, PartSink, SinkPart
from headrace.sdk.sources.writing import Write
from headrace.sdk.typehints.labels import callable_label

_REMEDY = (
    "run it with --runner=spark; on the local runner, write to a sink such as hr.io.WriteToParquet"
)


@attrs.frozen(eq=False)
class ForeachBatchSink(PartSink, LoadsFrames):
    """Calls a function on a DataFrame for each batch.

    Args:
        function: takes the DataFrame and the number of the batch; it is not pickled.
        parquet: writes the elements of a part.
        loader: see :class:`LoadsFrames`.
    """

    function: Callable[[Any, int], object]
    parquet: ParquetSink
    loader: FrameLoader = attrs.field(factory=FrameLoader, kw_only=True)

    @property
    def accepts_retractions(self) -> bool:  # type: ignore[override]
        """Whether the DataFrame has a column for diffs."""
        return self.parquet.accepts_retractions

    def with_element_type(self, kind: object) -> Self:
        return attrs.evolve(self, parquet=self.parquet.with_element_type(kind))

    def open(self) -> None:
        self.loader.required(_REMEDY)

    def write_part(self, part: SinkPart) -> str:
        directory = self._directory(part)
        os.makedirs(directory, exist_ok=True)
        path = f"{directory}/{uuid4().hex}.parquet"
        self.parquet.write_file(path, part.bundle)
        return path

    def commit(self, commit: Commit) -> None:
        if not commit.written:
            return
        frame = self.loader.required(_REMEDY)(commit.written)
        self.function(frame, commit.id)
        shutil.rmtree(self._directory(commit), ignore_errors=True)

    def _directory(self, batch: SinkPart | Commit) -> str:
        """Return the directory of a batch; attempts that were not committed leave files in it."""
        name = short_name(batch.step, batch.run, str(batch.id))
        return f"{self.parquet.naming.prefix}/{name}"

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle without the function, which only the process that runs the pipeline calls."""
        return _writing_only, (type(self), self.parquet)


def _writing_only(cls: type[ForeachBatchSink], parquet: ParquetSink) -> ForeachBatchSink:
    return cls(_refuse_call, parquet)


def _refuse_call(frame: object, batch: int) -> None:
    raise AssertionError("workers do not call the function")


class ForeachBatch(PTransform[PCollection[Any], PDone]):
    """Calls a function on each batch of a collection, as a Spark DataFrame; runs on Spark only.

    This is Structured Streaming's ``foreachBatch``. In streaming mode the function is called once for each
    micro-batch that has elements, in order. If a run fails after the call and before the batch is
    committed, the resumed run calls the function again with the same number and the same rows, perhaps in
    another order. So write each number once: into a directory that is named after it and overwritten, or
    with a MERGE. In batch mode there is one batch, with number 0.

    Args:
        function: takes the DataFrame and the number of the batch. It runs in the process that runs the
            pipeline.
        schema: a pyarrow schema, a class of records, or the types of the columns by name; by default the
            schema of the elements as far as it is known, and the rest is inferred from the elements of each
            batch, which are records with named fields.
        directory: where the rows are stored until the function returns; all machines of a cluster must
            have access to it. By default a temporary directory on this machine.
        diff_column: name of a column for +1 (an element) and -1 (its retraction); without it,
            retractions are refused.

    Raises:
        PipelineError: pyarrow is not installed, or ``function`` is not callable.
        UnsupportedError: the runner has no DataFrames.

    >>> def save(batch, number):
    ...     batch.write.mode("overwrite").parquet(f"table/batch={number}")
    >>> p = Pipeline()  # to run it, use runner="spark"
    >>> _ = p | Create([hr.Row(airport="EWR", delay=7)]) | hr.io.ForeachBatch(save)
    """

    def __init__(
        self,
        function: Callable[[Any, int], object],
        schema: Any = None,
        *,
        directory: str | None = None,
        diff_column: str | None = None,
    ) -> None:
        super().__init__()
        arrow()
        if not callable(function):
            raise PipelineError(
                f"ForeachBatch needs a function, not {function!r}",
                remedy="pass a function of a DataFrame and the number of its batch",
            )
        self._function = function
        where = directory or f"{gettempdir()}/headrace-batches-{uuid4().hex}"
        parquet = ParquetSink(FileNaming(where), schema, diff_column=diff_column)
        self._sink = ForeachBatchSink(function, parquet)

    def default_label(self) -> str:
        return f"ForeachBatch({callable_label(self._function)})"

    def expand(self, pcoll: PCollection[object]) -> PDone:
        return Write(self._sink).expand(pcoll)
