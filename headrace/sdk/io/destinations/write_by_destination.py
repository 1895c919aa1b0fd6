"""WriteToFiles: files by destination, window and pane, with the names of the written files as output.

Elements are grouped by destination and shard, and each pane of a group is one file. The name of a file
depends only on the pane, and a file is written under a hidden name and renamed. So a pane that is written
again after a failure replaces its file by the same file.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple
from uuid import uuid4
from zlib import crc32

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.io.destinations.destination_naming import (
    Naming,
    PrefixNaming,
    default_file_naming,
    destination_prefix_naming,
)
from headrace.sdk.io.destinations.record_sinks import RecordSink, RecordTextSink
from headrace.sdk.io.files.names_from_data import below
from headrace.sdk.io.files.opening import open_file
from headrace.sdk.io.files.url_path import AnyPath, any_path, rename
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.transforms import Map, ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.ignored_arguments import warn_of_ignored
from headrace.triggers.pane import PaneInfo
from headrace.triggers.refinement import AccumulationMode
from headrace.windowing.window import BoundedWindow


class FileResult(NamedTuple):
    """A file that was written (Beam's FileResult).

    Attributes:
        file_name: its name, relative to the path.
        shard_index: number of its shard.
        total_shards: number of shards.
        window: the window of its elements.
        pane: their pane.
        destination: their destination.

    >>> from headrace.io import fileio
    >>> fileio.FileResult("out-00000-of-00001", 0, 1, None, None, None).total_shards
    1
    """

    file_name: str
    shard_index: int
    total_shards: int
    window: Any
    pane: Any
    destination: Any


class WriteToFiles(PTransform[PCollection[Any], PCollection[FileResult]]):
    r"""Writes files by destination, and returns a :class:`FileResult` for each (Beam's WriteToFiles).

    Each destination, window, pane and shard has a file of its own, which appears when it is complete. Files
    that are there already are replaced if they have the same names, and else remain. A name that leaves the
    path, such as ``a/../../b``, is an ElementError. The collection needs windows or a trigger if it is
    unbounded, as for a GroupByKey.

    Args:
        path: the directory.
        file_naming: a function of (window, pane, shard_index, total_shards, compression, destination) that
            returns the name of a file, relative to the path; by default it begins with ``output``, or with
            the destination if there are several.
        destination: a function that returns the destination of an element; or one destination for all.
        temp_directory: a directory in the same file system for files that are not complete; by default the
            path, where their names begin with a dot.
        sink: a ``fileio.FileSink``, its class, or a function that returns one for a destination; by default a
            ``fileio.TextSink``.
        shards: number of files for each destination, window and pane; an element's encoding determines its
            file. By default it is 1.
        output_fn: has no effect: the outputs are always FileResults.
        max_writers_per_bundle: has no effect: a worker writes one file at a time.

    Raises:
        PipelineError: an argument is not valid, or the collection can contain retractions.

    >>> import pathlib, tempfile
    >>> from headrace.io import fileio
    >>> directory = pathlib.Path(tempfile.mkdtemp())
    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create(["1", "2", "3"])
    ...         | fileio.WriteToFiles(
    ...             directory, destination=lambda n: "odd" if int(n) % 2 else "even"
    ...         )
    ...         | Map(lambda result: print(result.file_name))
    ...     )
    odd-00000-of-00001
    even-00000-of-00001
    >>> (directory / "odd-00000-of-00001").read_text()
    '1\n3\n'
    """

    MAX_NUM_WRITERS_PER_BUNDLE: ClassVar[int] = 20

    def __init__(
        self,
        path: Any,
        file_naming: Naming | None = None,
        destination: Any = None,
        temp_directory: Any = None,
        sink: RecordSink | type[RecordSink] | Callable[[Any], RecordSink] | None = None,
        shards: int | None = None,
        output_fn: Callable[[Any], Any] | None = None,
        max_writers_per_bundle: int | None = MAX_NUM_WRITERS_PER_BUNDLE,
    ) -> None:
        super().__init__()
        warn_of_ignored(
            "WriteToFiles", output_fn=output_fn, max_writers_per_bundle=max_writers_per_bundle
        )
        if shards is not None and shards < 1:
            raise PipelineError(f"shards is {shards}", remedy="use 1 or more")
        self._shards = shards or 1
        self._destination = destination
        self._write = WriteFile(
            _text(path),
            self._naming(file_naming),
            _sinks(sink),
            self._shards,
            None if temp_directory is None else _text(temp_directory),
        )

    def _naming(self, given: Naming | None) -> Naming:
        several = callable(self._destination)
        if given is None:
            return destination_prefix_naming() if several else default_file_naming("output")
        if several and isinstance(given, PrefixNaming) and given.prefix is not None:
            raise PipelineError(
                "the file_naming gives the files of all destinations the same names",
                remedy="use fileio.destination_prefix_naming, or a function that uses the destination",
            )
        return given

    def expand(self, pcoll: PCollection[object]) -> PCollection[FileResult]:
        require_collection(pcoll)
        if pcoll.collection.changing:
            raise PipelineError(
                "the collection can contain retractions, but WriteToFiles does not accept them",
                remedy="use hr.io.WriteToCsv, WriteToJson or WriteToParquet with diff_column='diff'",
            )
        mode = pcoll.collection.windowing.accumulation_mode
        write = attrs.evolve(self._write, replaces=mode is AccumulationMode.ACCUMULATING)
        groups = (
            pcoll
            | "Destination" >> Map(_Keyed(self._destination, self._shards))
            | "Group" >> GroupByKey()
        )
        return groups | "Write" >> ParDo(write).with_output_types(FileResult)


@attrs.frozen
class _Keyed:
    """Returns an element with its destination and shard as the key."""

    destination: object
    shards: int

    def __call__(self, value: Any) -> tuple[tuple[Any, int], Any]:
        where = self.destination(value) if callable(self.destination) else self.destination
        shard = crc32(encode_value(value)) % self.shards if self.shards > 1 else 0
        return (where, shard), value


_WindowParam: Final = DoFn.WindowParam
_PaneInfoParam: Final = DoFn.PaneInfoParam


@attrs.frozen(eq=False)
class WriteFile(DoFn):
    """Writes each pane of a destination and a shard into a file.

    Args:
        path: the directory.
        naming: the names of the files.
        sinks: returns the sink of a destination.
        shards: number of shards.
        temporary: a directory for files that are not complete; None for the path.
        replaces: whether a later pane of a window may replace the file of an earlier one.
    """

    path: str
    naming: Naming
    sinks: Callable[[Any], RecordSink]
    shards: int
    temporary: str | None = None
    replaces: bool = False

    def process(
        self,
        element: tuple[tuple[object, int], Iterable[object]],
        window: BoundedWindow = _WindowParam,
        pane: PaneInfo = _PaneInfoParam,
    ) -> Iterator[FileResult]:
        (destination, shard), values = element
        name = self._name(window, pane, shard, destination)
        self._write(name, destination, values)
        yield FileResult(name, shard, self.shards, window, pane, destination)

    def _name(self, window: BoundedWindow, pane: PaneInfo, shard: int, destination: object) -> str:
        """Return the name of a file, after checking that no other file has it."""
        name = self.naming(window, pane, shard, self.shards, None, destination)
        if self.shards > 1:
            other = (shard + 1) % self.shards
            if name == self.naming(window, pane, other, self.shards, None, destination):
                self._refuse_name(name, "shards", "shard_index")
        if pane.index > 0 and not self.replaces:
            earlier = pane._replace(index=pane.index - 1, is_first=pane.index == 1)
            if name == self.naming(window, earlier, shard, self.shards, None, destination):
                self._refuse_name(name, "panes of a window", "pane.index")
        return name

    def _refuse_name(self, name: str, what: str, argument: str) -> None:
        raise PipelineError(
            f"the file_naming gives the files of several {what} the same name {name!r}",
            remedy=f"use {argument} in the name, or fileio.default_file_naming",
        )

    def _write(self, name: str, destination: Any, values: Iterable[Any]) -> None:
        target = below(self.path, name, destination)
        target.parent.mkdir(parents=True, exist_ok=True)
        staged = self._staged()
        sink = self.sinks(destination)
        metadata = sink.create_metadata(destination, str(target))
        try:
            with open_file(str(staged), "wb", metadata.compression_type, str(target)) as file:
                sink.open(file)
                for value in values:
                    sink.write(value)
                sink.flush()
            rename(staged, target)
        finally:
            with suppress(OSError):
                staged.unlink(missing_ok=True)

    def _staged(self) -> AnyPath:
        """Return the path of a file that is not complete; nothing of it comes from data."""
        if self.temporary is None:
            return any_path(self.path) / f".{uuid4().hex}"
        directory = any_path(self.temporary)
        directory.mkdir(parents=True, exist_ok=True)
        return directory / uuid4().hex


@attrs.frozen
class _Copies:
    """Returns a copy of a sink for each file."""

    sink: RecordSink

    def __call__(self, destination: Any) -> RecordSink:
        return copy.copy(self.sink)


@attrs.frozen
class _Instances:
    """Returns an instance of a class of sinks for each file."""

    kind: type[RecordSink]

    def __call__(self, destination: Any) -> RecordSink:
        return self.kind()


def _sinks(sink: Any) -> Callable[[Any], RecordSink]:
    """Return the function from a destination to its sink."""
    if sink is None:
        return _Instances(RecordTextSink)
    if isinstance(sink, RecordSink):
        return _Copies(sink)
    if isinstance(sink, type):
        if not issubclass(sink, RecordSink):
            _refuse_sink(sink)
        return _Instances(sink)
    if not callable(sink):
        _refuse_sink(sink)
    return sink  # type: ignore[no-any-return]


def _refuse_sink(sink: object) -> None:
    raise PipelineError(
        f"WriteToFiles needs a fileio.FileSink, not {shorten(sink)}",
        remedy="pass a fileio.FileSink, its class, or a function from the destination to one",
    )


def _text(path: object) -> str:
    """Return a path, which an option may give, as a string."""
    given = path.get() if hasattr(path, "get") else path
    if isinstance(given, (str, os.PathLike)):
        return os.fspath(given)
    raise PipelineError(
        f"WriteToFiles needs a directory, not {shorten(given)}", remedy="pass a path or a URL"
    )
