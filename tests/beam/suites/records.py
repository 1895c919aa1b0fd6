"""What the steps of a test record: in a file of the test, since workers of Spark are other processes."""

from __future__ import annotations

import os
import pickle
import tempfile
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import apache_beam as beam


def current_test() -> str:
    """Return the id of the test that runs."""
    return os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0]


@cache
def _directory() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="headrace-suite-")


def file_of(test: str) -> Path:
    """Return the file of a test."""
    return Path(_directory().name, sha256(test.encode()).hexdigest())


def forget(test: str) -> None:
    """Delete what the steps of a test have recorded."""
    file_of(test).unlink(missing_ok=True)


def forget_all() -> None:
    """Delete what all steps have recorded."""
    for path in Path(_directory().name).iterdir():
        path.unlink()


class Record(beam.DoFn):
    """Records its elements.

    Args:
        path: the file of the test.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def process(self, element: Any) -> None:
        with self._path.open("ab") as file:
            file.write(pickle.dumps(element))


class Recorded:
    """The recorded elements of the test that runs, as an attribute of a class."""

    def __get__(self, instance: object, owner: type) -> list[Any]:
        path, found = file_of(current_test()), []
        if not path.exists():
            return found
        with path.open("rb") as file:
            while file.peek():
                found.append(pickle.load(file))
        return found
