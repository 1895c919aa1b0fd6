"""The order of a table's rows by group, and the numbers of groups, are those of plain Python."""

import numpy as np
import pyarrow as pa
from hypothesis import given, strategies as st

from headrace.runners.contents.codes import codes_of, distinct
from headrace.runners.contents.groups import order_by
from headrace.runners.precombine.per_table import by_number
from headrace.runners.precombine.table_keys import numbered

NUMBERS = st.integers(0, 3) | st.sampled_from([65_535, 65_536, 131_072, 2**31, 2**32 - 1])
"""Numbers that differ in their low or in their high digits."""


TIMES = st.integers(-5, 5) | st.sampled_from([-(2**62), -(2**40), 2**40, 2**62])
"""Times that differ by little, and by more than one number can hold beside a group."""


@given(st.lists(st.tuples(NUMBERS, TIMES)))
def test_rows_are_ordered_by_number_and_then_by_time_or_place(rows):
    ids = np.array([number for number, _ in rows], np.int64)
    times = np.array([time for _, time in rows], np.int64)
    places = range(len(rows))
    assert order_by(ids).tolist() == sorted(places, key=lambda at: rows[at][0])
    assert order_by(ids, times).tolist() == sorted(places, key=lambda at: rows[at])


@given(st.lists(st.tuples(st.integers(0, 3), TIMES)))
def test_numbers_of_32_bits_have_the_same_order(rows):
    ids = np.array([number for number, _ in rows], np.int32)
    times = np.array([time for _, time in rows], np.int64)
    assert order_by(ids, times).tolist() == order_by(ids.astype(np.int64), times).tolist()


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


SMALL = st.integers(-128, 127)
LARGE = SMALL | st.sampled_from([-(2**62), 2**61])
"""Keys that have places by counting, or only with a hash table."""


@given(
    st.one_of(
        st.tuples(st.just(pa.int8()), st.lists(SMALL)),
        st.tuples(st.just(pa.int64()), st.lists(LARGE | st.none())),
        st.tuples(st.just(pa.uint64()), st.lists(st.sampled_from([0, 1, 2**63, 2**64 - 1]))),
        st.tuples(st.just(pa.int32()).map(lambda t: pa.dictionary(t, t)), st.lists(SMALL)),
    )
)
def test_keys_are_the_values_of_their_numbers(drawn):
    kind, keys = drawn
    ids, values = codes_of(pa.chunked_array([keys], kind))
    assert [values[number] for number in ids.tolist()] == keys
    assert len(set(values)) == len(values)
    assert set(map(type, values)) <= {int, type(None)}


@given(st.lists(st.integers(0, 4)))
def test_rows_by_number_keep_their_order(drawn):
    numbers = [sorted(set(drawn)).index(each) for each in drawn]
    parts = by_number(np.array(numbers, np.int64), list(range(len(numbers))))
    assert {number: rows for number, (rows,) in parts} == {
        number: [at for at, each in enumerate(numbers) if each == number] for number in set(numbers)
    }
