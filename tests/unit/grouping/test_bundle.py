"""Bundles: a few columns that stay in step, whatever is done to the rows."""

from __future__ import annotations

import pickle
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from headrace.grouping.bundle import Bundle, Element
from headrace.grouping.pane_output import Panes
from headrace.grouping.table_bundle import TableBundle
from headrace.sdk.beam.programs.sources.idle_clock import IdleClock
from headrace.sdk.elements.record_tables import AS_DICTS
from headrace.triggers.pane import NO_FIRING
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.watermarks.policies import (
    BoundedOutOfOrderness,
    FromSource,
    Monotonic,
    Percentile,
)
from headrace.windowing.window import interval

elements = st.builds(
    Element,
    st.integers(0, 99),
    st.integers(0, 9),
    st.integers(0, 9).map(lambda start: (interval(start, start + 5),)),
    st.sampled_from([NO_FIRING, NO_FIRING._replace(index=3)]),
    st.sampled_from([1, -1]),
)


def rows(bundle: Bundle) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in bundle.rows()]


@given(st.lists(elements, max_size=9), st.integers(1, 5))
def test_pieces_are_the_bundle_cut_in_order(drawn: list[Element], size: int) -> None:
    bundle = Bundle.of(drawn)
    pieces = list(bundle.pieces(size))
    assert [row for piece in pieces for row in rows(piece)] == rows(bundle)
    assert all(len(piece) == size for piece in pieces[:-1])
    assert len(pieces[-1]) <= size


def test_a_bundle_that_is_small_enough_is_one_piece() -> None:
    bundle = Bundle([1, 2], [5, 6])
    (piece,) = bundle.pieces(2)
    assert piece is bundle
    assert [len(piece) for piece in bundle.pieces(1)] == [1, 1]


def test_what_all_rows_share_stays_shared_in_pieces() -> None:
    for piece in Bundle([1, 2, 3], repeat(7), diffs=repeat(-1)).pieces(2):
        assert isinstance(piece.timestamps, repeat)
        assert next(piece.timestamps) == 7
        assert isinstance(piece.diffs, repeat)
        assert next(piece.diffs) == -1


@pytest.mark.parametrize(
    "policy",
    [BoundedOutOfOrderness(3), Monotonic(), Percentile(80, memory=4), FromSource(), IdleClock(9)],
)
@given(st.lists(st.lists(st.integers(0, 50) | st.just(MIN_MICROS), max_size=12), max_size=5))
def test_a_bundle_has_what_a_watermark_depends_on(policy, rounds) -> None:
    """An estimator cannot tell it from all timestamps, whether it has elements or a table."""
    estimators = [policy.estimator() for _ in range(3)]
    for now, times in enumerate(rounds):
        table = TableBundle(pa.table({"at": times}), AS_DICTS, np.array(times, np.int64))
        observed = (times, Bundle(times, times), table)
        for estimator, each in zip(estimators, observed, strict=True):
            given_times = each.observed_times(policy) if isinstance(each, Bundle) else each
            estimator.observe(given_times, now)
    whole, by_elements, by_table = (estimator.state() for estimator in estimators)
    assert by_elements == whole
    assert by_table == whole


@pytest.mark.parametrize("policy", [Monotonic(), Percentile(80, memory=4)])
def test_a_table_without_times_is_at_the_beginning_of_time(policy) -> None:
    table = TableBundle(pa.table({"at": [1, 2]}), AS_DICTS)
    assert set(table.observed_times(policy)) == {MIN_MICROS}


@given(st.lists(elements, max_size=9))
def test_a_bundle_of_elements_holds_them(drawn: list[Element]) -> None:
    assert rows(Bundle.of(drawn)) == [tuple(element) for element in drawn]
    assert len(Bundle.of(drawn)) == len(drawn)


@given(st.lists(st.lists(elements, max_size=4), max_size=4))
def test_bundles_are_put_one_after_another(drawn: list[list[Element]]) -> None:
    together = Bundle.concat(list(map(Bundle.of, drawn)))
    assert rows(together) == [tuple(element) for some in drawn for element in some]


@given(st.lists(elements, max_size=9), st.data())
def test_where_keeps_the_marked_rows(drawn: list[Element], data: st.DataObject) -> None:
    mask = data.draw(st.lists(st.booleans(), min_size=len(drawn), max_size=len(drawn)))
    kept = [tuple(e) for e, marked in zip(drawn, mask, strict=True) if marked]
    assert rows(Bundle.of(drawn).where(mask)) == kept


def test_other_values_keep_all_that_is_said_of_them() -> None:
    bundle = Bundle([1], [5], [(interval(0, 9),)], [NO_FIRING._replace(index=3)], [-1])
    other = bundle.with_values(["one"])
    assert rows(other) == [("one", *rows(bundle)[0][1:])]


@pytest.mark.parametrize("empty", [Bundle([]), Bundle.of([]), Bundle.concat([])])
def test_an_empty_bundle_has_no_rows(empty: Bundle) -> None:
    assert rows(empty) == []
    assert len(empty) == 0


def test_rows_of_unequal_width_are_refused() -> None:
    (row,) = Bundle([1]).rows()
    with pytest.raises(ValueError, match="zip"):
        Bundle.of([row, row[:4]])  # type: ignore[list-item]


def test_panes_want_a_key_for_each_row() -> None:
    panes = Panes()
    panes.emit(1, 9, interval(0, 10), NO_FIRING)
    with pytest.raises(ValueError, match="zip"):
        panes.bundle([])
    with pytest.raises(ValueError, match="zip"):
        panes.bundle(["a", "b"])
    assert panes.bundle(["a"]).values == [("a", 1)]


@given(st.lists(elements, max_size=4))
def test_a_bundle_is_pickled_without_iterators(drawn: list[Element]) -> None:
    for bundle in (Bundle.of(drawn), Bundle([e.value for e in drawn])):
        assert rows(pickle.loads(pickle.dumps(bundle))) == rows(bundle)
        assert b"itertools" not in pickle.dumps(bundle)
