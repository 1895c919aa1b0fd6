"""Beam's suite of portable runners, on Headrace."""

from __future__ import annotations

import apache_beam as beam
from apache_beam.runners.portability.fn_api_runner import fn_runner_test

from tests.beam.suites.suite_runner import SuiteRunner


class HeadraceFnApiRunnerTest(fn_runner_test.FnApiRunnerTest):
    """Beam's 75 tests; five of them Beam skips on every runner."""

    def create_pipeline(self, is_drain=False):
        return beam.Pipeline(runner=SuiteRunner(is_drain=is_drain))

    def test_pack_combiners(self):
        # A runner that does not pack combiners says so; names of steps are of Beam's optimizer.
        self._test_pack_combiners(assert_using_counter_names=False)


del fn_runner_test
