"""Our pipelines against the same ones on Beam's bundle-based local runner, where both agree.

A pipeline of Beam's takes a while, so these are fewer cases than those of the trigger driver.
"""

from __future__ import annotations

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.second_opinion.agreement import compare
from tests.second_opinion.borrowed import Run, aligned, follow
from tests.second_opinion.cases import cases, data_triggers, sessions, timed_triggers
from tests.second_opinion.local_runner import play

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

WINDOWS = st.one_of(aligned(), sessions())


def check(run: Run) -> None:
    (heard,) = follow(run)
    ours, theirs = compare(run, heard.panes, play(run.script, run.steps[0].windowing))
    assert ours == theirs


@settings(max_examples=max(20, settings().max_examples // 10))
@given(cases(WINDOWS, data_triggers(), in_pipeline=True))
def test_triggers_that_look_at_the_data(run: Run) -> None:
    check(run)


@settings(max_examples=max(20, settings().max_examples // 10))
@given(cases(aligned(), timed_triggers(), in_pipeline=True))
def test_triggers_that_look_at_the_clock(run: Run) -> None:
    check(run)
