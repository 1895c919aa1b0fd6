"""Files with the values of large panes of side inputs, which key groups refer to instead of keeping copies.

The sender of a pane writes its values once; the shuffle and the state have only the name of the file. A name
is the checksum of the content. So a task that runs again writes the same file, key groups share it, and a
retraction of the same values has the same name. A worker process reads a file once, for all key groups.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable
from hashlib import sha256
from typing import Any, Final, NamedTuple
from uuid import uuid4

import attrs

from headrace.errors import FileError
from headrace.sdk.coders.stored.data import dumps_by_name, loads

CACHE_BYTES: Final = 1 << 28
"""Maximum size of the files, in bytes, whose values a process keeps in memory; the newest is always kept."""

_cache: Final[OrderedDict[str, tuple[int, list[Any]]]] = OrderedDict()


class ValuesFile(NamedTuple):
    """A file with values.

    Attributes:
        name: the name of the file: the checksum of its content.
        length: number of values.
        size: size in bytes.
    """

    name: str
    length: int
    size: int


@attrs.frozen
class SideInputFiles:
    """The files of a run.

    Attributes:
        directory: their directory, which all workers can read and write.
        limit: size in bytes above which values are written to a file.
    """

    directory: str
    limit: int

    def stored(self, values: Iterable[object]) -> ValuesFile | None:
        """Write values to a file; return None if they are small, or need the pickler of the runner."""
        values = list(values)
        data = dumps_by_name(values)
        return self.write(data, len(values)) if data and len(data) > self.limit else None

    def write(self, data: bytes, length: int) -> ValuesFile:
        """Write pickled values to a file, unless it exists; the file is complete when it has its name."""
        file = ValuesFile(sha256(data).hexdigest(), length, len(data))
        path = self.path(file)
        if not os.path.exists(path):
            os.makedirs(self.directory, exist_ok=True)
            unfinished = os.path.join(self.directory, f".{uuid4().hex}")
            with open(unfinished, "wb") as stream:
                stream.write(data)
            os.replace(unfinished, path)
        return file

    def values(self, file: ValuesFile) -> list[Any]:
        """Return the values of a file; the list must not be changed.

        Raises:
            FileError: the file is missing or damaged.
        """
        path = self.path(file)
        if path not in _cache:
            _cache[path] = file.size, self._read(path, file)
        _cache.move_to_end(path)
        _forget_above(CACHE_BYTES)
        return _cache[path][1]

    def path(self, file: ValuesFile) -> str:
        """Return the path of a file."""
        return os.path.join(self.directory, file.name)

    def _read(self, path: str, file: ValuesFile) -> list[object]:
        try:
            with open(path, "rb") as stream:
                data = stream.read()
        except OSError as error:
            raise _unreadable(path, f"cannot be read: {error.strerror}") from error
        if sha256(data).hexdigest() != file.name:
            raise _unreadable(path, "is damaged: its checksum differs from its name")
        values: list[Any] = loads(data)
        return values


def _unreadable(path: str, problem: str) -> FileError:
    return FileError(
        f"the file {path} with values of a side input {problem}",
        remedy="let all workers read this directory, and do not change it while the checkpoint is in use; "
        "restore the file from a backup, or start again, with a new checkpoint if there is one",
    )


def _forget_above(limit: int) -> None:
    total = sum(size for size, _ in _cache.values())
    while total > limit and len(_cache) > 1:
        _, (size, _) = _cache.popitem(last=False)
        total -= size
