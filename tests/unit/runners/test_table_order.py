"""The order of a table's rows by group, and the numbers of groups, are those of plain Python."""

import numpy as np
from hypothesis import given, strategies as st

from headrace.runners.contents.groups import order_by
from headrace.runners.precombine.per_table import by_number
from headrace.runners.precombine.table_keys import numbered

NUMBERS = st.integers(0, 3) | st.sampled_from([65_535, 65_536, 131_072, 2**31, 2**32 - 1])
"""Numbers that differ in their low or in their high digits."""


@given(st.lists(st.tuples(NUMBERS, st.integers(-5, 5))))
def test_rows_are_ordered_by_number_and_then_by_time_or_place(rows):
    ids = np.array([number for number, _ in rows], np.int64)
    times = np.array([time for _, time in rows], np.int64)
    places = range(len(rows))
    assert order_by(ids).tolist() == sorted(places, key=lambda at: rows[at][0])
    assert order_by(ids, times).tolist() == sorted(places, key=lambda at: rows[at])


@given(st.lists(NUMBERS), st.lists(st.integers(0, 2)))
def test_groups_are_numbered_in_the_order_of_their_first_rows(firsts, seconds):
    pairs = list(zip(firsts, seconds, strict=False))
    columns = [np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1)]
    groups = list(dict.fromkeys(pairs))
    # The first of several columns has been numbered.
    columns[0] = np.array([sorted(set(firsts)).index(first) for first, _ in pairs], np.int64)
    ids, first = numbered(columns)
    assert [groups[number] for number in ids.tolist()] == pairs
    assert [pairs[row] for row in first.tolist()] == groups
    alone, first = numbered([np.array(firsts, np.int64)])
    assert alone.tolist() == [list(dict.fromkeys(firsts)).index(each) for each in firsts]
    assert first.tolist() == [firsts.index(each) for each in dict.fromkeys(firsts)]


@given(st.lists(st.integers(0, 4)))
def test_rows_by_number_keep_their_order(drawn):
    numbers = [sorted(set(drawn)).index(each) for each in drawn]
    parts = by_number(np.array(numbers, np.int64), list(range(len(numbers))))
    assert {number: rows for number, (rows,) in parts} == {
        number: [at for at, each in enumerate(numbers) if each == number] for number in set(numbers)
    }
