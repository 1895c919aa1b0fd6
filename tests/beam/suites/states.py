"""Beam's tests of states and timers, on Headrace.

Each test compares what its last step has recorded. Beam's tests record in the memory of their process, but
workers of Spark are other processes, so here the step records in a file.
"""

from __future__ import annotations

import pickle
import tempfile
from pathlib import Path
from typing import Any

import apache_beam as beam
from apache_beam.transforms import userstate_test
from apache_beam.transforms.userstate_test import InterfaceTest as InterfaceTest


class Record(beam.DoFn):
    """Adds its elements to a file.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def process(self, element: Any) -> None:
        with self._path.open("ab") as file:
            file.write(pickle.dumps(element))


class Recorded:
    """The elements in a file, as an attribute of a class.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def __get__(self, instance: object, owner: type) -> list[Any]:
        found = []
        with self._path.open("rb") as file:
            while file.peek():
                found.append(pickle.load(file))
        return found


class StatefulDoFnTest(userstate_test.StatefulDoFnOnDirectRunnerTest):
    """Beam's tests of stateful DoFns."""

    def setUp(self):
        super().setUp()
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self._path = Path(directory.name) / "records"
        self._path.touch()
        tests: Any = userstate_test.StatefulDoFnOnDirectRunnerTest
        tests.all_records = Recorded(self._path)

    def record_dofn(self):
        return Record(self._path)
