"""Found cases are kept, and tried again."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.strategies.pipelines import pipelines, runs
from headrace.triggers import WindowingStrategy
from tests.laws.corpus import FOUND, keep, keeping_failures, read


@pytest.mark.parametrize("path", sorted(FOUND.glob("*.run")), ids=lambda path: path.stem)
def test_a_found_case_keeps_its_law(path: Path) -> None:
    finder, run = read(path)
    module, _, name = finder.rpartition(".")
    getattr(import_module(module), name).on(run)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(run=st.one_of(pipelines(), runs(steps=2, retractions=True, safe=False)))
def test_a_case_can_be_written_and_read(run: Run, tmp_path: Path) -> None:
    assert read(keep(run, "a.test", tmp_path)) == ("a.test", run)


def test_the_smallest_case_is_kept(tmp_path: Path) -> None:
    def fails_for_long_scripts(run: Run) -> None:
        assert len(run.script) < 2

    step = Step(WindowingStrategy())
    test = keeping_failures(fails_for_long_scripts, tmp_path)
    for length in (1, 3, 2, 1):
        run = Run((("watermark", 7),) * length, (step,))
        if length == 1:
            test(run=run)
        else:
            with pytest.raises(AssertionError):
                test(run=run)
    (path,) = tmp_path.iterdir()
    assert len(read(path)[1].script) == 2


def test_a_test_that_keeps_failures_has_its_marks(tmp_path: Path) -> None:
    @pytest.mark.local_only("a reason")
    def holds(run: Run) -> None:
        pass

    keeping: Any = keeping_failures(holds, tmp_path)
    assert [mark.name for mark in keeping.pytestmark] == ["local_only"]
