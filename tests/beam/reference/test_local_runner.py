"""Our pipelines against the same ones on Beam's bundle-based local runner.

A Beam pipeline takes a while, so there are fewer cases than for the trigger driver.
"""

from __future__ import annotations

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from hypothesis import given, settings, strategies as st

from tests.beam.reference.cases import cases, data_triggers, sessions, timed_triggers
from tests.beam.reference.comparison import check
from tests.beam.reference.kit import Run, aligned
from tests.beam.reference.local_runner import run_in_beam

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WINDOWS = st.one_of(aligned(), sessions())


@settings(max_examples=max(20, settings().max_examples // 10))
@given(cases(WINDOWS, data_triggers(), in_pipeline=True))
def test_triggers_that_look_at_the_data(run: Run) -> None:
    check(run, run_in_beam)


@settings(max_examples=max(20, settings().max_examples // 10))
@given(cases(aligned(), timed_triggers(), in_pipeline=True))
def test_triggers_that_look_at_the_clock(run: Run) -> None:
    check(run, run_in_beam)
