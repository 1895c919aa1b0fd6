"""What was found once is tried again; and what is found is kept."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.sdk.testing.runs import Run, Step
from headrace.sdk.testing.strategies.pipelines import pipelines, runs
from headrace.triggers import WindowingStrategy
from tests.laws.corpus import FOUND, keep, kept, read


@pytest.mark.parametrize("place", sorted(FOUND.glob("*.run")), ids=lambda place: place.stem)
def test_a_case_that_was_found_breaks_its_law_no_more(place: Path) -> None:
    finder, run = read(place)
    module, _, name = finder.rpartition(".")
    getattr(import_module(module), name).on(run)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(run=st.one_of(pipelines(), runs(steps=2, retractions=True, safe=False)))
def test_a_case_reads_back_as_it_was(run: Run, tmp_path: Path) -> None:
    assert read(keep(run, "a.test", tmp_path)) == ("a.test", run)


def test_the_smallest_case_is_kept(tmp_path: Path) -> None:
    def fails_for_long_scripts(run: Run) -> None:
        assert len(run.script) < 2

    step = Step(WindowingStrategy())
    test = kept(fails_for_long_scripts, tmp_path)
    for length in (1, 3, 2, 1):
        run = Run((("watermark", 7),) * length, (step,))
        if length == 1:
            test(run=run)
        else:
            with pytest.raises(AssertionError):
                test(run=run)
    (place,) = tmp_path.iterdir()
    assert len(read(place)[1].script) == 2
