"""Merging changelogs by key into Delta and Iceberg tables."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

import headrace as hr
from headrace.testing import TestPipeline, TestStream
from headrace.transforms.window import FixedWindows, TimestampedValue
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import Timestamp
from tests.unit.sdk.io.lake import lakes
from tests.unit.sdk.io.lake.lakes import batch, parts

pytestmark = pytest.mark.mode("streaming")

PAIR = {"key": "k", "columns": ["k", "n"]}


def test_a_later_element_replaces_an_earlier_one(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1)), (1, ("a", 2))))
    assert lake.tuples() == [("a", 2), ("b", 1)]
    sink.write(batch(1, (1, ("b", 5)), (1, ("c", 6))))
    assert lake.tuples() == [("a", 2), ("b", 5), ("c", 6)]
    assert lake.query("select k, n from {} order by k") == lake.tuples()


def test_a_retraction_deletes_the_row(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1))))
    sink.write(batch(1, (-1, ("a", 1))))
    assert lake.tuples() == [("b", 1)]
    sink.write(batch(2, (-1, ("b", 1)), (-1, ("nothing", 1))))
    assert lake.tuples() == []
    sink.write(batch(3, (1, ("c", 1))))
    assert lake.tuples() == [("c", 1)]


def test_a_retraction_of_another_row_deletes_nothing(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 2))))
    sink.write(batch(1, (-1, ("a", 1))))
    assert lake.tuples() == [("a", 2)]
    sink.write(batch(2, (-1, ("a", 1)), (-1, ("a", 2)), (-1, ("a", 3))))
    assert lake.tuples() == []


def test_a_replacement_may_come_before_the_retraction_and_in_another_part(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1))))
    sink.commit(parts(sink, 1, [(1, ("a", 2))], [(-1, ("b", 1))], [(-1, ("a", 1)), (1, ("b", 7))]))
    assert lake.tuples() == [("a", 2), ("b", 7)]
    # a value that only one part adds, and that another takes back
    sink.commit(parts(sink, 2, [(1, ("c", 1)), (1, ("c", 2))], [(-1, ("c", 2))]))
    assert lake.tuples() == [("a", 2), ("b", 7), ("c", 1)]


def test_staged_files_are_removed(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(1, (1, ("a", 1)), (-1, ("a", 1))))
    assert not [path for path in lake.files() if Path(path).name.startswith("staged")]


def test_a_replayed_batch_changes_nothing(lake) -> None:
    sink = lake.sink(**PAIR)
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(1, (-1, ("a", 1)), (1, ("a", 2))))
    sink.write(batch(0, (1, ("a", 1))))
    assert lake.tuples() == [("a", 2)]
    lake.sink(**PAIR).write(batch(1, (-1, ("a", 1)), (1, ("a", 9))))
    assert lake.tuples() == [("a", 2)]
    assert lake.last() == 1


def test_keys_of_all_kinds(lake) -> None:
    key = {
        "i": -5,
        "s": 'it\'s "so"',
        "d": date(2013, 1, 1),
        "t": datetime(2013, 1, 1, tzinfo=UTC),
        "m": Decimal("1.50"),
        "b": b"\0",
    }
    names = [*key, 'Wait "x"']
    sink = lake.sink([*key], columns=names)
    other = (*list(key.values())[:-1], b"\1", 1.5)
    sink.write(batch(0, (1, (*key.values(), 1.5)), (1, other)))
    sink.write(batch(1, (1, (*key.values(), None)), (-1, other)))
    (row,) = lake.rows()
    assert row == key | {'Wait "x"': None}


def test_nested_and_missing_values_are_compared(lake) -> None:
    rows = [
        hr.Row(k="a", s={"x": [1, None]}, n=None, f=float("nan"), at=Timestamp(5)),
        hr.Row(k="b", s=None, n=3, f=0.1, at=Timestamp(0.000_001)),
    ]
    sink = lake.sink("k")
    sink.write(batch(0, *((1, row) for row in rows)))
    sink.write(batch(1, (-1, hr.Row(**{**vars(rows[0]), "s": {"x": [1, 2]}}))))
    assert len(lake.rows()) == 2
    sink.write(batch(2, *((-1, row) for row in rows)))
    assert lake.rows() == []


def test_a_key_must_be_there_and_comparable(lake) -> None:
    sink = lake.sink("k")
    with pytest.raises(hr.ElementError, match="has None in the key column 'k'"):
        sink.write(batch(0, (1, {"k": None, "n": 1})))
    with pytest.raises(hr.ElementError, match="does not have the key column 'k'"):
        sink.write(batch(0, (1, {"n": 1})))
    with pytest.raises(hr.ElementError, match="in the key column 'k'"):
        sink.write(batch(0, (1, {"k": [1], "n": 1})))
    lake.sink().write(batch(0, (1, {"n": 1})))
    with pytest.raises(hr.PipelineError, match="the key column 'k' is not a column of the table"):
        lake.sink("k")


def test_other_columns_of_the_table_keep_their_values(lake) -> None:
    sink = lake.sink("k")
    sink.write(batch(0, *((1, {"k": k, "n": 1, "note": [k]}) for k in "ab")))
    lake.sink(**PAIR).write(batch(1, (1, ("a", 2)), (1, ("c", 3))))
    assert lake.tuples() == [("a", 2, ["a"]), ("b", 1, ["b"]), ("c", 3, None)]


def test_a_row_can_move_to_another_partition(lake) -> None:
    sink = lake.sink("k", partition_by="p")
    sink.write(batch(0, *((1, {"k": k, "p": "x", "n": 1}) for k in "abc")))
    sink.write(batch(1, (1, {"k": "a", "p": "y", "n": 2}), (1, {"k": "d", "p": "z", "n": 1})))
    assert lake.tuples() == [("a", "y", 2), ("b", "x", 1), ("c", "x", 1), ("d", "z", 1)]
    assert len(lake.live()) == 3


def test_merged_files_are_compacted(lake) -> None:
    sink = lake.sink(**PAIR, optimize=5)
    for number in range(5):
        sink.write(batch(number, (1, (f"k{number}", number)), (1, ("all", number))))
    assert len(lake.live()) == 1
    assert lake.tuples() == [("all", 4), *((f"k{n}", n) for n in range(5))]


def test_a_column_is_added_by_a_merge(lake) -> None:
    sink = lake.sink("k", schema_evolution=True)
    sink.write(batch(0, (1, {"k": "a"}), (1, {"k": "b"})))
    sink.write(batch(1, (-1, {"k": "a"}), (1, {"k": "a", "n": 1})))
    sink.write(batch(2, (-1, {"k": "b"}), (-1, {"k": "a", "n": 1}), (1, {"k": "c", "n": None})))
    assert lake.rows() == [{"k": "c", "n": None}]


def test_retractions_need_a_key(lake) -> None:
    p = TestPipeline()
    changing = (
        p
        | hr.Create([("a", 1)])
        | hr.WindowInto(
            FixedWindows(60),
            trigger=AfterWatermark(early=AfterCount(1)),
            accumulation_mode=AccumulationMode.RETRACTING,
        )
        | hr.CombinePerKey(sum)
    )
    with pytest.raises(hr.PipelineError, match="rows are only added to a table without a key"):
        changing | lake.write(columns=["k", "n"])


@pytest.mark.mode("streaming")
def test_late_corrections_arrive(runner, lake) -> None:
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("quay", 5), 10)])
        .add_elements([TimestampedValue(("quay", 3), 20), TimestampedValue(("mill", 4), 70)])
        .advance_watermark_to(60)
        .add_elements([TimestampedValue(("quay", 1), 30)])
        .advance_watermark_to_infinity()
    )
    with TestPipeline(runner=runner) as p:
        _ = (
            p
            | stream
            | hr.WindowInto(
                FixedWindows(60),
                trigger=AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
                accumulation_mode=AccumulationMode.RETRACTING,
                allowed_lateness=600,
            )
            | hr.CombinePerKey(sum)
            | lake.write(key="shop", columns=["shop", "total"], windows=True)
        )
    start, minute = datetime(1970, 1, 1, tzinfo=UTC), datetime(1970, 1, 1, 0, 1, tzinfo=UTC)
    assert [(r["shop"], r["total"], r["window_start"]) for r in lake.rows()] == [
        ("mill", 4, minute),
        ("quay", 9, start),
    ]


@st.composite
def changelogs(draw):
    """Batches of parts of a changelog of rows by key, and the rows by key after each batch."""
    keys, rows = "abc", st.tuples(st.integers(0, 2), st.sampled_from([None, "x"]))
    current: dict[str, tuple] = {}
    batches = []
    for _ in range(draw(st.integers(1, 4))):
        changes = []
        for key in draw(st.lists(st.sampled_from(keys), max_size=5)):
            if key in current:
                changes.append((-1, (key, *current.pop(key))))
            if draw(st.integers(0, 2)):
                current[key] = draw(rows)
                changes.append((1, (key, *current[key])))
        shuffled = draw(st.permutations(changes))
        cut = draw(st.integers(0, len(shuffled)))
        batches.append(([shuffled[:cut], shuffled[cut:]], dict(current)))
    return batches


@pytest.mark.slow
@pytest.mark.parametrize("name", ["delta", "iceberg"])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_any_changelog_in_any_batches_with_replays_is_the_dict(name, data) -> None:
    batches = data.draw(changelogs())
    with tempfile.TemporaryDirectory() as folder:
        lake = lakes.lake(name, Path(folder))
        arguments = {"key": "k", "columns": ["k", "n", "s"], "types": {"n": int, "s": str}}
        arguments["partition_by"] = data.draw(st.sampled_from([(), ("s",)]))
        arguments["optimize"] = data.draw(st.integers(0, 2))
        sink = lake.sink(**arguments)
        for number, (contents, current) in enumerate(batches):
            commits = [parts(sink, number, *contents)]
            for replayed in data.draw(st.lists(st.integers(0, number), max_size=2)):
                commits.append(parts(sink, replayed, *batches[replayed][0]))
            for commit in commits:
                sink.commit(commit)
            expected = sorted(((k, *row) for k, row in current.items()), key=repr)
            assert sorted(map(tuple, (r.values() for r in lake.rows())), key=repr) == expected
