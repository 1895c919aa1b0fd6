"""The order of a table's rows by group, and the numbers of groups, are those of plain Python."""

import numpy as np
from hypothesis import given, strategies as st

from headrace.runners.contents.groups import order_by
from headrace.runners.precombine.per_table import by_number
from headrace.runners.precombine.table_keys import distinct, numbered

NUMBERS = st.integers(0, 3) | st.sampled_from([65_535, 65_536, 131_072, 2**31, 2**32 - 1])
"""Numbers that differ in their low or in their high digits."""


@given(st.lists(st.tuples(NUMBERS, st.integers(-5, 5))))
def test_rows_are_ordered_by_number_and_then_by_time_or_place(rows):
    ids = np.array([number for number, _ in rows], np.int64)
    times = np.array([time for _, time in rows], np.int64)
    places = range(len(rows))
    assert order_by(ids).tolist() == sorted(places, key=lambda at: rows[at][0])
    assert order_by(ids, times).tolist() == sorted(places, key=lambda at: rows[at])


NUMBERED = st.integers(0, 3) | st.sampled_from([40, 65_536, 2**31 - 1])
"""Numbers that differ by little, and by more than their number."""


@given(st.lists(st.tuples(NUMBERED, NUMBERED, NUMBERED)), st.integers(1, 3))
def test_groups_are_the_combinations_of_numbers(rows, width):
    rows = [row[:width] for row in rows]
    columns = [np.array([row[at] for row in rows], np.int64) for at in range(width)]
    ids, parts = numbered(columns)
    groups = list(zip(*(part.tolist() for part in parts), strict=True))
    assert [groups[number] for number in ids.tolist()] == rows
    assert sorted(groups) == sorted(set(rows))


@given(st.lists(st.integers(-5, 5) | st.sampled_from([-(2**62), 2**61])))
def test_numbers_that_differ_have_places(numbers):
    places, found = distinct(np.array(numbers, np.int64))
    assert found[places].tolist() == numbers
    assert sorted(found.tolist()) == sorted(set(numbers))


@given(st.lists(st.integers(0, 4)))
def test_rows_by_number_keep_their_order(drawn):
    numbers = [sorted(set(drawn)).index(each) for each in drawn]
    parts = by_number(np.array(numbers, np.int64), list(range(len(numbers))))
    assert {number: rows for number, (rows,) in parts} == {
        number: [at for at, each in enumerate(numbers) if each == number] for number in set(numbers)
    }
