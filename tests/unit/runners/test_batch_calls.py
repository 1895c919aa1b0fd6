"""Rows that become batches, and rows again, are the same rows, whatever their metadata are."""

from collections import Counter
from itertools import repeat

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from headrace.grouping.bundle import IN_GLOBAL_WINDOW, Bundle
from headrace.runners.calls.batch_calls import in_batches, with_batches
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import CallingStep
from headrace.sdk.typehints.batches import MAX_BATCH, Batches, ListBatching
from headrace.windowing import IntervalWindow

STEP = CallingStep("step", "process_batch")

WINDOWS = st.sampled_from([IN_GLOBAL_WINDOW, (IntervalWindow(0, 10),)])
ROWS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), WINDOWS, st.sampled_from([1, -1])))


@st.composite
def bundles(draw):
    rows = draw(ROWS)
    values, times, windows, diffs = (
        (list(column) for column in zip(*rows, strict=True)) if rows else ([],) * 4
    )
    times = draw(st.sampled_from([times, repeat(7)]))
    return Bundle(values, times, windows, diffs=draw(st.sampled_from([diffs, repeat(1)])))


def unchanged(program, bundle) -> bool:
    """Whether the rows are the same after a DoFn that emits its batches."""
    return Counter(program(bundle)[MAIN].rows()) == Counter(bundle.rows())


def identity(bundle):
    return {MAIN: bundle}


@settings(max_examples=50)
@given(bundles())
def test_batches_keep_rows(bundle) -> None:
    assert unchanged(with_batches(identity, Batches(ListBatching(), True), STEP), bundle)


def test_a_batch_of_values_and_retractions_would_be_found() -> None:
    def without_diffs(bundle):
        return with_batches(identity, Batches(ListBatching(), True), STEP)(
            attrs.evolve(bundle, diffs=repeat(1))
        )

    @settings(max_examples=200, database=None)
    @given(bundles())
    def law(bundle):
        assert unchanged(without_diffs, bundle)

    with pytest.raises(AssertionError):
        law()


@pytest.mark.parametrize("times", [repeat(7), [7] * (MAX_BATCH + 1)])
def test_a_batch_has_at_most_the_maximum_size(times) -> None:
    bundle = Bundle(list(range(MAX_BATCH + 1)), times, repeat(IN_GLOBAL_WINDOW))
    assert list(map(len, in_batches(bundle, ListBatching()).values)) == [MAX_BATCH, 1]
