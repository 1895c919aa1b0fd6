"""Paths of sinks: a ``pathlib.Path``, or for URLs a class with the methods that sinks use."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

import attrs

from headrace.sdk.io.files.file_systems import FileSystem, file_system_of, is_remote
from headrace.sdk.io.files.opening import open_file


@attrs.frozen
class UrlPath:
    """The URL of a file or directory.

    >>> path = UrlPath("memory://ledgers") / "a.txt"
    >>> path.write_text("one")
    >>> path.name, path.parent, path.read_text()
    ('a.txt', UrlPath(url='memory://ledgers'), 'one')
    """

    url: str

    def __truediv__(self, name: str) -> UrlPath:
        """Return the path of a file in this directory."""
        return UrlPath(self._files.join(self.url, name))

    def __str__(self) -> str:
        """Return the URL."""
        return self.url

    @property
    def name(self) -> str:
        """The last part."""
        return self._files.split(self.url)[1]

    @property
    def parent(self) -> UrlPath:
        """The directory."""
        return UrlPath(self._files.split(self.url)[0])

    def exists(self) -> bool:
        """Return whether there is a file or directory."""
        return self._files.exists(self.url)

    def mkdir(self, parents: bool = True, exist_ok: bool = True) -> None:
        """Create the directory and its parents."""
        self._files.mkdirs(self.url, exist_ok=exist_ok)

    def read_text(self, encoding: str = "utf-8") -> str:
        """Return the content of the file; FileNotFoundError if it does not exist."""
        with self._files.open(self.url, "rb") as file:
            return file.read().decode(encoding)

    def write_text(self, text: str, encoding: str = "utf-8") -> None:
        """Write the file."""
        with open_file(self.url, "wb", "uncompressed") as file:
            file.write(text.encode(encoding))

    def replace(self, target: UrlPath) -> None:
        """Rename the file to another path, over the file that is there."""
        self._files.rename(self.url, target.url)

    def unlink(self, missing_ok: bool = False) -> None:
        """Delete the file."""
        with suppress(*[FileNotFoundError] if missing_ok else []):
            self._files.delete(self.url)

    @property
    def _files(self) -> FileSystem:
        return file_system_of(self.url)


AnyPath = Path | UrlPath
"""The path of a file or directory of a sink."""


def any_path(path: str) -> AnyPath:
    """Return a path or URL as an object.

    >>> any_path("s3://bucket/a"), any_path("a").name
    (UrlPath(url='s3://bucket/a'), 'a')
    """
    return UrlPath(path) if is_remote(path) else Path(path)


def split_path(path: str) -> tuple[str, str]:
    """Return the directory of a path or URL, and the last part.

    >>> split_path("memory://sums"), split_path("sums")
    (('memory://', 'sums'), ('', 'sums'))
    """
    return file_system_of(path).split(path) if is_remote(path) else os.path.split(path)


def append_text(path: AnyPath, text: str) -> None:
    """Append text to a file; at a URL the file is written again.

    >>> append_text(UrlPath("memory://ledgers/b.txt"), "one")
    """
    if isinstance(path, Path):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
        return
    before = path.read_text() if path.exists() else ""
    path.write_text(before + text)


def rename(source: AnyPath, target: AnyPath) -> None:
    """Rename a file, over the file that is there; both are local, or at URLs.

    >>> UrlPath("memory://ledgers/c.txt").write_text("one")
    >>> rename(UrlPath("memory://ledgers/c.txt"), UrlPath("memory://ledgers/d.txt"))
    """
    source.replace(target)  # type: ignore[arg-type]


def delete_tree(path: AnyPath) -> None:
    """Delete a directory, if it exists.

    >>> delete_tree(UrlPath("memory://nowhere"))
    """
    if isinstance(path, Path):
        shutil.rmtree(path, ignore_errors=True)
        return
    with suppress(OSError):
        file_system_of(path.url).delete(path.url)
