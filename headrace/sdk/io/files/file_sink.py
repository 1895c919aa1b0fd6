"""File sinks: parts are staged on the workers, and a commit publishes them under their names.

A file is written in a hidden directory next to its destination and renamed when it is complete, so
readers never see an incomplete file. Names depend only on batch, shard and possibly window, so a batch
that is written again after a crash publishes the same files and deletes what the interrupted commit left.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, ClassVar
from uuid import uuid4
from zlib import crc32

import attrs

from headrace.errors import FileError, PipelineError
from headrace.grouping.bundle import IN_GLOBAL_WINDOW, Bundle
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.io.files.compression import CompressionTypes, compression_of
from headrace.sdk.io.files.file_naming import FileNaming, batch_label, window_label
from headrace.sdk.io.files.file_systems import file_system_of
from headrace.sdk.io.files.joined_pieces import Piece, Written, joined, small_bytes
from headrace.sdk.io.files.ledger import Ledger
from headrace.sdk.io.files.names_from_data import OWN_SUFFIX, below, short_name
from headrace.sdk.io.files.url_path import AnyPath, any_path, delete_tree, rename, split_path
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import Commit, PartSink, SinkBatch, SinkPart
from headrace.sdk.typehints.display_data import HasDisplayData
from headrace.windowing.column import materialise, uniform


@attrs.frozen(eq=False)
class FileSink(PartSink, HasDisplayData):
    """Writes files; a format defines :meth:`write_file` and :meth:`assemble`.

    Args:
        naming: the names of the files.
        num_shards: number of files for each batch; 0 for one file per large part, and small parts joined.
        compression_type: one of ``CompressionTypes``; by default it depends on the suffix.
        diff_column: name of a column for +1 (an element) and -1 (its retraction); without it,
            retractions are refused.
        windowed_writes: whether each window has files of its own; otherwise the files of a batch contain
            elements of all windows, each element once.
    """

    retraction_remedy: ClassVar[str] = (
        "name a column for +1 and -1 where it is written: diff_column='diff'"
    )

    deliveries: ClassVar[tuple[Delivery, ...]] = (Delivery.EXACTLY_ONCE,)
    delivery: ClassVar[Delivery] = Delivery.EXACTLY_ONCE

    naming: FileNaming
    num_shards: int = attrs.field(default=0, kw_only=True)
    compression: str = attrs.field(
        default="auto", kw_only=True, alias="compression_type", converter=compression_of
    )
    diff_column: str | None = attrs.field(default=None, kw_only=True)
    windowed_writes: bool = attrs.field(default=False, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Check that the number of shards fits the template."""
        if self.num_shards < 0 or (self.num_shards != 1 and not self.naming.template):
            raise PipelineError(
                f"num_shards={self.num_shards} does not fit the template {self.naming.template!r}",
                remedy="use 0 or more shards; with an empty template, use 1",
            )

    @property
    def accepts_retractions(self) -> bool:  # type: ignore[override]
        """Whether the files have a column for diffs."""
        return self.diff_column is not None

    def display_data(self) -> dict[str, Any]:
        """Return the names of the files and their compression."""
        compression = self.compression
        if compression == "auto":
            compression = CompressionTypes.detect_compression_type(self.naming.end)
        return {"file_pattern": self.naming.pattern, "compression": compression}

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The beginning and the end of the paths."""
        return f"{self.naming.prefix}*{self.naming.suffix}"

    def write_part(self, part: SinkPart) -> list[tuple[Any, ...]]:
        """Stage the files of a part; return their pieces, as plain tuples."""
        pieces: list[tuple[object, ...]] = []
        directory = self._staging(part) / f"{part.number:05}-{uuid4().hex}"
        for (window, shard), bundle in self._by_window_and_shard(part.bundle):
            directory.mkdir(parents=True, exist_ok=True)
            path = str(directory / f"{len(pieces):05}")
            written = self.write_file(path, bundle)
            size = file_system_of(path).metadata(path).size_in_bytes
            pieces.append(tuple(Piece(path, window, shard, *written, size=size)))
        return pieces

    def commit(self, commit: Commit) -> None:
        """Publish the files of a batch, and delete those that they replace."""
        files = self._files(commit)
        directory = self.hidden.parent
        ledger = Ledger(self.hidden)
        stale = ledger.stale(commit, files)
        ledger.begin(commit, files, stale)
        for name, pieces in files.items():
            self._publish(directory / name, pieces, self._staging(commit))
        for name in stale:
            below(str(directory), name, commit.step).unlink(missing_ok=True)
        ledger.end(commit, files)
        delete_tree(self._staging(commit))

    def close(self) -> None:
        """Delete staged files of parts that were never committed."""
        delete_tree(self.hidden / "staged")

    @abstractmethod
    def write_file(self, path: str, bundle: Bundle) -> Written:
        """Write elements to a file; return what is needed to join it with others.

        Args:
            path: the file.
            bundle: its elements. If ``num_shards`` is 0, the file must be complete.
        """

    @abstractmethod
    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        """Write a complete file from the elements of its pieces; there may be none."""

    @property
    def hidden(self) -> AnyPath:
        """The directory next to the files that contains staged files and the ledger."""
        directory, name = split_path(self.naming.prefix)
        return any_path(directory) / f".{name}{self.naming.suffix}{OWN_SUFFIX}"

    def _staging(self, batch: SinkBatch | Commit) -> AnyPath:
        return self.hidden / "staged" / short_name(batch.step, batch.run, str(batch.id))

    def _by_window_and_shard(self, bundle: Bundle) -> Iterator[tuple[tuple[str, int], Bundle]]:
        """Group elements by window and shard."""
        if not len(bundle):
            return
        one_window = not self.windowed_writes or is_global(bundle)
        if self.num_shards <= 1 and one_window:
            yield ("", 0), bundle
            return
        rows: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for row in bundle.rows():
            shard = self.shard_of(row.value)
            for label in [""] if one_window else map(window_label, row.windows):
                rows[label, shard].append(row)
        for group in sorted(rows):
            yield group, Bundle.of(rows[group])

    def shard_of(self, value: Any) -> int:
        """Return an element's shard number, which is the same on every runner.

        >>> hr.io.TextSink(FileNaming("out"), num_shards=3).shard_of("quay")
        1
        """
        return crc32(encode_value(value)) % self.num_shards if self.num_shards > 1 else 0

    def _files(self, commit: Commit) -> dict[str, list[Piece]]:
        """Return the pieces of a batch by file name."""
        by_window: dict[str, list[Piece]] = defaultdict(list)
        for piece in (Piece(*piece) for part in commit.written for piece in part):
            by_window[piece.window].append(piece)
        if not by_window and not commit.streaming:
            by_window[""] = []
        batch = batch_label(commit.streaming, commit.run, commit.id)
        small = small_bytes(chain(*by_window.values()))
        files = {}
        for window, pieces in by_window.items():
            shards = self._shards(pieces, commit.streaming, small)
            number = self.num_shards or len(shards)
            for shard, own in shards.items():
                path = self.naming.path(window, batch, shard, number)
                files[os.path.basename(path)] = own
        return files

    def _shards(self, pieces: list[Piece], streaming: bool, small: int) -> dict[int, list[Piece]]:
        """Return pieces by shard: in batch mode all shards, in streaming mode those with elements."""
        if not self.num_shards:
            return dict(enumerate(joined(pieces, small))) or {0: []}
        shards: dict[int, list[Piece]] = {}
        for shard in range(self.num_shards):
            own = [piece for piece in pieces if piece.shard == shard]
            if own or not streaming:
                shards[shard] = own
        return shards

    def _publish(self, target: AnyPath, pieces: list[Piece], staging: AnyPath) -> None:
        """Create a file from its pieces, unless an earlier attempt of this commit did."""
        missing = [piece.path for piece in pieces if not any_path(piece.path).exists()]
        if missing and not target.exists():
            raise FileError(
                f"the staged data of {target.name} is missing",
                where=missing[0],
                remedy="do not delete the hidden directories next to the files while a pipeline runs",
            )
        if missing:
            return
        if self.num_shards or len(pieces) != 1:
            staging.mkdir(parents=True, exist_ok=True)
            whole = str(staging / target.name)
            self.assemble(whole, pieces)
        else:
            whole = pieces[0].path
        rename(any_path(whole), target)


def is_global(bundle: Bundle) -> bool:
    """Return whether all elements of a bundle are known to be in the global window.

    >>> is_global(Bundle(["a"]))
    True
    """
    return uniform(bundle.windows) and next(iter(bundle.windows)) == IN_GLOBAL_WINDOW


def diffs_of(bundle: Bundle) -> list[int]:
    """Return the diffs of a bundle's elements.

    >>> diffs_of(Bundle(["a", "b"]))
    [1, 1]
    """
    return materialise(bundle.diffs, len(bundle))
