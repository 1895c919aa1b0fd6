"""Delta and Iceberg tables as sources: the rows of a version, and all changes, from any position again."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any, Protocol

import deltalake
import narwhals as nw
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import headrace as hr
from headrace.sdk.io.lake.delta_source import DeltaVersions
from headrace.sdk.io.lake.iceberg_source import IcebergSnapshots
from headrace.sdk.io.lake.table_versions import (
    ChangesSource,
    TableVersions,
    rows_of as rows_in,
)
from headrace.sdk.io.lake.version_source import VersionSource
from headrace.testing import TestPipeline, capture

SCHEMA = pa.schema([("id", pa.int64()), ("name", pa.string()), ("at", pa.int64())])


class Table(Protocol):
    """A table that a test changes."""

    def append(self, *ids: int) -> None: ...
    def delete(self, key: int) -> None: ...
    def update(self, key: int) -> None: ...
    def compact(self) -> None: ...
    def rows(self) -> list[dict[str, Any]]: ...
    def versions(self) -> TableVersions: ...
    def read(self, **how: Any) -> Any: ...


def rows_of(ids: Any) -> pa.Table:
    return pa.Table.from_pylist(
        [{"id": n, "name": f"n{n}", "at": 10 * n} for n in ids], schema=SCHEMA
    )


class Delta:
    """A Delta table with a change data feed."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "table")
        feed = {"delta.enableChangeDataFeed": "true"}
        deltalake.DeltaTable.create(self.path, SCHEMA, configuration=feed)

    @property
    def table(self) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self.path)

    def append(self, *ids: int) -> None:
        deltalake.write_deltalake(self.path, rows_of(ids), mode="append")

    def delete(self, key: int) -> None:
        self.table.delete(f"id = {key}")

    def update(self, key: int) -> None:
        self.table.update(updates={"name": "name || '+'"}, predicate=f"id = {key}")

    def compact(self) -> None:
        self.table.optimize.compact()

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table.to_pyarrow_table().to_pylist()
        return found

    def versions(self) -> DeltaVersions:
        return DeltaVersions(self.path)

    def read(self, **how: Any) -> hr.io.ReadFromDelta:
        return hr.io.ReadFromDelta(self.path, **how)


class Iceberg:
    """An Iceberg table of a catalog in SQLite."""

    def __init__(self, folder: Path) -> None:
        self.properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}",
        }
        self.catalog = load_catalog("test", **self.properties)
        self.catalog.create_namespace("shop")
        self.catalog.create_table("shop.people", SCHEMA)

    @property
    def table(self) -> Any:
        return self.catalog.load_table("shop.people")

    def append(self, *ids: int) -> None:
        self.table.append(rows_of(ids))

    def delete(self, key: int) -> None:
        self.table.delete(f"id == {key}")

    def update(self, key: int) -> None:
        rows = self.table.scan(f"id == {key}").to_arrow().to_pylist()
        changed = [row | {"name": row["name"] + "+"} for row in rows]
        if changed:
            self.table.overwrite(pa.Table.from_pylist(changed, SCHEMA), f"id == {key}")

    def compact(self) -> None:
        self.table.overwrite(self.table.scan().to_arrow())

    def rows(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.table.scan().to_arrow().to_pylist()
        return found

    def versions(self) -> IcebergSnapshots:
        return IcebergSnapshots("shop.people", "test", self.properties)

    def read(self, **how: Any) -> hr.io.ReadFromIceberg:
        where = {"catalog": "test", "catalog_properties": self.properties}
        return hr.io.ReadFromIceberg("shop.people", **(where | how))


@pytest.fixture(params=[Delta, pytest.param(Iceberg, marks=pytest.mark.slow)])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Table:
    made: Table = request.param(tmp_path)
    return made


def change(table: Table, chance: Random, number: int) -> None:
    """Change a table in some way."""
    key = chance.randrange(number + 1)
    what = chance.choice(["append", "append", "delete", "update", "compact"])
    if what == "append":
        table.append(number, number + 100)
    elif what == "compact":
        table.compact()
    else:
        getattr(table, what)(key)


def batch_of(source: ChangesSource, offset: Any, limit: int) -> Any:
    """The batch at a position."""
    return source.read(None, offset, limit)


def read_all(source: ChangesSource, offset: Any, limit: int) -> tuple[list[Any], Any]:
    """The changes from a position on to the present end; each batch is read again, as after a crash."""
    found: list[Any] = []
    while True:
        batch = batch_of(source, offset, limit)
        own = [record.value for record in batch.records]
        if own:
            again = batch_of(source, offset, len(own))
            assert [record.value for record in again.records][: len(own)] == own
        found += own
        if not own and batch.next_offset == offset:
            return found, offset
        offset = batch.next_offset


def net(changes: Any) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for diff, row in changes:
        found[tuple(sorted(row.items()))] += diff
    return Counter({row: n for row, n in found.items() if n})


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_changes_add_up_to_the_rows(table: Table, seed: int) -> None:
    chance = Random(seed)
    table.append(0, 50)
    source, offset, known = ChangesSource(table.versions()), None, []
    for number in range(1, 6):
        change(table, chance, number)
        if chance.random() < 0.6:
            more, offset = read_all(source, offset, chance.choice([1, 3, 100]))
            known += more
            assert net(known) == net((1, row) for row in table.rows())
    rest, offset = read_all(source, offset, 2)
    assert net(known + rest) == net((1, row) for row in table.rows())


def test_changes_after_a_version(table: Table) -> None:
    table.append(1, 2)
    version = table.versions().current()
    table.update(1)
    table.delete(2)
    found, _ = read_all(ChangesSource(table.versions(), version), None, 10)
    assert net(found) == net(
        [
            (-1, {"id": 1, "name": "n1", "at": 10}),
            (1, {"id": 1, "name": "n1+", "at": 10}),
            (-1, {"id": 2, "name": "n2", "at": 20}),
        ]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["Delta", "Iceberg"])
def test_what_is_merged_into_a_table_is_read_as_changes(kind: str, tmp_path: Path) -> None:
    """Upserts in several batches, into a table and out of it again."""
    upserts = [(f"k{n % 3}", None if n % 5 == 0 else n) for n in range(1, 15)]
    name, where = str(tmp_path / "totals"), dict[str, Any]()
    if kind == "Iceberg":
        name, where = "shop.totals", {"catalog_properties": Iceberg(tmp_path).properties}
    with hr.Pipeline(argv=["--streaming", "--max-records-per-batch=2"]) as p:
        rows = p | hr.Create(upserts) | hr.FromUpserts()
        rows | getattr(hr.io, f"WriteTo{kind}")(name, key="k", columns=["k", "v"], **where)
    read = getattr(hr.io, f"ReadFrom{kind}")(name, **where)._table
    first = read.following(read.following(None))
    found, _ = read_all(ChangesSource(read, first), None, 3)
    present = [(1, row) for part in range(read.parts(first)) for row in rows_in(read, first, part)]
    expected = {"k0": 12, "k1": 13, "k2": 14}
    assert net(present + found) == net((1, {"k": k, "v": v}) for k, v in expected.items())
    assert any(diff < 0 for diff, _ in found)


def test_files_that_are_joined_change_nothing(table: Table) -> None:
    table.append(1)
    table.append(2)
    version = table.versions().current()
    table.compact()
    assert table.versions().current() != version
    assert net(read_all(ChangesSource(table.versions(), version), None, 10)[0]) == {}


def test_a_table_that_is_empty_at_first(table: Table) -> None:
    source = ChangesSource(table.versions())
    found, offset = read_all(source, None, 10)
    assert found == []
    table.append(1)
    assert len(read_all(source, offset, 10)[0]) == 1


def test_watermarks_follow_the_commits(table: Table) -> None:
    table.append(1)
    source = ChangesSource(table.versions(), table.versions().current())
    offset = batch_of(source, None, 1).next_offset
    table.append(2)
    batch = batch_of(source, offset, 1)
    assert batch.watermark is not None
    (record,) = batch.records
    assert float(record.timestamp) == float(batch.watermark)


@pytest.mark.alone
@pytest.mark.mode("batch")
def test_a_version_on_each_runner(runner: Any, table: Table) -> None:
    table.append(1, 2)
    table.append(3)
    with TestPipeline(runner=runner) as p:
        found = capture(p | table.read(columns=["id", "at"], timestamp="at"))
    assert sorted((e.value["id"], e.value["at"], float(e.timestamp)) for e in found.elements) == [
        (n, 10 * n, 10 * n) for n in (1, 2, 3)
    ]


def on_columns(p: hr.Pipeline, table: Table) -> Any:
    """The sums of names and windows of 20 seconds."""
    return (
        p
        | table.read(timestamp="at")
        | hr.Filter(nw.col("id") != 2)
        | hr.WithFields(twice=nw.col("id") * 2)
        | hr.WindowInto(hr.window.FixedWindows(20))
        | hr.GroupBy("name").aggregate_field("twice", sum, "total")
    )


@pytest.mark.alone
@pytest.mark.mode("batch", "streaming")
def test_a_version_on_columns_on_each_runner(runner: Any, table: Table) -> None:
    table.append(1, 2)
    table.append(3, 1)
    table.update(3)
    with TestPipeline(runner=runner) as p:
        found = capture(on_columns(p, table))
    assert sorted((*e.value, float(e.window.start)) for e in found.elements) == [
        ("n1", 4, 0),
        ("n3+", 6, 20),
    ]


def test_the_plan_of_a_version_on_columns(table: Table) -> None:
    table.append(1)
    p = hr.Pipeline(argv=[])
    on_columns(p, table)
    lines = [line.strip() for line in hr.explain(p).splitlines()]
    assert f"'{type(table.read()).__name__}" in next(line for line in lines if "works on" in line)
    assert [line.rpartition(": ")[2] for line in lines if "works on" in line] == ["columns"] * 6
    assert any("reads the fields: id, name, at" in line for line in lines)


TYPES = pa.schema(
    [
        ("n", pa.int32()),
        ("share", pa.float32()),
        ("price", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", "UTC")),
        ("tags", pa.list_(pa.string())),
        ("raw", pa.binary()),
        ("sold", pa.bool_()),
        ("place", pa.string()),
    ]
)
DAY = date(2024, 2, 29)
MOMENT = datetime(2024, 2, 29, 12, 30, 0, 125, tzinfo=UTC)
VALUES = [
    (1, 0.5, Decimal("2.50"), DAY, MOMENT, ["a", "b"], b"\xff", True, "quay"),
    (None, None, None, None, MOMENT, None, None, None, None),
    (-7, -0.25, Decimal("-0.01"), DAY, MOMENT, [], b"", False, ""),
]


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("fields", [(), ("n", "place"), ("at", "tags"), ("n", "nowhere")])
def test_tables_have_the_elements(kind: str, fields: tuple[str, ...], tmp_path: Path) -> None:
    versions = versions_with_types(kind, tmp_path)
    rows = VersionSource(versions, timestamp="at")
    tables = rows.with_fields(fields)
    found: list[Any] = []
    given: list[Any] = []
    for partition in rows.partitions():
        for bundle in tables.read_tables(partition):
            found += zip(bundle.values, bundle.timestamps, strict=True)
        given += rows.read(partition)
    kept = fields if "nowhere" not in fields else ()
    assert found == [
        (
            {name: each.value[name] for name in each.value if not kept or name in kept},
            each.timestamp.micros,
        )
        for each in given
    ]
    assert len(given) == len(VALUES)
    for values in VALUES:
        assert dict(zip(TYPES.names, values, strict=True)) in [each.value for each in given]


def versions_with_types(kind: str, folder: Path) -> TableVersions:
    """A table with values of many types; Delta's has a file for each value of a column."""
    rows = [dict(zip(TYPES.names, each, strict=True)) for each in VALUES]
    table = pa.Table.from_pylist(rows, schema=TYPES)
    if kind == "delta":
        path = str(folder / "table")
        deltalake.write_deltalake(path, table, partition_by=["sold"])
        return DeltaVersions(path)
    iceberg = Iceberg(folder)
    iceberg.catalog.create_table("shop.types", TYPES).append(table)
    return IcebergSnapshots("shop.types", "test", iceberg.properties)


@pytest.mark.parametrize("tables", [False, True])
def test_a_row_without_a_time(table: Table, tables: bool) -> None:
    table.append(1)
    source = VersionSource(table.versions(), timestamp="name")
    (partition,) = source.partitions()
    with pytest.raises(hr.errors.ElementError, match=r"n1") as error:
        list(source.read_tables(partition) if tables else source.read(partition))
    assert "'id': 1" in str(error.value)
    source = VersionSource(table.versions(), timestamp="nowhere")
    with pytest.raises(hr.errors.PipelineError, match="no column 'nowhere'"):
        list(source.read_tables(partition) if tables else source.read(partition))


def test_a_function_of_rows_gives_their_times(table: Table) -> None:
    table.append(1)
    source = VersionSource(table.versions(), timestamp=lambda row: row["at"] + 1)
    assert source.records is None
    (partition,) = source.partitions()
    assert [float(each.timestamp) for each in source.read(partition)] == [11]
    source = VersionSource(table.versions(), timestamp=lambda row: row["name"] + 1)
    with pytest.raises(TypeError) as error:
        list(source.read(partition))
    (note,) = error.value.__notes__
    assert note.startswith("on the element {")
    assert "'name': 'n1'" in note


def test_an_earlier_version(table: Table) -> None:
    table.append(1)
    version = table.versions().current()
    table.append(2)
    name = "version" if isinstance(table, Delta) else "snapshot"
    with TestPipeline() as p:
        found = capture(p | table.read(**{name: version}))
    assert [e.value["id"] for e in found.elements] == [1]


UNTIL_CAUGHT_UP = ["--streaming", "--until-caught-up", "--max-records-per-batch=2"]


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_groupings_follow_the_changes_on_each_runner(runner: Any, tmp_path: Path) -> None:
    tables = [kind(tmp_path) for kind in (Delta, Iceberg)]
    versions = []
    for table in tables:
        table.append(1, 2, 3)
        versions.append(table.versions().current())
        table.update(1)
        table.delete(2)
    with TestPipeline(runner=runner, argv=UNTIL_CAUGHT_UP) as p:
        found = [
            capture(_by_decade(p, table, name, **how), name)
            for table, names in zip(tables, ("version", "snapshot"), strict=True)
            for name, how in (
                (f"{names} changes", {names: versions[tables.index(table)]}),
                (f"{names} all", {}),
            )
        ]
    nets = [net((e.diff, {"value": e.value}) for e in each.elements) for each in found]
    changed = {("n1", -1), ("n1+", 1), ("n2", -1)}
    for changes, whole in (nets[:2], nets[2:]):
        assert {row[0][1] for row in changes} == changed
        assert {row[0][1] for row in whole} == {("n1+", 1), ("n3", 1)}


def _by_decade(p: Any, table: Any, label: str, **how: Any) -> Any:
    """How many rows there are of each name, in windows by a column."""
    windows = hr.WindowInto(
        hr.window.FixedWindows(10),
        accumulation_mode=hr.trigger.AccumulationMode.DISCARDING,
        trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
        allowed_lateness=hr.window.FOREVER,
    )
    rows = p | f"{label} read" >> table.read(changes=True, timestamp="at", **how)
    names = rows | f"{label} name" >> hr.Map(lambda row: row["name"]) | f"{label} in" >> windows
    return names | f"{label} count" >> hr.combiners.Count.PerElement()


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "silent")
    deltalake.write_deltalake(path, rows_of([1]))
    with pytest.raises(hr.PipelineError, match="changes of version 0") as caught:
        DeltaVersions(path).changes(0)
    assert "enableChangeDataFeed" in caught.value.remedy
    with pytest.raises(hr.PipelineError, match="there is no Delta table"):
        DeltaVersions(str(tmp_path / "nothing")).current()
    iceberg = Iceberg(tmp_path)
    with pytest.raises(hr.PipelineError, match=r"snapshot 7 .* is not in the history"):
        iceberg.versions().following(7)
    with pytest.raises(hr.PipelineError, match="no snapshot 7"):
        iceberg.versions().parts(7)
    with pytest.raises(hr.PipelineError, match="nothing is late"):
        iceberg.read(allowed_lateness=3)


def test_secrets_are_not_shown() -> None:
    delta = hr.io.ReadFromDelta(
        "s3://me:s3cr3t@bucket/t?x=s3cr3t", storage_options={"secret": "s3cr3t"}
    )
    iceberg = hr.io.ReadFromIceberg("a.b", catalog_properties={"s3.secret": "s3cr3t"})
    for read in (delta, iceberg):
        p = hr.Pipeline()
        p | read
        shown = f"{read!r} {read.label} {read.display_data()} {hr.explain(p)} {p.graph!r}"
        assert "s3cr3t" not in shown
