"""Our grouping against Beam's GeneralTriggerDriver: the same panes in the same events.

`HEADRACE_CASES=10000` tries 10,000 cases per test.
"""

from __future__ import annotations

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from hypothesis import given

from tests.beam.reference.cases import cases, data_triggers, sessions, timed_triggers
from tests.beam.reference.comparison import check
from tests.beam.reference.kit import Run, aligned
from tests.beam.reference.trigger_driver import run_in_beam

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@given(cases(aligned(), data_triggers()))
def test_windows_that_are_the_same_for_all_keys(run: Run) -> None:
    check(run, run_in_beam)


@given(cases(sessions(), data_triggers()))
def test_sessions(run: Run) -> None:
    check(run, run_in_beam)


@given(cases(aligned(), timed_triggers()))
def test_triggers_that_look_at_the_clock(run: Run) -> None:
    check(run, run_in_beam)
