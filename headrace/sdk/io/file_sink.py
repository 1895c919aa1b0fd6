"""File sinks: parts are staged where they are, and a commit puts them up under their names.

A file is written in a hidden directory beside its place and renamed when it is whole, so nobody sees half
of it. Names are made of window, batch and shard alone. So a batch that is written again after a crash
puts up the same files again, and what its interrupted commit left besides is taken away.
"""

from __future__ import annotations

import os
import shutil
from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4
from zlib import crc32

import attrs

from headrace.errors import FileError, PipelineError
from headrace.sdk.encoding import encode_value
from headrace.sdk.io.file_naming import FileNaming, batch_label, plain, window_label
from headrace.sdk.io.files import compression_of
from headrace.sdk.io.ledger import Ledger
from headrace.sdk.io.sink import Commit, PartSink, SinkBatch, SinkPart
from headrace.triggers.bundle import IN_GLOBAL_WINDOW, Bundle
from headrace.windowing.column import materialise, uniform


class Piece(NamedTuple):
    """What a part has for one file.

    Attributes:
        path: where it is staged.
        window: label of the window.
        shard: number of the shard; 0 if the number of shards is not fixed.
        head: what the file begins with, if that is not in the piece.

    >>> Piece("staged/0", "", 0).head
    ''
    """

    path: str
    window: str
    shard: int
    head: str = ""


@attrs.frozen(eq=False)
class FileSink(PartSink):
    """Writes files; a format defines the last two methods.

    Args:
        naming: how the files are called.
        num_shards: how many files there are for each window and batch; 0 for as many as there are parts.
        compression_type: gzip, bzip2, lzma, uncompressed, or auto, which goes by the suffix.
        diff_column: name for a column that holds +1 for an element and -1 for its retraction; without
            it, retractions are refused.
    """

    naming: FileNaming
    num_shards: int = attrs.field(default=0, kw_only=True)
    compression: str = attrs.field(
        default="auto", kw_only=True, alias="compression_type", converter=compression_of
    )
    diff_column: str | None = attrs.field(default=None, kw_only=True)

    def __attrs_post_init__(self) -> None:
        """Refuse numbers of shards that make no sense."""
        if self.num_shards < 0 or (self.num_shards != 1 and not self.naming.template):
            raise PipelineError(
                f"{self.num_shards} shards cannot have the template {self.naming.template!r}",
                remedy="use a num_shards of 0 or more; without a template, there is one file: use 1",
            )

    @property
    def accepts_retractions(self) -> bool:  # type: ignore[override]
        """Whether there is a column for the diffs."""
        return self.diff_column is not None

    def write_part(self, part: SinkPart) -> list[tuple[Any, ...]]:
        """Stage the files of a part; return their pieces, as plain tuples."""
        pieces: list[tuple[Any, ...]] = []
        place = self._staging(part) / f"{part.number:05}-{uuid4().hex}"
        for (window, shard), bundle in self._divided(part.bundle):
            place.mkdir(parents=True, exist_ok=True)
            path = str(place / f"{len(pieces):05}")
            head = self.write_file(path, bundle)
            pieces.append(tuple(Piece(path, window, shard, head)))
        return pieces

    def commit(self, commit: Commit) -> None:
        """Put up the files of a batch, and take away what it replaces."""
        files = self._files(commit)
        home = self.hidden.parent
        ledger = Ledger(self.hidden)
        stale = ledger.stale(commit, files)
        ledger.begin(commit, files, stale)
        for name, pieces in files.items():
            self._put_up(home / name, pieces, self._staging(commit))
        for name in stale:
            (home / name).unlink(missing_ok=True)
        ledger.end(commit, files)
        shutil.rmtree(self._staging(commit), ignore_errors=True)

    def close(self) -> None:
        """Take away what parts that did not count have left."""
        shutil.rmtree(self.hidden / "staged", ignore_errors=True)

    @abstractmethod
    def write_file(self, path: str, bundle: Bundle) -> str:
        """Write elements to a file, and return what it begins with, if the file is but a piece.

        Args:
            path: the file.
            bundle: its elements. If ``num_shards`` is 0 they are all, and the file is made whole.
        """

    @abstractmethod
    def assemble(self, path: str, pieces: Sequence[Piece]) -> None:
        """Make a whole file of pieces, of which there may be none."""

    @property
    def hidden(self) -> Path:
        """The directory beside the files in which they are staged, and in which the ledger lies."""
        home, name = os.path.split(self.naming.prefix)
        return Path(home, f".{name}{self.naming.suffix}.headrace")

    def _staging(self, batch: SinkBatch | Commit) -> Path:
        name = "-".join(map(plain, (batch.step, batch.run, str(batch.id))))
        return self.hidden / "staged" / name

    def _divided(self, bundle: Bundle) -> Iterator[tuple[tuple[str, int], Bundle]]:
        """Divide elements by window and shard."""
        if not len(bundle):
            return
        if self.num_shards <= 1 and uniform(bundle.windows) and in_global_window(bundle):
            yield ("", 0), bundle
            return
        rows: dict[tuple[str, int], list[Any]] = defaultdict(list)
        for row in bundle.rows():
            shard = self.shard_of(row.value)
            for window in row.windows:
                rows[window_label(window), shard].append(row)
        for place in sorted(rows):
            yield place, Bundle.of(rows[place])

    def shard_of(self, value: Any) -> int:
        """Return the number of the shard that an element goes to, the same on every runner.

        >>> hr.io.TextSink(FileNaming("out"), num_shards=3).shard_of("quay")
        1
        """
        return crc32(encode_value(value)) % self.num_shards if self.num_shards > 1 else 0

    def _files(self, commit: Commit) -> dict[str, list[Piece]]:
        """Return the pieces of a batch by the names of the files that they make."""
        by_window: dict[str, list[Piece]] = defaultdict(list)
        for piece in (Piece(*piece) for part in commit.written for piece in part):
            by_window[piece.window].append(piece)
        if not by_window and not commit.streaming:
            by_window[""] = []
        batch = batch_label(commit.streaming, commit.run, commit.id)
        files = {}
        for window, pieces in by_window.items():
            shards = self._shards(pieces, commit.streaming)
            number = self.num_shards or len(shards)
            for shard, own in shards.items():
                path = self.naming.path(window, batch, shard, number)
                files[os.path.basename(path)] = own
        return files

    def _shards(self, pieces: list[Piece], streaming: bool) -> dict[int, list[Piece]]:
        """Return pieces by shard: in batch mode all shards exist, in streaming those with elements."""
        if not self.num_shards:
            return {n: [piece] for n, piece in enumerate(pieces)} or {0: []}
        shards: dict[int, list[Piece]] = {}
        for shard in range(self.num_shards):
            own = [piece for piece in pieces if piece.shard == shard]
            if own or not streaming:
                shards[shard] = own
        return shards

    def _put_up(self, target: Path, pieces: list[Piece], staging: Path) -> None:
        """Make a file of its pieces, unless an earlier try of this commit has done it."""
        missing = [piece.path for piece in pieces if not os.path.exists(piece.path)]
        if missing and not target.exists():
            raise FileError(
                f"what was staged for {target.name} is gone",
                where=missing[0],
                remedy="leave the hidden directories beside the files alone while a pipeline runs",
            )
        if missing:
            return
        if self.num_shards or not pieces:
            staging.mkdir(parents=True, exist_ok=True)
            whole = str(staging / target.name)
            self.assemble(whole, pieces)
        else:
            whole = pieces[0].path
        os.replace(whole, target)


def in_global_window(bundle: Bundle) -> bool:
    """Tell whether the first element of a bundle is in the global window.

    >>> in_global_window(Bundle(["a"]))
    True
    """
    return next(iter(bundle.windows)) == IN_GLOBAL_WINDOW


def diffs_of(bundle: Bundle) -> list[int]:
    """Return the diffs of a bundle's elements.

    >>> diffs_of(Bundle(["a", "b"]))
    [1, 1]
    """
    return materialise(bundle.diffs, len(bundle))
