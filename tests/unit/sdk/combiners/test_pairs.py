"""Transforms on pairs, and what makes pairs and groups of elements."""

import pickle

import pytest

import headrace as hr
from headrace.sdk.elements.row import record_type
from headrace.testing import TestPipeline, assert_that, equal_to


def assert_gives(values, transform, expected):
    with TestPipeline() as p:
        assert_that(p | hr.Create(values) | "Step" >> transform, equal_to(expected))


PAIRS = [("a", 1), ("b", 2)]


def test_parts_of_pairs() -> None:
    assert_gives(PAIRS, hr.Keys(), ["a", "b"])
    assert_gives(PAIRS, hr.Values(), [1, 2])
    assert_gives(PAIRS, hr.KvSwap(), [(1, "a"), (2, "b")])


def test_what_is_no_pair_has_no_parts() -> None:
    with pytest.raises(TypeError) as error:
        assert_gives([(1, 2, 3)], hr.Keys(), [])
    assert any("(1, 2, 3)" in note for note in error.value.__notes__)


def test_keys_by_function_and_constant() -> None:
    assert_gives(["to", "not"], hr.WithKeys(len), [(2, "to"), (3, "not")])
    assert_gives(["to"], hr.WithKeys("all"), [("all", "to")])
    assert_gives([7], hr.WithKeys(lambda x, n, by: x % n + by, 4, by=10), [(13, 7)])


def test_distinct_elements() -> None:
    assert_gives([1, "a", 1, 1.0, True], hr.Distinct(), [1, "a", 1.0, True])


def test_grouping_by_a_function() -> None:
    with TestPipeline() as p:
        grouped = p | hr.Create(["to", "be", "not"]) | hr.GroupBy(len)
        by_size = grouped | hr.MapTuple(lambda size, words: (size, sorted(words)))
        assert_that(by_size, equal_to([(2, ["be", "to"]), (3, ["not"])]))


STEPS = [
    hr.Row(mill="north", turns=3, flour=1.5),
    hr.Row(mill="south", turns=1, flour=0.5),
    hr.Row(mill="north", turns=4, flour=2.5),
]


def test_grouping_by_fields() -> None:
    keys = hr.GroupBy("mill", odd=lambda step: step.turns % 2 == 1) | hr.Keys()
    assert_gives(STEPS, keys, [("north", True), ("north", False), ("south", True)])
    assert_gives(STEPS, hr.GroupBy("mill") | hr.Keys(), ["north", "south"])
    forced = hr.GroupBy("mill").force_tuple_keys() | hr.Keys() | hr.Map(lambda key: key.mill)
    assert_gives(STEPS, forced, ["north", "south"])


def test_aggregating_fields() -> None:
    totals = (
        hr.GroupBy("mill")
        .aggregate_field("turns", sum, "turns")
        .aggregate_field(lambda step: step.flour, max, "most")
    )
    assert_gives(STEPS, totals, [("north", 7, 2.5), ("south", 1, 0.5)])
    named = totals | hr.Map(lambda result: (result.mill, result.turns, result.most))
    assert_gives(STEPS, named, [("north", 7, 2.5), ("south", 1, 0.5)])


def test_selecting_fields() -> None:
    selected = hr.Select("mill", twice=lambda step: 2 * step.turns)
    expected = [hr.Row(mill=step.mill, twice=2 * step.turns) for step in STEPS]
    assert_gives(STEPS, selected, expected)


def test_a_row_is_its_fields_in_order() -> None:
    row = hr.Row(a=1, b=[2])
    assert (row.a, row.b) == (1, [2])
    assert list(row) == [1, [2]]
    assert row.as_dict() == {"a": 1, "b": [2]}
    assert repr(row) == "Row(a=1, b=[2])"
    assert hr.Row(a=1, b=2) != hr.Row(b=2, a=1)
    assert hr.Row(a=1) != (1,)
    assert len({hr.Row(a=1), hr.Row(a=1), hr.Row(a=2)}) == 2
    assert pickle.loads(pickle.dumps(row)) == row
    with pytest.raises(AttributeError, match="no field 'c'"):
        row.c  # noqa: B018


def test_rows_can_be_keys() -> None:
    assert_gives(
        [(hr.Row(a=1, b="x"), 2), (hr.Row(a=1, b="x"), 3)],
        hr.CombinePerKey(sum),
        [(hr.Row(a=1, b="x"), 5)],
    )


def test_records_travel() -> None:
    record = record_type("Key", ("a", "b"))(1, 2)  # type: ignore[arg-type, call-arg]
    travelled = pickle.loads(pickle.dumps(record))
    assert (travelled, type(travelled)) == (record, type(record))
