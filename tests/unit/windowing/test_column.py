"""Columns: a list and a repeated value behave alike."""

from __future__ import annotations

from itertools import islice, repeat
from typing import Any

import pytest
from hypothesis import given, strategies as st

from headrace.windowing.column import concatenate, cut, materialise, select, stretch, uniform
from headrace.windowing.window import interval

rows = st.integers(0, 8)


@st.composite
def columns(draw: st.DrawFn, size: int) -> Any:
    one = st.integers(0, 2) | st.booleans()
    if draw(st.booleans()):
        return repeat(draw(one))
    return draw(st.lists(one, min_size=size, max_size=size))


sized = rows.flatmap(lambda size: st.tuples(st.just(size), columns(size)))


def as_list(column: Any, size: int) -> list[Any]:
    return list(islice(column, size))


def typed(values: list[Any]) -> list[tuple[type, Any]]:
    return [(type(value), value) for value in values]


@given(sized)
def test_materialise_gives_the_rows(drawn: tuple[int, Any]) -> None:
    size, column = drawn
    assert materialise(column, size) == as_list(column, size)


def test_a_list_is_materialised_already() -> None:
    column = [1, 2, 3]
    assert materialise(column, 3) is column


@given(sized, st.data())
def test_select_keeps_the_marked_rows(drawn: tuple[int, Any], data: st.DataObject) -> None:
    size, column = drawn
    mask = data.draw(st.lists(st.booleans(), min_size=size, max_size=size))
    kept = [row for row, keep in zip(as_list(column, size), mask, strict=True) if keep]
    assert as_list(select(column, mask), sum(mask)) == kept


@given(sized, rows, rows)
def test_cut_keeps_the_rows_of_a_slice(drawn: tuple[int, Any], start: int, stop: int) -> None:
    size, column = drawn
    kept = cut(column, slice(start, stop))
    rows = as_list(column, size)[start:stop]
    assert uniform(kept) is uniform(column)
    assert typed(as_list(kept, len(rows))) == typed(rows)


@given(sized, st.data())
def test_stretch_repeats_rows(drawn: tuple[int, Any], data: st.DataObject) -> None:
    size, column = drawn
    counts = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    expected = [
        row for row, count in zip(as_list(column, size), counts, strict=True) for _ in range(count)
    ]
    assert as_list(stretch(column, counts), sum(counts)) == expected


@pytest.mark.parametrize("counts", [[2], [2, 1, 3]])
def test_stretch_wants_a_count_for_each_row(counts: list[int]) -> None:
    with pytest.raises(ValueError, match="zip"):
        stretch([7, 8], counts)


@given(st.lists(sized, min_size=1, max_size=4))
def test_concatenate_puts_one_after_another(drawn: list[tuple[int, Any]]) -> None:
    sizes = [size for size, _ in drawn]
    parts = [column for _, column in drawn]
    expected = [row for size, column in drawn for row in as_list(column, size)]
    # 1 and True are equal, but not the same value.
    assert typed(as_list(concatenate(parts, sizes), sum(sizes))) == typed(expected)


def test_one_shared_value_stays_repeated() -> None:
    assert uniform(concatenate([repeat(7), repeat(7)], [2, 3]))
    assert concatenate([repeat(1), repeat(True)], [1, 1]) == [1, True]  # type: ignore[arg-type]
    assert uniform(select(repeat(7), [True, False]))
    assert uniform(stretch(repeat(7), [2, 2]))
    assert not uniform([7, 7])


def test_equal_values_that_are_not_the_same_object_are_one_shared_value() -> None:
    one, other = interval(0, 1), interval(0, 1)
    assert one is not other
    assert uniform(concatenate([repeat(one), repeat(other)], [2, 2]))


def test_a_value_that_is_unequal_to_itself_is_still_one_shared_value() -> None:
    nan = float("nan")
    assert uniform(concatenate([repeat(nan), repeat(nan)], [2, 2]))
