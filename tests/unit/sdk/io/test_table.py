"""WriteToTable: rows of the table after a run, in SQLite and in PostgreSQL."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections import namedtuple
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from uuid import UUID

import attrs
import pytest
import sqlalchemy as sa

import headrace as hr
from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.sources.sink import SinkBatch
from headrace.testing import TestPipeline, TestStream
from headrace.transforms.window import FixedWindows, Sessions, TimestampedValue
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import Duration, IntervalWindow, Timestamp
from tests.unit.sdk.io import writing_batches

pytestmark = pytest.mark.mode("batch")


def query(database, text):
    """The rows of a query, as tuples."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        result = connection.execute(sa.text(text))
        return [tuple(row) for row in result] if result.returns_rows else []


def contents(database, table):
    """The rows of a table in order."""
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.begin() as connection:
        found = sa.Table(table, sa.MetaData(), autoload_with=connection)
        return sorted(tuple(row) for row in connection.execute(sa.select(found)))


def opened(database, table="t", key=("k",), pattern=("k", "n"), types=None, windows=False):
    sink = TableSink(database, table, key, pattern, types or {}, windows)
    sink.open()
    return sink


def batch(number, *changes, run="", step="step"):
    """A batch of (diff, value) pairs."""
    rows = [Element(value, 0, (IntervalWindow(0, 60),), diff=diff) for diff, value in changes]
    return SinkBatch(number, 0, Bundle.of(rows), run, step)


Pair = namedtuple("Pair", "k n")


@attrs.frozen
class Record:
    k: str
    n: int


@dataclass
class Data:
    k: str
    n: int


@pytest.mark.parametrize("make", [Pair, Record, Data, hr.Row, dict])
def test_records_have_columns_by_name(runner, database, make) -> None:
    with TestPipeline(runner=runner) as p:
        records = p | hr.Create([make(k="a", n=1), make(k="b", n=2), make(k="a", n=3)])
        _ = records | hr.io.WriteToTable(database, "t", key="k")
    assert [key for key, _ in contents(database, "t")] == ["a", "b"]


def test_pairs_are_named_in_their_shape(runner, database) -> None:
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([(("a", 1), 5), (("b", 2), 7), (("a", 1), 3)])
        _ = (
            pairs
            | hr.CombinePerKey(sum)
            | hr.io.WriteToTable(
                database, "t", key=["shop", "day"], columns=[("shop", "day"), "total"]
            )
        )
    assert contents(database, "t") == [("a", 1, 8), ("b", 2, 7)]


def test_a_later_element_replaces_an_earlier_one(database) -> None:
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1)), (1, ("a", 2))))
    assert contents(database, "t") == [("a", 2), ("b", 1)]
    sink.write(batch(1, (1, ("b", 5)), (1, ("c", 6))))
    assert contents(database, "t") == [("a", 2), ("b", 5), ("c", 6)]
    sink.close()


def test_without_a_key_rows_are_added(database) -> None:
    sink = opened(database, key=())
    sink.write(batch(0, (1, ("a", 1)), (1, ("a", 1))))
    sink.write(batch(1, (1, ("a", 2))))
    assert contents(database, "t") == [("a", 1), ("a", 1), ("a", 2)]


def test_only_a_key(database) -> None:
    sink = opened(database, pattern=("k",))
    sink.write(batch(0, (1, ("a",)), (1, ("a",))))
    sink.write(batch(1, (1, ("a",)), (1, ("b",))))
    assert contents(database, "t") == [("a",), ("b",)]


def test_a_retraction_deletes_the_row(database) -> None:
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", None)), (1, ("c", 3))))
    sink.write(batch(1, (-1, ("a", 1)), (-1, ("b", None))))
    assert contents(database, "t") == [("c", 3)]


@pytest.mark.parametrize("seed", range(3))
def test_a_retraction_and_its_replacement_are_one_change_in_any_order(database, seed) -> None:
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1))))
    changes = [(-1, ("a", 1)), (1, ("a", 2)), (-1, ("a", 2)), (1, ("a", 3)), (-1, ("b", 1))]
    random.Random(seed).shuffle(changes)
    sink.write(batch(1, *changes))
    assert contents(database, "t") == [("a", 3)]


def test_what_comes_and_goes_in_a_batch_leaves_no_trace(database) -> None:
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(1, (1, ("b", 1)), (-1, ("b", 1)), (1, ("a", 2)), (-1, ("a", 2))))
    assert contents(database, "t") == [("a", 1)]


def test_a_retraction_does_not_delete_what_another_element_has_put_there(database) -> None:
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(1, (1, ("a", 2))))
    sink.write(batch(2, (-1, ("a", 1))))
    assert contents(database, "t") == [("a", 2)]


def totals(pipeline, windows):
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("a", 5), 10), TimestampedValue(("b", 1), 10)])
        .add_elements([TimestampedValue(("a", 3), 70)])
        .add_elements([TimestampedValue(("a", 1), 40)])
        .advance_watermark_to_infinity()
    )
    into = hr.WindowInto(
        windows,
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    return pipeline | stream | into | hr.CombinePerKey(sum)


def instant(seconds, database):
    zone = UTC if database.startswith("postgresql") else None
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=zone)


@pytest.mark.mode("streaming")
def test_panes_that_retract_leave_the_last_total_of_each_window(runner, database) -> None:
    with TestPipeline(runner=runner) as p:
        _ = totals(p, FixedWindows(60)) | hr.io.WriteToTable(
            database, "t", key="k", columns=["k", "n"], windows=True
        )
    first, second = ([instant(s, database), instant(s + 60, database)] for s in (0, 60))
    assert contents(database, "t") == [("a", 3, *second), ("a", 6, *first), ("b", 1, *first)]


@pytest.mark.mode("streaming")
def test_sessions_that_merge_leave_one_row(runner, database) -> None:
    """The element at 40 brings the sessions [10, 45) and [70, 105) together."""
    with TestPipeline(runner=runner) as p:
        _ = totals(p, Sessions(35)) | hr.io.WriteToTable(
            database, "t", key="k", columns=["k", "n"], windows=True
        )
    at = [instant(seconds, database) for seconds in (10, 45, 105)]
    assert contents(database, "t") == [("a", 9, at[0], at[2]), ("b", 1, at[0], at[1])]


def test_an_element_in_several_windows_is_a_row_for_each(database) -> None:
    sink = opened(database, key=("k", "window_start", "window_end"), windows=True)
    windows = (IntervalWindow(0, 60), IntervalWindow(30, 90))
    sink.write(SinkBatch(0, 0, Bundle.of([Element(("a", 1), 0, windows)])))
    assert [row[:2] for row in contents(database, "t")] == [("a", 1)] * 2
    sink.write(SinkBatch(1, 0, Bundle.of([Element(("a", 1), 0, windows[:1], diff=-1)])))
    (left,) = contents(database, "t")
    assert left[2:] == (instant(30, database), instant(90, database))


VALUES = {
    "truth": True,
    "whole": 2**40,
    "number": 0.1,
    "text": "Grüße",
    "raw": b"\x00\xff",
    "exact": Decimal("0.10"),
    "local": datetime(2013, 1, 1, 5, 17),
    "day": date(2013, 1, 1),
    "stretch": timedelta(hours=1),
    "id": UUID(int=7),
    "nested": {"a": [1, None]},
    "items": [1, "b"],
}


def test_values_come_back_as_they_were(database) -> None:
    sink = opened(database, pattern=None)
    sink.write(
        SinkBatch(
            0, 0, Bundle([{"k": 1, **VALUES}, dict.fromkeys(["k", *VALUES], None) | {"k": 2}])
        )
    )
    names = "truth, whole, number, text, raw"
    assert query(database, f"select {names} from t where k = 1") == [
        tuple(VALUES[name] for name in names.split(", "))
    ]
    table = sink.database.table
    with sink.database.engine.connect() as connection:
        found, empty = connection.execute(sa.select(table).order_by(table.c.k)).mappings()
    assert dict(found) == {"k": 1, **VALUES}
    assert set(empty.values()) == {2, None}
    changes = [Element({"k": 1, **VALUES}, 0, (), diff=-1)]
    sink.write(SinkBatch(1, 0, Bundle.of(changes)))
    assert query(database, "select k from t") == [(2,)]


def test_a_resumed_run_takes_the_same_values(database) -> None:
    """Also those for which the database has no type: a table that is found shows another one."""
    for number in range(2):
        sink = opened(database, pattern=None)
        sink.write(batch(number, (1, {"k": 1, **VALUES}), (1, {"k": 2, **VALUES}), run="run"))
        sink.close()
    sink = opened(database, pattern=None)
    sink.write(batch(2, (-1, {"k": 1, **VALUES}), run="run"))
    assert query(database, "select k from t") == [(2,)]


def test_times_are_in_utc(database) -> None:
    sink = opened(database, pattern=("k", "at", "of", "took"), types={"took": Duration})
    here = datetime.fromisoformat("2013-01-01T05:00:00-05:00")
    sink.write(batch(0, (1, ("a", Timestamp(0), here, Duration(90)))))
    ((_, at, of, took),) = contents(database, "t")
    assert at.replace(tzinfo=None) == datetime(1970, 1, 1)
    assert of.astimezone(UTC) == here if of.tzinfo else of == datetime(2013, 1, 1, 10)
    assert took == timedelta(seconds=90) or took == datetime(1970, 1, 1, 0, 1, 30)


def test_a_table_that_exists_is_used_as_it_is(database) -> None:
    query(
        database,
        "create table t (n bigint default 0, k varchar(5) unique not null, more int default 7)",
    )
    sink = opened(database)
    sink.write(batch(0, (1, ("a", 1))))
    sink.write(batch(1, (1, ("a", 2))))
    assert contents(database, "t") == [(2, "a", 7)]


def test_a_batch_is_written_once(database) -> None:
    for number, expected in [(3, 1), (3, 1), (2, 1), (4, 2)]:
        sink = opened(database, key=())  # as after a crash
        sink.write(batch(number, (1, ("a", number)), run="run"))
        assert len(contents(database, "t")) == expected
        sink.close()


def test_runs_and_steps_are_kept_apart_and_one_row_each(database) -> None:
    sink = opened(database, key=())
    for number in range(3):
        for run in ("one", "other"):
            for step in ("first", "second"):
                sink.write(batch(number, (1, ("a", number)), run=run, step=step))
    assert len(contents(database, "t")) == 12
    assert [row[2] for row in contents(database, "headrace_batches")] == [2] * 4


def test_a_run_without_a_name_leaves_no_record(database) -> None:
    opened(database).write(batch(0, (1, ("a", 1))))
    with pytest.raises(sa.exc.NoSuchTableError):
        contents(database, "headrace_batches")


def test_a_batch_that_fails_leaves_nothing(database) -> None:
    query(database, "create table t (k varchar(5) primary key, n bigint not null check (n < 100))")
    sink = opened(database)
    with pytest.raises(hr.ElementError):
        sink.write(batch(0, *[(1, (f"k{n}", n)) for n in range(101)], run="run"))
    assert contents(database, "t") == []
    sink.write(batch(0, (1, ("a", 1)), run="run"))
    assert contents(database, "t") == [("a", 1)]


def refused(database, *values, **how):
    sink = opened(database, **how)
    with pytest.raises(hr.ElementError) as caught:
        sink.write(SinkBatch(0, 0, Bundle(list(values)), step="Save/totals"))
    assert caught.value.where == "Save/totals"
    assert caught.value.remedy
    return caught.value.problem


def test_elements_that_are_no_rows_are_refused(database) -> None:
    assert "the element 7 has no columns" in refused(database, 7, pattern=None)
    assert "7 is not a tuple of ('k', 'n')" in refused(database, 7)
    assert "is not a tuple of ('a', 'b')" in refused(database, ("x", 1), pattern=(("a", "b"), "k"))
    assert "does not have the key column 'k'" in refused(database, {"n": 1}, pattern=None)
    assert "has no column 'n'" in refused(database, {"k": 1})
    differing = [{"k": 1, "n": 1}, {"k": 2}]
    assert "{'k': 2} has no column 'n'" in refused(database, *differing, pattern=None)
    more = [{"k": 1}, {"k": 2, "n": 1}]
    assert "has the columns ['k', 'n']" in refused(database, *more, pattern=None)
    assert "has None in the key column 'k'" in refused(database, (None, 1))
    assert "has [1] in the key column 'k'" in refused(database, ([1], 1))


def test_values_that_the_table_does_not_take_are_refused(database) -> None:
    assert "there is no SQL type for set" in refused(database, ("a", {1}))
    assert "'n' is None in all 1 rows" in refused(database, ("a", None))
    query(database, "create table t (k varchar(5) primary key, n bigint not null)")
    rows = [(f"k{n}", n) for n in range(50)]
    problem = refused(database, *rows[:30], ("bad", {1}), *rows[30:])
    assert "does not accept the element {'k': 'bad', 'n': {1}} in the column 'n'" in problem
    assert "{'k': 'bad', 'n': None}" in refused(database, *rows, ("bad", None))
    assert "'k': 'big'" in refused(database, *rows, ("big", 2**70))
    assert "has the column 'x', but the table t has only k, n" in refused(
        database, ("a", 1, 2), pattern=("k", "n", "x")
    )


def test_a_table_without_that_key_is_refused(database) -> None:
    query(database, "create table t (k varchar(5), n bigint)")
    with pytest.raises(hr.PipelineError, match="k are not a key of it"):
        opened(database)
    opened(database, key=()).write(batch(0, (1, ("a", 1))))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"url": "oracle://host/x"}, hr.UnsupportedError, "cannot write to oracle"),
        ({"url": "sqlite://"}, hr.PipelineError, "in-memory database"),
        ({"url": "nothing://"}, hr.UnsupportedError, "nothing"),
        ({"url": "postgresql+nodriver://host/x"}, hr.PipelineError, "nodriver"),
        ({"columns": ["a", "b"]}, hr.PipelineError, "'k' is not in the columns"),
        ({"columns": ["k", ["k"]]}, hr.PipelineError, "named twice"),
        ({"columns": "k"}, hr.PipelineError, "columns must be a list, not the string"),
        ({"types": {"k": set}}, hr.PipelineError, "no SQL type for the column 'k'"),
    ],
)
def test_arguments_without_sense_are_refused(arguments, error, words) -> None:
    with pytest.raises(error, match=words):
        hr.io.WriteToTable(**{"url": "x.db", "table": "t", "key": "k", **arguments})


def test_collections_that_do_not_suit_are_refused() -> None:
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="only added to a table without a key"):
        _ = totals(p, FixedWindows(60)) | hr.io.WriteToTable("x.db", "t", key=None)
    with pytest.raises(hr.PipelineError, match="the global window has no bounds"):
        _ = p | hr.Create([]) | hr.io.WriteToTable("x.db", "t", key="k", windows=True)


def test_a_password_is_not_shown() -> None:
    with pytest.raises(sa.exc.OperationalError) as caught, TestPipeline() as p:
        _ = (
            p
            | hr.Create([{"k": 1}])
            | hr.io.WriteToTable("postgresql://me:secret@127.0.0.1:1/x", "t", key="k")
        )
    assert "127.0.0.1:1" in caught.value.__notes__[0]
    assert "secret" not in "".join([str(caught.value), *caught.value.__notes__])


def test_the_sink_can_travel_to_another_process(database) -> None:
    pickle = pytest.importorskip("cloudpickle")
    sink = pickle.loads(pickle.dumps(TableSink(database, "t", ("k",), None, {"n": int}, False)))
    sink.open()
    sink.write(SinkBatch(0, 0, Bundle([{"k": "a", "n": 1}])))
    assert contents(database, "t") == [("a", 1)]


def started(database, first):
    command = [sys.executable, "-m", writing_batches.__name__, database, str(first)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_process_that_is_killed_and_goes_on_leaves_the_same_table(database) -> None:
    """Killed in the midst of a batch, four times; each time the last batch is written again."""
    random_wait = random.Random(7)
    number, kills = 0, 0
    while kills < 4:
        process = started(database, number)
        until = number + random_wait.randrange(3)
        for line in process.stdout:
            if line.strip() == "end":
                break
            number = int(line)
            if number >= until:
                time.sleep(random_wait.random() * 0.04)
                process.kill()
                break
        process.communicate()
        if process.returncode == 0:
            break
        kills += 1
    assert kills > 2
    writing_batches.write(database, number)

    last = writing_batches.BATCHES - 1
    standing = [(f"k{key}", last) for key in range(writing_batches.KEYS) if (last + key) % 3]
    assert contents(database, "keyed") == sorted(standing)
    added = [(b, n) for b in range(last + 1) for n in range(writing_batches.KEYS)]
    assert contents(database, "added") == added


@pytest.mark.slow
def test_a_hundred_thousand_rows_take_no_longer_than_they_should(tmp_path) -> None:
    """About 0.7 s when the machine is quiet; only a blunder would take as long as this allows."""
    sink = opened(f"sqlite:///{tmp_path}/test.db")
    rows = Bundle([(f"k{n}", n) for n in range(100_000)])
    start = time.perf_counter()
    sink.write(SinkBatch(0, 0, rows))
    assert time.perf_counter() - start < 15
    assert query(f"sqlite:///{tmp_path}/test.db", "select count(*) from t") == [(100_000,)]
