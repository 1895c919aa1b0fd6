"""Fields by name in sources and sinks: classes of records as schemas."""

import sqlite3
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, NamedTuple

import attrs
import pyarrow as pa
import pytest
from pyarrow import parquet

import headrace as hr
from headrace.io import (
    ReadFromCsv,
    ReadFromJson,
    ReadFromParquet,
    ToDataFrame,
    WriteToCsv,
    WriteToJson,
    WriteToParquet,
    WriteToTable,
)
from headrace.sdk.elements.schemas import checked_records
from headrace.sdk.io.frames.frame_source import FrameRows
from tests.unit.sdk.io.files import Kept, pipeline, values, visible

pytestmark = pytest.mark.mode("batch")


class Tupled(NamedTuple):
    quay: str
    minutes: int | None
    day: date


@dataclass(frozen=True)
class Data:
    quay: str
    minutes: int | None
    day: date


@attrs.frozen(kw_only=True)
class Attrs:
    quay: str
    minutes: int | None
    day: date


class Nested(NamedTuple):
    quay: str
    minutes: list[int]


CLASSES: tuple[Any, ...] = (Tupled, Data, Attrs)
FIRST = date(2026, 1, 1)
CSV = "day,other,minutes,quay\n2026-01-01,x,5,north\n2026-01-01,,,south\n"
JSON = """{"quay": "north", "minutes": 5, "day": "2026-01-01", "other": 1}
{"day": "2026-01-01", "quay": "south"}
"""
TABLE = {
    "day": [FIRST, FIRST],
    "other": ["x", ""],
    "quay": ["north", "south"],
    "minutes": [5, None],
}


@pytest.fixture
def files(tmp_path: Any) -> dict[Any, Any]:
    """A file of each format, by its reader."""
    paths: dict[Any, Any] = {
        r: tmp_path / r.__name__ for r in (ReadFromCsv, ReadFromJson, ReadFromParquet)
    }
    paths[ReadFromCsv].write_text(CSV)
    paths[ReadFromJson].write_text(JSON)
    parquet.write_table(pa.table(TABLE), paths[ReadFromParquet])
    return paths


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_readers_return_instances_of_a_class(runner: Any, mode: str, files: Any) -> None:
    found: dict[tuple[type, type], list[tuple[Any, float]]] = {}
    with pipeline(runner, mode) as p:
        for reader, path in files.items():
            for kind in CLASSES:
                kept = found[reader, kind] = []
                label = f"{reader.__name__} {kind.__name__}"
                trips = p | label >> reader(path, schema=kind)
                assert trips.element_type is kind
                _ = trips | f"keep {label}" >> hr.Write(Kept(kept))
    for (_, kind), kept in found.items():
        trips = [
            kind(quay="north", minutes=5, day=FIRST),
            kind(quay="south", minutes=None, day=FIRST),
        ]
        assert sorted((value for value, _ in kept), key=str) == sorted(trips, key=str)


def test_rows_of_files_have_a_schema(files: Any) -> None:
    p = hr.Pipeline(argv=[])
    trips = p | ReadFromCsv(files[ReadFromCsv])
    assert str(trips.element_type) == "Row(day: str, other: str, minutes: int, quay: str)"
    assert str((p | ReadFromJson(files[ReadFromJson])).element_type) == (
        "Row(quay: str, minutes: int, day: str, other: int)"
    )
    some = p | "Some" >> ReadFromCsv(files[ReadFromCsv], columns=["quay", "minutes"])
    with pytest.raises(hr.PipelineError, match="have no field 'other'"):
        _ = some | hr.Select("other")


def test_timestamps_and_dead_letters_of_a_class(files: Any) -> None:
    files[ReadFromCsv].write_text(CSV + "2026-01-02,x,many,weir\n")
    good: list[tuple[Any, float]] = []
    with hr.Pipeline(argv=[]) as p:
        reader = ReadFromCsv(files[ReadFromCsv], Tupled, timestamp="minutes")
        outputs = p | reader.with_exception_handling(exc_class=hr.FileError)
        _ = outputs.good | hr.Write(Kept(good))
    assert good == [(Tupled("north", 5, FIRST), 5.0)]  # the second one has no timestamp


class Unread(NamedTuple):
    quay: str
    depth: float


class Mistyped(NamedTuple):
    quay: int


class Complex(NamedTuple):
    quay: complex


@pytest.mark.parametrize(
    ("reader", "kind", "problem"),
    [
        (ReadFromCsv, Unread, "there is no column 'depth'"),
        (ReadFromParquet, Unread, "there is no column 'depth'"),
        (ReadFromCsv, Mistyped, "'north' in the column 'quay' is not of type int"),
        (ReadFromJson, Mistyped, "'north' in the field 'quay' is not of type int"),
        (ReadFromParquet, Mistyped, "'north' in the column 'quay' is not of type int"),
        (ReadFromCsv, Complex, "the column 'quay' has the unsupported type <class 'complex'>"),
        (ReadFromJson, Complex, "the column 'quay' has the unsupported type <class 'complex'>"),
        (ReadFromCsv, int, "<class 'int'> has no named fields"),
        (ReadFromParquet, int, "<class 'int'> has no named fields"),
        (ReadFromCsv, hr.Row, "<class 'headrace.sdk.elements.row.Row'> has no named fields"),
        (ReadFromJson, hr.Row(quay="a"), "Row(quay='a') has no named fields"),
    ],
)
def test_classes_that_do_not_fit(files: Any, reader: Any, kind: Any, problem: str) -> None:
    with pytest.raises(hr.HeadraceError) as error:
        values("local", reader(files[reader], schema=kind))
    assert error.value.problem == problem
    assert error.value.remedy


@pytest.mark.parametrize("reader", [ReadFromCsv, ReadFromParquet])
def test_columns_beside_a_class(files: Any, reader: Any) -> None:
    with pytest.raises(hr.PipelineError, match=r"there are both columns and a (class|schema)"):
        reader(files[reader], schema=Tupled, columns=["quay"])


def test_a_csv_file_without_a_header_has_the_fields_in_order(tmp_path: Any) -> None:
    (tmp_path / "a.csv").write_text("north,5,2026-01-01\n")
    assert values("local", ReadFromCsv(tmp_path, Tupled, header=False)) == [
        Tupled("north", 5, FIRST)
    ]


class Day(NamedTuple):
    at: date
    trip: Nested | None


@pytest.mark.parametrize("reader", [ReadFromJson, ReadFromParquet])
def test_records_in_records(reader: Any, tmp_path: Any) -> None:
    days = [Day(FIRST, Nested("north", [5, 7])), Day(FIRST, None)]
    write = WriteToJson if reader is ReadFromJson else WriteToParquet
    with hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create(days) | write(tmp_path / "days")
    assert values("local", reader(tmp_path, schema=Day)) == days


def test_a_record_in_a_record_of_another_type() -> None:
    with pytest.raises(hr.ElementError, match="5 in the column 'trip' is not of type Nested"):
        checked_records(Day, ["at", "trip"], [[FIRST], [5]])
    with pytest.raises(hr.ElementError, match="5 in the column 'quay' is not of type str"):
        checked_records(Day, ["at", "trip"], [[FIRST], [{"quay": 5}]])


def test_frames_give_instances_of_a_class() -> None:
    batch = pa.RecordBatch.from_pydict(TABLE)
    assert FrameRows(schema=Data).bundle(batch).values[0] == Data("north", 5, FIRST)
    with pytest.raises(hr.ElementError, match="'north' in the column 'quay' is not of type int"):
        FrameRows(schema=Mistyped).bundle(batch)


# ----------------------------------------------------------------------------------------------- sinks


def nothing(p: hr.Pipeline, kind: Any) -> Any:
    trips = p | hr.Create([kind(quay="north", minutes=5, day=FIRST)])
    return trips | hr.Filter(lambda trip: trip.minutes > 5)


@pytest.mark.parametrize("kind", [hr.Row, *CLASSES])
def test_sinks_without_elements_have_columns(kind: Any, tmp_path: Any) -> None:
    table = ToDataFrame()
    with hr.Pipeline(argv=[]) as p:
        trips = nothing(p, kind)
        _ = trips | table
        _ = trips | WriteToParquet(tmp_path / "trips.parquet", shard_name_template="")
        _ = trips | WriteToCsv(tmp_path / "trips", shard_name_template="")
        _ = trips | WriteToJson(tmp_path / "trips", shard_name_template="")
    schema = pa.schema([("quay", pa.string()), ("minutes", pa.int64()), ("day", pa.date32())])
    assert parquet.read_schema(tmp_path / "trips.parquet").equals(schema)
    assert table.to_arrow().schema.equals(schema)
    assert len(table.to_arrow()) == 0
    assert (tmp_path / "trips.csv").read_text() == "quay,minutes,day\n"
    assert (tmp_path / "trips.json").read_text() == ""


def test_results_without_elements_have_columns(tmp_path: Any) -> None:
    totals = hr.GroupBy("quay").aggregate_field("minutes", sum, "minutes")
    with hr.Pipeline(argv=[]) as p:
        _ = nothing(p, hr.Row) | totals | WriteToCsv(tmp_path / "totals", shard_name_template="")
    assert visible(tmp_path) == {"totals.csv": "quay,minutes\n"}


class Measured(NamedTuple):
    depth: float | None
    turns: list[int]
    trip: Tupled
    price: Decimal | None
    at: datetime
    other: Any = None


def written(path: Any, *elements: Any, kind: Any = Measured, **how: Any) -> pa.Table:
    with hr.Pipeline(argv=[]) as p:
        _ = (
            p
            | hr.Create(elements).with_output_types(kind)
            | WriteToParquet(path, shard_name_template="", **how)
        )
    return parquet.read_table(path)


def test_columns_have_the_declared_types(tmp_path: Any) -> None:
    trip = Tupled("north", None, FIRST)
    naive = datetime(2026, 1, 1, 12)
    table = written(
        tmp_path / "a", Measured(1, [], trip, None, naive), Measured(None, [2], trip, None, naive)
    )
    assert [str(field.type) for field in table.schema] == [
        "double",
        "list<element: int64>",
        "struct<quay: string, minutes: int64, day: date32[day]>",
        "null",
        "timestamp[us]",
        "null",
    ]
    assert table.to_pylist()[1]["turns"] == [2]
    empty = written(tmp_path / "b").schema
    assert (empty.field("at").type, empty.field("price").type) == (
        pa.timestamp("us", "UTC"),
        pa.null(),
    )


def test_a_value_of_another_type_than_declared(tmp_path: Any) -> None:
    with pytest.raises(hr.ElementError, match="do not fit one schema"):
        written(tmp_path / "a", Mistyped("north"), kind=Mistyped)  # type: ignore[arg-type]


def test_a_class_as_the_schema_of_a_sink(tmp_path: Any) -> None:
    table = written(tmp_path / "a", {"quay": "north", "depth": 2}, kind=dict, schema=Unread)
    assert table.schema.equals(pa.schema([("quay", pa.string()), ("depth", pa.float64())]))
    with pytest.raises(hr.PipelineError, match="unsupported type <class 'complex'>"):
        written(tmp_path / "b", {"quay": 1j}, kind=dict, schema=Complex)


def test_sql_tables_have_the_declared_types(tmp_path: Any) -> None:
    pytest.importorskip("sqlalchemy")
    file = tmp_path / "trips.db"
    with hr.Pipeline(argv=[]) as p:
        trips = p | hr.Create([Tupled("north", None, FIRST)])
        _ = trips | WriteToTable(file, "trips", key="quay")
        _ = trips | WriteToTable(file, "given", key="quay", types={"minutes": float})
    with sqlite3.connect(file) as connection:
        kinds = {
            name: {row[1]: row[2] for row in connection.execute(f"pragma table_info({name})")}
            for name in ("trips", "given")
        }
    connection.close()
    assert kinds["trips"] == {"quay": "TEXT", "minutes": "BIGINT", "day": "DATE"}
    assert kinds["given"]["minutes"] == "DOUBLE"


def test_datetimes_with_a_zone_keep_it(tmp_path: Any) -> None:
    class At(NamedTuple):
        at: datetime

    table = written(tmp_path / "a", At(datetime(2026, 1, 1, tzinfo=UTC)), kind=At)
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")


# Round trips: what is written as a record of a kind is read as one.


FORMATS: tuple[tuple[Any, Any], ...] = (
    (WriteToCsv, ReadFromCsv),
    (WriteToJson, ReadFromJson),
    (WriteToParquet, ReadFromParquet),
)
STOPS = [("north", 5, FIRST), ("south", None, FIRST), ("north", 4, FIRST)]


def made(kind: Any) -> list[Any]:
    return [kind(quay=quay, minutes=minutes, day=day) for quay, minutes, day in STOPS]


def typed(p: Any, kind: Any) -> Any:
    """Records of a kind that a function makes, whose type is declared."""
    make = hr.MapTuple(lambda quay, minutes, day: kind(quay=quay, minutes=minutes, day=day))
    return p | hr.Create(STOPS) | "make" >> make.with_output_types(kind)


@pytest.mark.parametrize(("writer", "reader"), FORMATS)
@pytest.mark.parametrize("kind", [hr.Row, *CLASSES])
def test_records_in_files_are_read_as_they_were_written(
    kind: Any, writer: Any, reader: Any, tmp_path: Any
) -> None:
    with hr.Pipeline(argv=[]) as p:
        _ = typed(p, kind) | writer(tmp_path / "stops")
    types: Any = {"quay": str, "minutes": int, "day": date} if kind is hr.Row else kind
    rows = kind is hr.Row and reader is ReadFromParquet
    how: Any = {"as_rows": True} if rows else {"schema": types}
    found: list[tuple[Any, float]] = []
    named: list[tuple[Any, float]] = []
    totals: list[tuple[Any, float]] = []
    with hr.Pipeline(argv=[]) as p:
        stops = p | reader(tmp_path / "stops-*", **how)
        _ = stops | hr.Write(Kept(found))
        _ = stops | hr.Select("quay", late=lambda stop: stop.minutes) | "s" >> hr.Write(Kept(named))
        count = hr.GroupBy("quay").aggregate_field("minutes", hr.combiners.CountCombineFn(), "n")
        _ = stops | count | "g" >> hr.Write(Kept(totals))
    assert sorted((stop for stop, _ in found), key=str) == sorted(made(kind), key=str)
    assert {row.quay: row.late for row, _ in named} == {"north": 4, "south": None}
    assert sorted(tuple(total) for total, _ in totals) == [("north", 2), ("south", 1)]


@pytest.mark.parametrize("kind", [hr.Row, *CLASSES])
def test_records_in_tables_have_their_fields_as_columns(kind: Any, tmp_path: Any) -> None:
    table = ToDataFrame()
    with hr.Pipeline(argv=[]) as p:
        stops = typed(p, kind)
        _ = stops | table
        _ = stops | WriteToTable(tmp_path / "stops.db", "stops", key=None)
    arrow = table.to_arrow()
    rows = [dict(zip(("quay", "minutes", "day"), stop, strict=True)) for stop in STOPS]
    assert sorted(arrow.to_pylist(), key=str) == sorted(rows, key=str)
    with sqlite3.connect(tmp_path / "stops.db") as connection:
        query = "select quay, minutes from stops order by quay, minutes"
        assert connection.execute(query).fetchall() == [("north", 4), ("north", 5), ("south", None)]
    connection.close()
    frame = FrameRows(schema=None if kind is hr.Row else kind)
    (batch,) = arrow.combine_chunks().to_batches()
    again = frame.bundle(batch).values
    assert sorted(again, key=str) == sorted(made(kind), key=str)


def test_rows_of_parquet_files(tmp_path: Any) -> None:
    parquet.write_table(pa.table(TABLE), tmp_path / "stops")
    p = hr.Pipeline(argv=[])
    assert (p | "all" >> ReadFromParquet(tmp_path / "stops", as_rows=True)).element_type is hr.Row
    some = p | "some" >> ReadFromParquet(tmp_path / "stops", columns=["quay"], as_rows=True)
    with pytest.raises(hr.PipelineError, match="have no field 'day'"):
        _ = some | hr.Select("day")
    with pytest.raises(hr.PipelineError, match="both as_rows and a schema"):
        ReadFromParquet(tmp_path / "stops", as_rows=True, schema=Tupled)
