"""Columns of accumulators are merged and read as their CombineFn does it row by row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

import headrace as hr
from headrace.runners.contents.accumulator_columns import accumulator_columns_of
from headrace.runners.contents.reductions import reduction_of

SUM = hr.CombineFn.from_callable(sum)
COUNT = hr.combiners.CountCombineFn()
MEAN = hr.combiners.MeanCombineFn()
BOTH = hr.combiners.SingleInputTupleCombineFn(SUM, MEAN, COUNT)
NESTED = hr.combiners.SingleInputTupleCombineFn(BOTH, SUM)

KNOWN = [SUM, COUNT, MEAN, BOTH, NESTED]
OTHERS = [
    hr.CombineFn.from_callable(max),
    hr.combiners.SingleInputTupleCombineFn(SUM, hr.CombineFn.from_callable(max)),
    hr.combiners.SingleInputTupleCombineFn(),
]

values = st.lists(st.integers() | st.floats(-9, 9), min_size=1, max_size=3)
rows = st.lists(st.tuples(values, values), min_size=1, max_size=4)


def unexpected(error: Exception, row: int) -> None:
    raise AssertionError(f"in row {row}") from error


def test_known_combine_fns_have_columns() -> None:
    assert all(map(accumulator_columns_of, KNOWN))
    assert not any(map(accumulator_columns_of, OTHERS))


@pytest.mark.parametrize("changing", [False, True])
@pytest.mark.parametrize("fn", KNOWN + OTHERS, ids=lambda fn: fn.default_label())
@given(rows=rows)
def test_columns_are_the_rows(fn: hr.CombineFn, changing: bool, rows: list[Any]) -> None:
    reduction = reduction_of(fn, changing)

    def contents(side: int) -> list[Any]:
        return [reduction.of(list(row[side])) for row in rows]

    def is_same(found: list[Any], of: Callable[[Any], Any]) -> bool:
        return repr(found) == repr(list(map(of, expected)))

    expected = list(map(reduction.merge, contents(0), contents(1)))
    merged = reduction.merge_columns(contents(0), contents(1), unexpected)
    assert is_same(merged, lambda content: content)
    assert is_same(reduction.results(merged, unexpected), reduction.result)
    assert is_same(reduction.finals(merged, unexpected), reduction.final)


@pytest.mark.parametrize(
    ("fn", "bad"),
    [(SUM, "a"), (MEAN, ("a", 1)), (BOTH, [1, ("a", 1), 1])],
    ids=["sum", "mean", "both"],
)
def test_an_error_has_its_row(fn: hr.CombineFn, bad: Any) -> None:
    good, failed = fn.add_input(fn.create_accumulator(), 1), list[int]()

    def note(error: Exception, row: int) -> None:
        failed.append(row)

    with pytest.raises(TypeError):
        reduction_of(fn, changing=False).merge_columns([good] * 3, [good, bad, good], note)
    assert failed == [1]
