"""File systems: the local one, and those that fsspec knows by the scheme of a URL.

Each has the same few operations, over paths as users write them. fsspec is imported when a URL needs it.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from glob import has_magic
from typing import IO, Any, Final, Protocol

import attrs

from headrace.errors import PipelineError, require_extra

_URI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def is_remote(pattern: str) -> bool:
    """Return whether a pattern is a URL or another URI, and not a local path.

    >>> is_remote("s3a://bucket/logs"), is_remote("logs/*.txt")
    (True, False)
    """
    return _URI.match(pattern) is not None


@attrs.frozen(repr=False)
class FileMetadata:
    """A file that a pattern matches (Beam's FileMetadata).

    Args:
        path: its path or URL.
        size_in_bytes: its size.
        last_updated_in_seconds: when it was last changed, in seconds since 1970; 0 if unknown.

    >>> from headrace.io.filesystem import FileMetadata
    >>> FileMetadata("a.txt", 3)
    FileMetadata('a.txt', 3)
    """

    path: str
    size_in_bytes: int
    last_updated_in_seconds: float = 0.0

    def __repr__(self) -> str:
        """Return the arguments."""
        time = f", {self.last_updated_in_seconds}" if self.last_updated_in_seconds else ""
        return f"FileMetadata({self.path!r}, {self.size_in_bytes}{time})"


class FileSystem(Protocol):
    """The operations of a file system. Paths are complete paths or URLs, as users write them."""

    def join(self, path: str, *parts: str) -> str:
        """Return a path with more parts."""

    def split(self, path: str) -> tuple[str, str]:
        """Return the directory and the last part of a path."""

    def open(self, path: str, mode: str) -> IO[bytes]:
        """Open a file to read ``rb`` or write ``wb`` its bytes."""

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory."""

    def metadata(self, path: str) -> FileMetadata:
        """Return the metadata of a file or directory."""

    def checksum(self, path: str) -> str:
        """Return something that changes with the content of a file."""

    def walk(self, directory: str, depth: int | None) -> Iterator[FileMetadata]:
        """Return the files below a directory, at most some levels deep; none if it does not exist."""

    def mkdirs(self, path: str, exist_ok: bool = False) -> None:
        """Create a directory and its parents."""

    def copy(self, source: str, target: str) -> None:
        """Copy a file or a tree; it replaces the target."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory."""

    def delete(self, path: str) -> None:
        """Delete a file or a tree."""


@attrs.frozen
class LocalFileSystem:
    """Files on the disks of this machine.

    >>> LocalFileSystem().join("logs", "a.txt")
    'logs/a.txt'
    """

    def join(self, path: str, *parts: str) -> str:
        """Return a path with more parts."""
        return os.path.join(path, *parts)

    def split(self, path: str) -> tuple[str, str]:
        """Return the directory and the last part of a path."""
        return os.path.split(os.path.abspath(path))

    def open(self, path: str, mode: str) -> IO[bytes]:
        """Open a file to read ``rb`` or write ``wb`` its bytes."""
        return open(path, mode)

    def exists(self, path: str) -> bool:
        """Return whether there is a file or directory."""
        return os.path.exists(path)

    def metadata(self, path: str) -> FileMetadata:
        """Return the metadata of a file or directory."""
        found = os.stat(path)
        return FileMetadata(path, found.st_size, found.st_mtime)

    def checksum(self, path: str) -> str:
        """Return something that changes with the content of a file."""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "md5").hexdigest()

    def walk(self, directory: str, depth: int | None) -> Iterator[FileMetadata]:
        """Return the files below a directory, at most some levels deep; none if it does not exist."""
        for parent, directories, names in os.walk(directory):
            below = os.path.relpath(parent, directory)
            level = 1 if below == os.curdir else below.count(os.sep) + 2
            if level == depth:
                directories.clear()
            for name in names:
                try:
                    yield self.metadata(os.path.join(parent, name))
                except FileNotFoundError:
                    continue  # deleted since it was listed

    def mkdirs(self, path: str, exist_ok: bool = False) -> None:
        """Create a directory and its parents."""
        os.makedirs(path, exist_ok=exist_ok)

    def copy(self, source: str, target: str) -> None:
        """Copy a file or a tree; it replaces the target."""
        if not os.path.exists(source):
            raise FileNotFoundError(f"there is no file {source!r}")
        if os.path.exists(target):
            self.delete(target)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory."""
        os.rename(source, target)

    def delete(self, path: str) -> None:
        """Delete a file or a tree."""
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.remove(path)


@attrs.frozen
class UrlFileSystem:
    """The files of an fsspec file system.

    Args:
        files: the fsspec file system.
        root: what stands in URLs before the paths of fsspec, such as ``s3://``.
    """

    files: Any
    root: str

    def join(self, path: str, *parts: str) -> str:
        base = path if path.endswith("://") else f"{path.rstrip('/')}/"
        return base + "/".join(part.strip("/") for part in parts)

    def split(self, path: str) -> tuple[str, str]:
        directory, _, name = path.rpartition("/")
        return (f"{directory}/", name) if directory.endswith(("/", ":")) else (directory, name)

    def open(self, path: str, mode: str) -> IO[bytes]:
        return self.files.open(path, mode)  # type: ignore[no-any-return]

    def exists(self, path: str) -> bool:
        return bool(self._fresh().exists(path))

    def metadata(self, path: str) -> FileMetadata:
        return self._metadata(self._fresh().info(path))

    def checksum(self, path: str) -> str:
        return str(self._fresh().checksum(path))

    def walk(self, directory: str, depth: int | None) -> Iterator[FileMetadata]:
        found = self._fresh().find(directory, maxdepth=depth, detail=True)
        return map(self._metadata, found.values())

    def is_directory(self, path: str) -> bool:
        """Return whether there is a directory."""
        return bool(self._fresh().isdir(path))

    def glob(self, pattern: str) -> list[FileMetadata]:
        """Return the files of a glob, or of a directory as far as they are directly inside it."""
        if self.is_directory(pattern):
            found = self.files.ls(pattern, detail=True)
        else:
            found = self.files.glob(pattern, detail=True).values()
        return [self._metadata(info) for info in found if info["type"] == "file"]

    def mkdirs(self, path: str, exist_ok: bool = False) -> None:
        self.files.makedirs(path, exist_ok=exist_ok)

    def copy(self, source: str, target: str) -> None:
        if not self.files.exists(source):
            raise FileNotFoundError(f"there is no file {source!r}")
        if self.files.exists(target):
            self.delete(target)
        if _is_pattern(source):
            self.files.cp_file(source, target)
        else:
            self.files.copy(source, target, recursive=self.is_directory(source))

    def rename(self, source: str, target: str) -> None:
        if _is_pattern(source):
            self.files.cp_file(source, target)
            self.files.rm_file(source)
        else:
            self.files.mv(source, target, recursive=self.is_directory(source))

    def delete(self, path: str) -> None:
        if not _is_pattern(path):
            self.files.rm(path, recursive=self.is_directory(path))
            return
        for file in self._fresh().find(path) or [path]:
            self.files.rm_file(file)

    def _fresh(self) -> Any:
        """Return the file system without the listings that it has kept: others may have added files."""
        self.files.invalidate_cache()
        return self.files

    def _metadata(self, info: dict[str, Any]) -> FileMetadata:
        return FileMetadata(self.root + info["name"], info.get("size") or 0, _time_of(info))


def _is_pattern(path: str) -> bool:
    """Return whether fsspec takes a path for a pattern, and with it the files that match it.

    A file with such a name is moved and deleted by fsspec's functions for one file.
    """
    return has_magic(path)


_TIMES: Final = ("mtime", "LastModified", "last_modified", "updated", "modified", "created")
"""Names under which fsspec's file systems give the time of the last change."""


def _time_of(info: dict[str, Any]) -> float:
    """Return the time of a file in seconds since 1970; 0 if it is unknown."""
    time = next((info[name] for name in _TIMES if info.get(name)), 0.0)
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    if isinstance(time, datetime):
        time = (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    return float(time)


def file_system_of(path: str) -> FileSystem:
    """Return the file system of a path or URL.

    Raises:
        PipelineError: fsspec, or the library that it needs for the scheme, is not installed.

    >>> file_system_of("logs/a.txt")
    LocalFileSystem()
    >>> file_system_of("memory://logs/a.txt").root
    'memory:/'
    """
    if not is_remote(path):
        return LocalFileSystem()
    scheme = path.partition(":")[0]
    core = require_extra("fsspec.core", "fsspec", f"the URL {path!r} needs fsspec")
    try:
        files, own = core.url_to_fs(path)
    except ImportError as error:
        raise PipelineError(
            f"a library for the scheme {scheme!r} of the URL {path!r} is not installed",
            remedy=str(error),
        ) from error
    except ValueError as error:
        raise PipelineError(
            f"no file system is known for the URL {path!r}: {error}",
            remedy="correct the scheme; fsspec.available_protocols() lists those that fsspec knows",
        ) from error
    return UrlFileSystem(files, path.rstrip("/").removesuffix(own.rstrip("/")))
