"""Temporary directories for tests, and a checksum of results (names of the Beam test kit)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
import unittest
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self


class TempDir:
    r"""A directory that is deleted at the end of a ``with`` block (Beam's name).

    >>> from pathlib import Path
    >>> from headrace.testing.test_utils import TempDir
    >>> with TempDir() as directory:
    ...     path = directory.create_temp_file(suffix=".txt", lines=[b"one\n"])
    ...     Path(path).read_text(), path.startswith(directory.get_path())
    ('one\n', True)
    """

    def __init__(self) -> None:
        self._tempdir = tempfile.mkdtemp()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delete the directory."""
        shutil.rmtree(self._tempdir, ignore_errors=True)

    def get_path(self) -> str:
        """Return the path of the directory."""
        return self._tempdir

    def create_temp_file(self, suffix: str = "", lines: Iterable[bytes] | None = None) -> str:
        """Create a file with lines, and return its path.

        Args:
            suffix: the end of its name.
            lines: its lines, with line breaks.
        """
        number, path = tempfile.mkstemp(suffix, dir=self._tempdir)
        with os.fdopen(number, "wb") as file:
            file.writelines(lines or ())
        return path


def compute_hash(content: Iterable[object], hashing_alg: str = "sha1") -> str:
    """Return the checksum of values in any order (Beam's name).

    Args:
        content: the values, whose text is hashed.
        hashing_alg: a name of ``hashlib``.

    >>> from headrace.testing.test_utils import compute_hash
    >>> compute_hash(["b", "a"]) == compute_hash(["a", "b"])
    True
    """
    found = hashlib.new(hashing_alg)
    texts = (value if isinstance(value, bytes) else str(value).encode() for value in content)
    found.update(b"".join(sorted(texts)))
    return found.hexdigest()


class TempDirTestCase(unittest.TestCase):
    """A test case whose temporary directories are deleted after each test."""

    def setUp(self) -> None:
        self._tempdirs: list[str] = []

    def tearDown(self) -> None:
        for path in self._tempdirs:
            shutil.rmtree(path, ignore_errors=True)

    def _new_tempdir(self) -> str:
        """Create a directory, and return its path."""
        self._tempdirs.append(tempfile.mkdtemp())
        return self._tempdirs[-1]

    def _create_temp_file(
        self, name: str = "", suffix: str = "", dir: str | None = None, content: str | None = None
    ) -> str:
        """Create a file, and return its path."""
        number, path = tempfile.mkstemp(suffix, name or "tmp", dir or self._new_tempdir())
        os.close(number)
        Path(path).write_text(content or "")
        return path
