"""Collections put together, brought together by key, joined, and divided."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import (
    TestPipeline,
    TestStream,
    assert_that,
    capture,
    equal_to,
    is_empty,
)
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import FixedWindows, GlobalWindows, TimestampedValue

LEFT = [("a", 1), ("a", 2), ("b", 3)]
RIGHT = [("a", "x"), ("c", "y"), ("c", "z")]

JOINS: dict[Any, list[Any]] = {
    hr.InnerJoin: [("a", (1, "x")), ("a", (2, "x"))],
    hr.LeftJoin: [("a", (1, "x")), ("a", (2, "x")), ("b", (3, None))],
    hr.RightJoin: [("a", (1, "x")), ("a", (2, "x")), ("c", (None, "y")), ("c", (None, "z"))],
    hr.FullJoin: [
        ("a", (1, "x")),
        ("a", (2, "x")),
        ("b", (3, None)),
        ("c", (None, "y")),
        ("c", (None, "z")),
    ],
}


def sides(p, left=LEFT, right=RIGHT):
    return p | "Left" >> hr.Create(left), p | "Right" >> hr.Create(right)


@pytest.mark.parametrize("join", JOINS)
def test_joins(join) -> None:
    with TestPipeline() as p:
        assert_that(sides(p) | join(), equal_to(JOINS[join]))


@pytest.mark.parametrize("join", JOINS)
def test_none_is_a_value_like_any_other(join) -> None:
    with TestPipeline() as p:
        joined = sides(p, [("a", None)], [("a", None)]) | join()
        assert_that(joined, equal_to([("a", (None, None))]))


def test_a_join_has_two_sides() -> None:
    p = hr.Pipeline()
    left, right = sides(p)
    with pytest.raises(hr.PipelineError, match="a join is applied to"):
        (left, right, left) | hr.InnerJoin()  # type: ignore[operator]
    with pytest.raises(hr.PipelineError, match="a join is applied to"):
        left | "alone" >> hr.InnerJoin()


def test_co_group_by_key_of_a_tuple() -> None:
    with TestPipeline() as p:
        grouped = sides(p) | hr.CoGroupByKey()
        in_order = grouped | hr.MapTuple(lambda key, values: (key, tuple(map(sorted, values))))
        expected = [("a", ([1, 2], ["x"])), ("b", ([3], [])), ("c", ([], ["y", "z"]))]
        assert_that(in_order, equal_to(expected))


def test_co_group_by_key_of_a_dict() -> None:
    with TestPipeline() as p:
        left, right = sides(p, [("a", 1)], [("a", "x")])
        grouped = {"l": left, 2: right} | hr.CoGroupByKey()
        assert_that(grouped, equal_to([("a", {"l": [1], 2: ["x"]})]))


def test_co_group_by_key_of_nothing() -> None:
    with TestPipeline() as p:
        assert_that(() | hr.CoGroupByKey(pipeline=p), is_empty())


def test_co_group_by_key_needs_pairs() -> None:
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="needs"):
        (p | hr.Create([1]), p | "other" >> hr.Create([("a", 1)])) | hr.CoGroupByKey()  # type: ignore[operator]


def test_a_join_retracts_what_it_said_of_a_changed_side() -> None:
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("a", 1), 1)])
        .add_elements([TimestampedValue(("b", 1), 2)])
        .add_elements([TimestampedValue(("a", 2), 3)])
        .advance_watermark_to_infinity()
    )
    with TestPipeline() as p:
        windows = hr.WindowInto(
            FixedWindows(60),
            trigger=AfterWatermark(early=AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
        )
        sums = p | stream | windows | hr.CombinePerKey(sum)
        names = p | hr.Create([("a", "ann"), ("b", "bob")]) | hr.WithTimestamps(lambda _: 5)
        joined = (sums, names | "Same" >> hr.WindowInto(sums.windowing)) | hr.InnerJoin()
        changes = capture(joined)
        assert_that(joined, equal_to([("a", (3, "ann")), ("b", (1, "bob"))]))
    assert (-1, ("a", (1, "ann"))) in changes.changes


def test_flatten_with_merges_within_a_chain() -> None:
    with TestPipeline() as p:
        other = p | "Other" >> hr.Create([2])
        created = p | hr.Create([1])
        merged = created | hr.FlattenWith(other, "Third" >> hr.Create([3]))
        assert_that(merged | hr.Map(lambda x: x * 10), equal_to([10, 20, 30]))
    with pytest.raises(TypeError, match="FlattenWith needs collections or transforms"):
        hr.FlattenWith([1])  # type: ignore[arg-type]


def test_flatten_puts_collections_together() -> None:
    with TestPipeline() as p:
        left, right = sides(p, [1], [2])
        assert_that((left, right) | hr.Flatten(), equal_to([1, 2]))
        assert_that([left, left] | "Twice" >> hr.Flatten(), equal_to([1, 1]))
        assert_that([] | "Empty" >> hr.Flatten(pipeline=p), is_empty())


def test_flatten_refuses_other_windows() -> None:
    left, right = sides(hr.Pipeline())
    with pytest.raises(hr.PipelineError, match="has the windows of"):
        (left, right | hr.WindowInto(FixedWindows(60))) | hr.Flatten()


def test_flatten_warns_of_another_trigger() -> None:
    left, right = sides(hr.Pipeline())
    counted = hr.WindowInto(
        GlobalWindows(),
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    with pytest.warns(UserWarning, match="the strategy of the first applies"):
        flat = (left, right | counted) | hr.Flatten()
    assert flat.windowing == left.windowing


def test_a_flat_collection_ends_if_all_of_its_parts_do() -> None:
    p = hr.Pipeline()
    endless = p | TestStream().add_elements([1])
    ended = p | hr.Create([1])
    assert not ((ended, endless) | hr.Flatten()).is_bounded
    assert ((ended, ended) | "ended" >> hr.Flatten()).is_bounded


def test_partition_divides() -> None:
    with TestPipeline() as p:
        parts = p | hr.Create(range(7)) | hr.Partition(lambda x, n, by: x // by % n, 3, 2)
        assert_that(parts[0], equal_to([0, 1, 6]))
        assert_that(parts[1], equal_to([2, 3]))
        assert len(parts) == 3
        _, _, last = parts
        assert_that(last, equal_to([4, 5]))


class Parity(hr.PartitionFn):
    def partition_for(self, element, num_partitions):
        return element % num_partitions


def test_a_partition_fn_divides_too() -> None:
    with TestPipeline() as p:
        even, odd = p | hr.Create([1, 2, 3]) | hr.Partition(Parity(), 2)
        assert_that(even, equal_to([2]))
        assert_that(odd, equal_to([1, 3]))


@pytest.mark.parametrize("part", [-1, 2, 0.5, True])
def test_a_part_is_a_number_in_range(part) -> None:
    p = TestPipeline()
    p | hr.Create([1]) | hr.Partition(lambda x, n: part, 2)
    with pytest.raises(hr.ElementError, match="the partition function returned"):
        p.run()


def test_reshuffle_changes_nothing() -> None:
    with TestPipeline() as p:
        stamped = p | hr.Create([1, 2]) | hr.WithTimestamps(lambda x: x)
        windows = stamped | hr.WindowInto(FixedWindows(60))
        shuffled = capture(windows | hr.Reshuffle())
        assert_that(windows, equal_to([1, 2]))
    assert sorted(float(e.timestamp) for e in shuffled.elements) == [1, 2]
