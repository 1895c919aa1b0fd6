"""Beam's tests of states and timers, on Headrace.

Each test compares what its last step has recorded. Beam's tests record in the memory of their process.
"""

from __future__ import annotations

from typing import Any

from apache_beam.transforms import userstate_test
from apache_beam.transforms.userstate_test import InterfaceTest as InterfaceTest

from tests.beam.suites.records import Record, Recorded, current_test, file_of


class StatefulDoFnTest(userstate_test.StatefulDoFnOnDirectRunnerTest):
    """Beam's tests of stateful DoFns, which record in files."""

    def setUp(self):
        super().setUp()
        tests: Any = userstate_test.StatefulDoFnOnDirectRunnerTest
        tests.all_records = Recorded()

    def record_dofn(self):
        return Record(file_of(current_test()))
