"""WriteToTable when the database fails: connections that are lost, locks, servers that are killed."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from decimal import Decimal

import pytest
import sqlalchemy as sa

import headrace as hr
from headrace.sdk.io.table import retries
from headrace.sdk.sources.sink import SinkBatch
from tests.support.services.cut_connection import proxy
from tests.unit.sdk.io.conftest import empty_database
from tests.unit.sdk.io.test_table import VALUES, batch, contents, opened, query

pytestmark = pytest.mark.slow


@pytest.fixture(params=["postgresql", "mariadb"])
def database(request, tmp_path):
    """The URL of an empty database of each kind that is a server."""
    return empty_database(request, tmp_path)


@pytest.fixture
def flaky(database):
    """A proxy to the database, and its URL by way of the proxy."""
    url = sa.make_url(database)
    with proxy(url.port or 0) as found:
        yield found, url.set(port=found.port).render_as_string(hide_password=False)


def commit(database):
    """What a client sends to commit; the name of the isolation level has the word, too."""
    return b"\x03COMMIT" if database.startswith("mariadb") else b"COMMIT"


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("key", [("k",), ()])
def test_a_connection_that_is_lost_at_the_commit_leaves_the_batch_once(
    flaky, database, before, key
):
    found, url = flaky
    sink = opened(url, key=key)
    sink.write(batch(0, (1, ("a", 1)), run="run"))
    found.arm(commit(database), before, cuts=2)
    sink.write(batch(1, (1, ("b", 2)), run="run"))
    assert found.cuts == 0
    assert contents(database, "t") == [("a", 1), ("b", 2)]
    sink.close()


@pytest.mark.parametrize("word", [b"headrace_batches", b"INSERT INTO", b"DELETE"])
def test_a_connection_that_is_lost_at_any_statement_leaves_the_batch_once(flaky, database, word):
    found, url = flaky
    sink = opened(url)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1)), run="run"))
    found.arm(word, before=False, cuts=3)
    sink.write(batch(1, (-1, ("b", 1)), (1, ("c", 2)), run="run"))
    assert found.cuts == 0
    assert contents(database, "t") == [("a", 1), ("c", 2)]
    sink.close()


def test_without_key_and_number_it_is_not_known_what_a_lost_commit_did(flaky, database):
    found, url = flaky
    sink = opened(url, key=())
    sink.write(batch(0, (1, ("a", 1))))
    found.arm(commit(database), before=False)
    with pytest.raises(hr.PipelineError, match="rows of t may be there or not") as caught:
        sink.write(batch(1, (1, ("b", 2))))
    assert caught.value.where == "step"
    assert caught.value.remedy


def test_a_database_that_does_not_return_fails_the_run(flaky, monkeypatch, caplog):
    monkeypatch.setattr(retries, "DELAYS", (0.0, 0.0))
    found, url = flaky
    sink = opened(url)
    sink.write(batch(0, (1, ("a", 1)), run="run"))
    found.arm(b"", before=True, cuts=10)
    with pytest.raises(sa.exc.OperationalError):
        sink.write(batch(1, (1, ("b", 2)), run="run"))
    assert len(caplog.records) == 2
    assert found.cuts < 8  # a driver may try to connect twice


def test_a_lock_that_is_not_released_in_time_is_waited_for_again(mariadb_server, caplog):
    with locked(mariadb_server, "set global innodb_lock_wait_timeout = 1") as (other, writer):
        until(writer, lambda: retried(caplog))
        other.rollback()
    assert contents(mariadb_server.url, "t") == [("a", 2), ("b", 2)]
    query(mariadb_server.url, "set global innodb_lock_wait_timeout = 50")


def test_a_batch_that_is_chosen_to_end_a_deadlock_is_written_again(mariadb_server, caplog):
    """The writer has "a" and waits for "b", which the other has, who then waits for "a"."""
    query(mariadb_server.url, "set global innodb_lock_wait_timeout = 50")
    with locked(mariadb_server, "create table many as select seq from seq_1_to_500") as found:
        other, writer = found
        other.execute(sa.text("update many set seq = seq + 1"))  # the lighter transaction is ended
        waiting = "select 1 from information_schema.innodb_trx where trx_state = 'LOCK WAIT'"
        until(writer, lambda: query(mariadb_server.url, waiting), pause=0.2)
        other.execute(sa.text("update t set n = 7 where k = 'a'"))
        until(writer, lambda: "Deadlock found" in caplog.text)
        other.commit()
    assert contents(mariadb_server.url, "t") == [("a", 2), ("b", 2)]


@contextmanager
def locked(server, statement):
    """A transaction that has locked a row, and a thread that writes a batch with this row."""
    server.empty()
    query(server.url, statement)
    sink = opened(server.url)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1)), run="run"))
    later = batch(1, (1, ("a", 2)), (1, ("b", 2)), run="run")
    engine = sa.create_engine(server.url, poolclass=sa.NullPool)
    with engine.connect() as other:
        other.execute(sa.text("select * from t where k = 'b' for update"))
        writer = threading.Thread(target=sink.write, args=(later,))
        writer.start()
        yield other, writer
    writer.join()


def retried(caplog):
    return any("will be written again" in record.message for record in caplog.records)


def until(writer, condition, pause=0.02):
    """Wait until a condition is true, while a thread goes on.

    InnoDB's table of transactions stays as it is while it is read more often than every 0.1 seconds.
    """
    while not condition():
        writer.join(pause)
        assert writer.is_alive()


# ------------------------------------------------------------------------------------- MariaDB alone


def refused(server, *statements):
    server.empty()
    for statement in statements:
        query(server.url, statement)
    with pytest.raises(hr.PipelineError) as caught:
        opened(server.url).write(batch(0, (1, ("a", 1))))
    assert caught.value.remedy
    return caught.value.problem


def test_tables_that_cannot_hold_exactly_the_collection_are_refused(mariadb_server):
    table = "create table t (k varchar(9) primary key, n bigint"
    assert "has no transactions" in refused(mariadb_server, f"{table}) engine=MyISAM")
    for collation in ("utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_general_nopad_ci"):
        found = refused(mariadb_server, f"{table}) collate {collation}")
        assert f"the collation {collation}" in found
    assert "n must also be unique in the table t" in refused(
        mariadb_server, f"{table}, unique (n))"
    )


def test_tables_with_other_unique_columns_that_are_not_written_are_used(mariadb_server):
    mariadb_server.empty()
    own = "id bigint auto_increment primary key, k varchar(9) not null unique"
    query(mariadb_server.url, f"create table t ({own}, n bigint)")
    sink = opened(mariadb_server.url)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1))))
    sink.write(batch(1, (1, ("a", 2)), (-1, ("b", 1))))
    assert contents(mariadb_server.url, "t") == [(1, "a", 2)]


def test_values_that_would_be_cut_off_or_rounded_are_refused(mariadb_server):
    for value in (Decimal("1e-31"), Decimal("NaN"), Decimal("1e36")):
        mariadb_server.empty()
        with pytest.raises(hr.ElementError):
            opened(mariadb_server.url).write(batch(0, (1, ("a", value))))
    for key in ("x" * 256, b"x" * 256):
        mariadb_server.empty()
        with pytest.raises(hr.ElementError, match="too long"):
            opened(mariadb_server.url).write(batch(0, (1, (key, 1))))


NAMES = [":x", "x.y", "x?", "{x}", "x\\", "was_x", "inserted", "--", "'", '"', "values", "é" * 40]


@pytest.mark.parametrize("name", NAMES)
def test_columns_have_names_of_all_kinds(mariadb_server, name):
    mariadb_server.empty()
    for number in range(2):  # the second one finds the table
        sink = opened(mariadb_server.url, pattern=None)
        rows = [(1, {"k": "a", name: number}), (1, {"k": name, name: 2})]
        sink.write(batch(number, *rows, run="run"))
    sink.write(batch(3, (-1, {"k": "a", name: 1}), (1, {"k": "b", name: 3}), run="run"))
    assert contents(mariadb_server.url, "t") == sorted([(name, 2), ("b", 3)])


@pytest.mark.parametrize("name", ["x%s", "%(x)s", "x`y", "x\ny"])
def test_names_that_the_driver_does_not_quote_rightly_are_refused(mariadb_server, name):
    mariadb_server.empty()
    with pytest.raises(hr.ElementError, match="has a character that cannot be written"):
        opened(mariadb_server.url, pattern=None).write(batch(0, (1, {"k": "a", name: 1})))


def test_the_url_of_mysql_writes_to_mariadb_too(mariadb_server):
    mariadb_server.empty()
    url = mariadb_server.url.replace("mariadb+pymysql", "mysql")
    sink = opened(url, pattern=None)
    sink.write(SinkBatch(0, 0, batch(0, (1, {"k": "a", **VALUES})).bundle, "run", "step"))
    sink = opened(url, pattern=None)
    sink.write(SinkBatch(1, 0, batch(1, (-1, {"k": "a", **VALUES})).bundle, "run", "step"))
    assert query(mariadb_server.url, "select k from t") == []
