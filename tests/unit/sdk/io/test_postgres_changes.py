"""The source of PostgreSQL's changes, on a real server: the seam, positions, replays, and the slot."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Any

import psycopg
import pytest

import headrace as hr
from headrace.sdk.io.postgres.server import Server
from headrace.sdk.io.postgres.slot import Slot, lsn_number
from headrace.sdk.io.postgres.source import PostgresSource
from headrace.testing import TestPipeline, capture

PEOPLE = "create table people (id int primary key, name text, at timestamptz, paid numeric)"

Change = tuple[str, Any, Any]
"""The operation, the key, and the name of the row."""


class Database:
    """A database with people, and slots that are dropped."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, str(folder)
        self.connection = psycopg.connect(url, autocommit=True)

    def execute(self, *statements: str) -> list[Any]:
        cursor = self.connection.cursor()
        for statement in statements:
            cursor.execute(statement)
        return cursor.fetchall() if cursor.description else []

    def insert(self, *rows: tuple[int, str]) -> None:
        for number, name in rows:
            self.execute(f"insert into people values ({number}, '{name}')")

    def source(self, *tables: str) -> PostgresSource:
        names = tuple(f"public.{table}" for table in tables or ("people",))
        return PostgresSource(Server(self.url), Slot("s", "s", names), self.folder)

    def confirmed(self) -> int:
        ((text,),) = self.execute("select confirmed_flush_lsn::text from pg_replication_slots")
        return lsn_number(text)

    def read(self, **how: Any) -> hr.io.ReadFromPostgres:
        return hr.io.ReadFromPostgres(
            self.url, slot="s", **({"tables": "people"} | how), snapshot_dir=self.folder
        )


@pytest.fixture
def database(postgresql: str, tmp_path: Path) -> Iterator[Database]:
    found = Database(postgresql, tmp_path)
    found.execute("drop schema public cascade", "create schema public", PEOPLE)
    yield found
    found.execute(
        "select pg_drop_replication_slot(slot_name) from pg_replication_slots",
        "drop publication if exists s",
    )
    found.connection.close()


def batch_of(source: PostgresSource, offset: Any, limit: int) -> Any:
    """The batch at a position."""
    return source.read(None, offset, limit)


class Reading:
    """Reads a source from batch to batch."""

    def __init__(self, source: PostgresSource, limit: int = 100) -> None:
        self.source, self.limit, self.offset = source, limit, None

    def more(self) -> list[Change]:
        """The next batch, after the results of the last one have been written."""
        if self.offset is not None:
            self.source.committed([(None, self.offset)])
        batch = batch_of(self.source, self.offset, self.limit)
        self.offset = batch.next_offset
        return list(map(told, batch.records))

    def rest(self) -> list[Change]:
        """All batches up to one without changes."""
        found: list[Change] = []
        while True:
            before = self.offset
            found += self.more()
            if self.offset == before:
                return found


def told(record: Any) -> Change:
    change = record.value
    key = change.old_key if change.key is None else change.key
    return change.op, key and key[0], change.row and change.row.get("name")


def test_present_rows_come_first_and_then_changes(database: Database) -> None:
    database.insert((1, "ann"), (2, "bob"))
    reading = Reading(database.source())
    assert reading.rest() == [("r", 1, "ann"), ("r", 2, "bob")]
    database.insert((3, "cay"))
    database.execute(
        "update people set name = 'bo' where id = 2", "delete from people where id = 1"
    )
    assert reading.rest() == [("c", 3, "cay"), ("u", 2, "bo"), ("d", 1, None)]
    assert reading.rest() == []


def test_at_the_seam_nothing_is_twice_or_missing(database: Database) -> None:
    """One transaction commits before the slot, one before the rows are read, others run meanwhile."""
    database.insert((1, "before"))
    source = database.source()
    source.server.run(source.slot.create)
    database.insert((2, "between"))
    database.execute("update people set name = 'changed' where id = 1")
    with psycopg.connect(database.url) as other:
        other.execute("insert into people values (3, 'running')")
        database.insert((4, "also between"))
        reading = Reading(source)
        first = reading.more()
    database.insert((5, "after"))
    assert first == [("r", 2, "between"), ("r", 1, "changed"), ("r", 4, "also between")]
    assert reading.rest() == [("c", 3, "running"), ("c", 5, "after")]


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_the_same_position_gives_the_same_changes(database: Database, limit: int) -> None:
    database.insert(*((n, f"n{n}") for n in range(4)))
    reading = Reading(database.source(), limit)
    present = reading.rest()
    database.execute(
        "begin", *(f"insert into people values ({n}, 'n{n}')" for n in range(4, 9)), "commit"
    )
    database.execute("update people set id = 20 where id = 2", "delete from people where id = 3")
    changes: list[Change] = []
    while True:
        before = reading.offset
        own = reading.more()
        after, reading.offset = reading.offset, before
        database.insert((100 + len(changes), "later"))
        assert Reading.more(_again(reading, len(own))) == own
        reading.offset = after
        changes += own
        if len(changes) >= 7:
            break
    assert present == [("r", n, f"n{n}") for n in range(4)]
    assert changes[:7] == [
        *(("c", n, f"n{n}") for n in range(4, 9)),
        ("u", 20, "n2"),
        ("d", 3, None),
    ]


def test_skipped_transactions_do_not_count_in_a_replay(database: Database) -> None:
    source = database.source()
    source.server.run(source.slot.create)
    database.insert(*((n, "skipped") for n in range(20)))
    reading = Reading(source)
    assert len(reading.more()) == 20
    database.insert((20, "new"))
    again = _again(reading, 1)
    assert reading.more() == again.more() == [("c", 20, "new")]


def _again(reading: Reading, rows: int) -> Reading:
    """The same from the same position on, with the number of records as the limit, as a restart reads."""
    again = Reading(reading.source, max(rows, 1))
    again.offset = reading.offset
    return again


def test_present_rows_are_the_same_after_a_crash(database: Database) -> None:
    database.insert((1, "ann"), (2, "bob"))
    first = Reading(database.source(), 1).more()
    database.execute("update people set name = 'new'")
    again = Reading(database.source(), 1)
    assert again.more() == first == [("r", 1, "ann")]
    assert again.rest() == [("r", 2, "bob"), ("u", 1, "new"), ("u", 2, "new")]


def test_the_slot_moves_only_after_a_batch(database: Database) -> None:
    reading = Reading(database.source())
    reading.rest()
    database.insert((1, "ann"))
    before = database.confirmed()
    assert reading.more() == [("c", 1, "ann")]
    assert database.confirmed() == before
    assert reading.more() == []
    assert database.confirmed() > before


def test_a_new_run_on_a_slot_that_has_moved_starts_with_present_rows(database: Database) -> None:
    reading = Reading(database.source())
    database.insert((1, "ann"))
    reading.rest()
    database.insert((2, "bob"))
    reading.rest()
    database.execute("delete from people where id = 1")
    assert Reading(database.source()).rest() == [("r", 2, "bob")]


def test_a_log_without_changes_of_the_tables_is_confirmed(database: Database) -> None:
    reading = Reading(database.source())
    reading.rest()
    before = database.confirmed()
    database.execute(
        "create table other (n int)", "insert into other select generate_series(1, 99)"
    )
    assert reading.rest() == []
    assert database.confirmed() > before


def test_transactions_have_the_order_of_their_commits(database: Database) -> None:
    reading = Reading(database.source())
    reading.rest()
    with psycopg.connect(database.url) as slow:
        slow.execute("insert into people values (1, 'slow')")
        database.insert((2, "fast"))
        assert reading.rest() == [("c", 2, "fast")]
    assert reading.rest() == [("c", 1, "slow")]


def test_whole_old_rows_do_no_harm(database: Database) -> None:
    database.execute("alter table people replica identity full")
    reading = Reading(database.source())
    reading.rest()
    database.insert((1, "ann"))
    database.execute(
        "update people set name = 'anne'", "update people set id = 2", "delete from people"
    )
    assert reading.rest() == [("c", 1, "ann"), ("u", 1, "anne"), ("u", 2, "anne"), ("d", 2, None)]


def test_a_partitioned_table_is_one_table(database: Database) -> None:
    database.execute(
        "create table parts (id int primary key, name text) partition by range (id)",
        "create table low partition of parts for values from (0) to (10)",
        "create table high partition of parts for values from (10) to (20)",
        "insert into parts values (1, 'present')",
    )
    reading = Reading(database.source("parts"))
    assert reading.rest() == [("r", 1, "present")]
    database.execute(
        "insert into parts values (11, 'new')", "update parts set id = 12 where id = 1"
    )
    found = reading.rest()
    assert found[0] == ("c", 11, "new")
    assert sorted(found[1:]) == [("c", 12, "present"), ("d", 1, None)]


def test_an_aborted_transaction_has_no_changes(database: Database) -> None:
    reading = Reading(database.source())
    reading.rest()
    database.execute("begin", "insert into people values (1, 'no')", "rollback")
    assert reading.rest() == []


def test_watermarks_follow_the_commits(database: Database) -> None:
    source = database.source()
    first = batch_of(source, None, 10)
    assert first.watermark is None
    start = datetime.now(UTC).timestamp()
    database.insert((1, "ann"))
    second = batch_of(source, first.next_offset, 10)
    (record,) = second.records
    assert second.watermark is not None
    assert float(second.watermark) <= float(record.timestamp)
    assert start - 1 < float(record.timestamp)


# The transform


def run(database: Database, **how: Any) -> list[tuple[int, Any]]:
    """What the transform emits of all that there is now."""
    with TestPipeline(argv=["--until-caught-up", "--streaming"]) as p:
        found = capture(p | database.read(**how))
    return [(e.diff, e.value) for e in found.elements]


def taken_now(source: PostgresSource, connection: Any) -> None:
    """Make the slot, and take the present rows."""
    source.slot.create(connection)
    source._file().prepare(connection)


def test_rows_have_the_values_of_a_query(database: Database) -> None:
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    database.execute(f"insert into people values (1, 'ann', '{at.isoformat()}', 1.50)")
    expected = {"id": 1, "name": "ann", "at": at, "paid": Decimal("1.50")}
    assert run(database) == [(1, expected)]
    reading = Reading(database.source())
    reading.rest()
    database.execute(f"insert into people values (2, 'ann', '{at.isoformat()}', 1.50)")
    (record,) = batch_of(reading.source, reading.offset, 9).records
    assert record.value.row == expected | {"id": 2}


def test_a_large_value_that_is_not_changed_stays(database: Database) -> None:
    database.execute("alter table people alter column name set storage external")
    reading = Reading(database.source())
    reading.rest()
    database.execute("insert into people values (1, repeat('x', 10000))")
    database.execute("update people set paid = 3 where id = 1")
    batch = batch_of(reading.source, reading.offset, 9)
    assert "name" not in batch.records[1].value.row
    read = database.read()._reads
    change = read(batch.records[1].value, hr.Timestamp(0))[0][1]
    assert read.fill({"name": "long", "paid": 1}, change.row.value)["name"] == "long"


def test_updates_and_deletions_are_retractions(database: Database) -> None:
    """The present rows are those of the beginning, of which there are none."""
    source = database.source()
    source.server.run(partial(taken_now, source))
    database.insert((1, "ann"), (2, "bob"))
    database.execute("update people set name = 'anne' where id = 1")
    database.execute("update people set id = 3 where id = 2", "delete from people where id = 1")
    changes = [(row["id"], diff, row["name"]) for diff, row in run(database)]
    assert sorted(changes, key=itemgetter(0)) == [
        (1, 1, "ann"),
        (1, -1, "ann"),
        (1, 1, "anne"),
        (1, -1, "anne"),
        (2, 1, "bob"),
        (2, -1, "bob"),
        (3, 1, "bob"),
    ]


def test_several_tables_are_told_apart(database: Database) -> None:
    database.execute("create table pets (id int primary key, name text)")
    database.insert((1, "ann"))
    database.execute("insert into pets values (1, 'rex')")
    found = [
        (diff, table, row["name"])
        for diff, (table, row) in run(database, tables=["people", "pets"])
    ]
    assert found == [(1, "public.people", "ann"), (1, "public.pets", "rex")]


@pytest.mark.parametrize("on_truncate", ["error", "retract"])
def test_a_truncation(database: Database, on_truncate: str) -> None:
    source = database.source()
    source.server.run(partial(taken_now, source))
    database.insert((1, "ann"), (2, "bob"))
    database.execute("truncate people")
    database.insert((3, "cay"))
    if on_truncate == "error":
        with pytest.raises(hr.ElementError, match=r"public\.people is truncated"):
            run(database)
        return
    found = [(diff, row["name"]) for diff, row in run(database, on_truncate=on_truncate)]
    assert found == [(1, "ann"), (1, "bob"), (-1, "ann"), (-1, "bob"), (1, "cay")]


def test_errors_name_the_remedy(database: Database) -> None:
    database.execute("create table keyless (n int)")
    with pytest.raises(hr.PipelineError, match="has no primary key"):
        Reading(database.source("keyless")).more()
    with pytest.raises(hr.PipelineError, match="does not exist"):
        Reading(database.source("nowhere")).more()
    database.execute("create table silent (id int primary key)")
    database.execute("alter table silent replica identity nothing")
    with pytest.raises(hr.PipelineError, match="has no primary key"):
        Reading(database.source("silent")).more()
    reading = Reading(database.source())
    reading.rest()
    database.execute("select pg_drop_replication_slot('s')")
    with pytest.raises(hr.PipelineError, match="no longer exists"):
        reading.more()


def test_a_publication_of_other_tables_is_refused(database: Database) -> None:
    database.execute(
        "create table pets (id int primary key)", "create publication s for table pets"
    )
    with pytest.raises(hr.PipelineError, match=r"has the tables public\.pets, and not"):
        Reading(database.source()).more()


def test_the_password_is_not_shown() -> None:
    for dsn in (
        "postgresql://ann:s3cr3t@db.example/crm",
        "host=db.example dbname=crm user=ann password=s3cr3t",
    ):
        read = hr.io.ReadFromPostgres(dsn, slot="s", tables="people")
        p = hr.Pipeline()
        p | read
        shown = f"{read!r} {read.label} {read.display_data()} {hr.explain(p)} {p.graph!r}"
        assert "s3cr3t" not in shown
        assert "db.example" in shown
    with pytest.raises(hr.PipelineError, match="is not valid") as caught:
        hr.io.ReadFromPostgres("s3cr3t", slot="s", tables="people")
    assert "s3cr3t" not in str(caught.value)


def test_the_password_can_be_elsewhere(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.insert((1, "ann"))
    monkeypatch.setenv("TEST_DSN", database.url)
    monkeypatch.setenv("TEST_PASSWORD", "s3cr3t")
    secret, password = hr.io.Secret.from_env("TEST_DSN"), hr.io.Secret.from_env("TEST_PASSWORD")
    for dsn in (secret, secret.resolve, database.url):
        read = hr.io.ReadFromPostgres(
            dsn, slot="s", tables="people", snapshot_dir=database.folder, password=password
        )
        with TestPipeline(argv=["--until-caught-up", "--streaming"]) as p:
            found = capture(p | read)
        assert [e.value["name"] for e in found.elements] == ["ann"]


def test_arguments_are_checked() -> None:
    wrong: list[dict[str, Any]] = [
        {"slot": "S"},
        {"tables": []},
        {"on_truncate": "pass"},
        {"allowed_lateness": -1},
    ]
    for how in wrong:
        with pytest.raises(hr.PipelineError):
            hr.io.ReadFromPostgres("postgresql://h/d", **({"slot": "s", "tables": "t"} | how))


def test_a_server_that_has_gone_is_noticed_after_a_minute_unless_the_dsn_says_otherwise(database):
    def settings(url: str) -> dict[str, str]:
        with Server(url).connected() as connection:
            return connection.info.get_parameters()

    probes = [f"keepalives_{name}" for name in ("idle", "interval", "count")]
    assert [settings(database.url)[name] for name in probes] == ["30", "10", "3"]
    own = psycopg.conninfo.make_conninfo(database.url, keepalives_idle=7)
    assert [settings(own)[name] for name in probes] == ["7", "10", "3"]
