"""SQL: names of columns that come from data are quoted, and values are bound."""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql.psycopg import dialect as postgresql

import headrace as hr
from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.io.table.statements import delete, upsert
from headrace.sdk.sources.sink import SinkBatch

HOSTILE = [
    "x'); DROP TABLE mine; --",
    'x"); DROP TABLE mine; --',
    "x%s",
    "%(x)s",
    ":x",
    "x:y)",
    "x.y",
    "x]y[",
    "x?",
    "{x}",
    "x\\",
    "was_x",
    "excluded",
    "x\ny",
    "--",
    "/*",
    "é" * 40,
]


def rows_of(path, statement):
    engine = sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool)
    with engine.begin() as connection:
        result = connection.exec_driver_sql(statement)
        return [tuple(row) for row in result] if result.returns_rows else []


def opened(path):
    sink = TableSink(str(path), "t", ("k",), None, {}, False)
    sink.open()
    return sink


def batch(number, *changes):
    return SinkBatch(
        number, 0, Bundle.of([Element(value, 0, (), diff=diff) for diff, value in changes])
    )


@pytest.mark.parametrize("name", HOSTILE)
def test_a_column_is_named_as_in_the_data(tmp_path, name):
    """Rows are inserted, replaced and deleted, and other tables stay."""
    path = tmp_path / "t.db"
    rows_of(path, "CREATE TABLE mine (n)")
    for number, sink in enumerate([opened(path), opened(path)]):  # the second one finds the table
        sink.write(batch(number, (1, {"k": "a", name: 1}), (1, {"k": name, name: 2})))
    sink.write(batch(3, (-1, {"k": "a", name: 1}), (1, {"k": "b", name: 3})))
    assert sorted(rows_of(path, "SELECT * FROM t")) == sorted([(name, 2), ("b", 3)])
    assert [row[1] for row in rows_of(path, "PRAGMA table_info(t)")] == ["k", name]
    assert rows_of(path, "SELECT count(*) FROM mine") == [(0,)]


@pytest.mark.parametrize("name", [name for name in HOSTILE if "." not in name])
def test_a_table_is_named_by_the_author_alone_and_its_name_is_quoted(tmp_path, name):
    path = tmp_path / "t.db"
    with hr.Pipeline() as p:
        _ = p | hr.Create([{"k": "a"}]) | hr.io.WriteToTable(path, name, key="k")
    tables = "SELECT name FROM sqlite_master WHERE type = 'table'"
    assert rows_of(path, tables) == [(name,)]


@pytest.mark.parametrize("name", HOSTILE)
def test_postgresql_quotes_columns_and_binds_values(name):
    table = sa.Table("t", sa.MetaData(), sa.Column("k", sa.Text), sa.Column(name, sa.Text))
    quoted = '"' + name.replace('"', '""').replace("%", "%%") + '"'
    columns = ["k", name]
    for statement in (
        upsert(table, columns, ("k",), "postgresql"),
        delete(table, columns, ("k",), postgresql()),
    ):
        compiled = statement.compile(dialect=postgresql())
        text = str(compiled)
        assert quoted in text or name.isidentifier()
        rest = text.replace(quoted, "")
        for placeholder in compiled.bind_names.values():
            escaped = compiled.escaped_bind_names.get(placeholder, placeholder)
            assert f"%({escaped})s" in text
            rest = rest.replace(f"%({escaped})s", "")
        assert "DROP" not in rest
        assert rest % () == rest.replace("%%", "%")
