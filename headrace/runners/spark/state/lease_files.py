"""The directory with the leases of a checkpoint, on the file system of the checkpoint.

A file is created only if it does not exist: of two programs that create one at a time, one is refused. Object
stores can accept both, and keep the last one; there a program looks again after a while.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import attrs

DIRECTORY: Final = "owner"
"""The directory in a checkpoint."""

_EXCLUSIVE: Final = ("file", "hdfs", "viewfs", "abfs", "abfss", "gs")
"""Schemes of file systems on which only one program can create a file."""

_SETTLING: Final = 1.0


class LeaseFiles(Protocol):
    """A directory of small text files."""

    @property
    def settling(self) -> float:
        """Seconds after which a created file can be relied on."""

    def names(self) -> list[str]:
        """Return the names of the files; none if there is no directory."""

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""

    def create(self, name: str, text: str) -> bool:
        """Write a new file, and return True; return False if it exists."""

    def replace(self, name: str, text: str) -> None:
        """Write a file; one of the same name is replaced."""

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""


@attrs.frozen
class LocalLeaseFiles:
    """The directory on a file system that Python can open.

    Attributes:
        directory: the directory.
        settling: seconds after which a created file can be relied on.

    >>> files = LocalLeaseFiles(getfixture("tmp_path") / "owner")
    >>> files.create("1", "a"), files.create("1", "b"), files.read("1"), files.names()
    (True, False, 'a', ['1'])
    """

    directory: Path
    settling: float = 0.0

    def names(self) -> list[str]:
        """Return the names of the files."""
        try:
            return os.listdir(self.directory)
        except FileNotFoundError:
            return []

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""
        try:
            return (self.directory / name).read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def create(self, name: str, text: str) -> bool:
        """Write a new file, and return True; return False if it exists."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            with open(self.directory / name, "x", encoding="utf-8") as file:
                file.write(text)
        except FileExistsError:
            return False
        return True

    def replace(self, name: str, text: str) -> None:
        """Write a file; one of the same name is replaced at once, so that no part of it is ever read."""
        new = self.directory / f".{name}.new"
        new.write_text(text, encoding="utf-8")
        os.replace(new, self.directory / name)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        with suppress(FileNotFoundError):
            (self.directory / name).unlink()


class HadoopLeaseFiles:
    """The directory on a file system of Hadoop, through the JVM.

    Args:
        system: Hadoop's ``FileSystem``.
        directory: Hadoop's ``Path`` of the directory.
        io: the class ``IOUtils`` of Apache Commons.
    """

    def __init__(self, system: Any, directory: Any, io: Any) -> None:
        self._system = system
        self._directory = directory
        self._io = io
        scheme = system.getUri().getScheme()
        self._settling = 0.0 if scheme in _EXCLUSIVE else _SETTLING

    @property
    def settling(self) -> float:
        """Seconds after which a created file can be relied on."""
        return self._settling

    def names(self) -> list[str]:
        """Return the names of the files."""
        if not self._system.exists(self._directory):
            return []
        found = self._system.listStatus(self._directory)
        return [status.getPath().getName() for status in found]

    def read(self, name: str) -> str | None:
        """Return the text of a file; None if it does not exist."""
        path = self._path(name)
        try:
            stream = self._system.open(path)
        except Exception:
            if self._system.exists(path):
                raise
            return None
        try:
            return bytes(self._io.toByteArray(stream)).decode("utf-8", errors="replace")
        finally:
            stream.close()

    def create(self, name: str, text: str) -> bool:
        """Write a new file, and return True; return False if it exists."""
        path = self._path(name)
        try:
            self._write(path, text, overwrite=False)
        except Exception:
            if self._system.exists(path):
                return False
            raise
        return True

    def replace(self, name: str, text: str) -> None:
        """Write a file; one of the same name is replaced."""
        self._write(self._path(name), text, overwrite=True)

    def delete(self, name: str) -> None:
        """Delete a file if it exists."""
        self._system.delete(self._path(name), False)

    def _path(self, name: str) -> object:
        return self._directory.suffix(f"/{name}")

    def _write(self, path: Any, text: str, *, overwrite: bool) -> None:
        stream = self._system.create(path, overwrite)
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()
