"""SQL over a table that a pipeline writes: ``query(view, "SELECT …")``, by DuckDB in this process.

DuckDB's own extensions for SQLite, PostgreSQL and MariaDB are downloads. So the tables that a query names are
read through SQLAlchemy, as one snapshot, and DuckDB gets them as Arrow. Delta and Parquet need no copy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import attrs

from headrace.errors import PipelineError, require_extra, shorten
from headrace.sdk.elements.row import Row
from headrace.sdk.io.table.materialized_view import MaterializedView

DISPLAYED: Final = 50
"""Number of rows that a result displays."""

VIEW: Final = "view"
"""The name under which a query finds its table, whatever the table's own name is."""


@attrs.frozen(repr=False)
class QueryResult:
    """The rows of a query: displayed as a table in a notebook, and converted by its methods.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/totals.db"
    >>> with Pipeline() as p:
    ...     totals = p | Create([{"place": "quay", "n": 8}, {"place": "weir", "n": 7}])
    ...     _ = totals | hr.io.WriteToTable(file, "totals", key="place")
    >>> hr.query(file, "select * from totals order by n")
    place | n
    ------+--
    weir  | 7
    quay  | 8
    """

    table: Any
    """The rows as a ``pyarrow.Table``."""

    def rows(self) -> list[Row]:
        """Return the rows as :class:`~headrace.Row` objects."""
        columns = [column.to_pylist() for column in self.table.columns]
        names = self.table.column_names
        return [
            Row(**dict(zip(names, values, strict=True))) for values in zip(*columns, strict=True)
        ]

    def df(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        return self.table.to_pandas()

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __repr__(self) -> str:
        lines = [self.table.column_names, *self._shown()]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        padded = [
            " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
            for line in lines
        ]
        padded.insert(1, "-+-".join("-" * width for width in widths))
        return "\n".join([*padded, *self._more()])

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.table.column_names)
        lines = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in self._shown())
        body = "".join(f"<tr>{line}</tr>" for line in lines)
        more = "".join(f"<p>{line}</p>" for line in self._more())
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"

    def _shown(self) -> list[list[str]]:
        first = self.table.slice(0, DISPLAYED)
        columns = [["" if v is None else str(v) for v in c.to_pylist()] for c in first.columns]
        return [list(cells) for cells in zip(*columns, strict=True)]

    def _more(self) -> list[str]:
        hidden = len(self) - DISPLAYED
        return [f"… and {hidden} more rows"] if hidden > 0 else []


def query(view: MaterializedView | str | PathLike[str], sql: str) -> QueryResult:
    """Query a table with DuckDB's SQL, in this process; also while a pipeline writes the table.

    The tables of a SQL database that the query names are read whole into memory, in one transaction; of Delta
    and Parquet, only what the query needs. Write only what you can hold, or ask the database itself. Times
    are in UTC, without a zone.

    Args:
        view: a :class:`~headrace.io.MaterializedView`; the URL of a database or the path of an SQLite file,
            as in :class:`~headrace.io.WriteToTable`; or the path of a Delta table, a Parquet file or a folder
            of them.
        sql: the query. It finds the tables of the database's default schema by name; the table of a view, of
            Delta or of Parquet is also called ``view``.

    Raises:
        PipelineError: DuckDB is not installed, or there is no such table.

    >>> import tempfile
    >>> view = hr.io.MaterializedView(tempfile.mkdtemp() + "/v.db", "totals", key="place")
    >>> with Pipeline() as p:
    ...     _ = p | Create([{"place": "quay", "n": 8}, {"place": "weir", "n": 7}]) | view
    >>> hr.query(view, "select sum(n) as n from view").rows()
    [Row(n=15)]
    """
    duckdb = require_extra("duckdb", "query", "hr.query needs DuckDB")
    require_extra("pyarrow", "query", "hr.query needs pyarrow")
    with duckdb.connect() as connection:
        connection.execute("SET python_enable_replacements = false")
        for name, table in _tables(view, sql):
            connection.register(name, table)
        try:
            return QueryResult(_with_integers(connection.sql(sql).to_arrow_table()))
        except duckdb.CatalogException as error:
            raise PipelineError(
                f"the query does not fit {_called(view)}: {error}",
                remedy="name a table that it has written",
            ) from error


def _with_integers(table: Any) -> Any:
    """Return a table whose sums of integers are integers: DuckDB has 128 bits for them, Arrow has not."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if field.type == pa.decimal128(38, 0):
            with suppress(pa.ArrowInvalid):  # a sum that needs more than 64 bits stays a decimal
                whole = table.column(place).cast(pa.int64())
                table = table.set_column(place, field.name, whole)
    return table


def _called(view: MaterializedView | str | PathLike[str]) -> str:
    """Return what to call a view in an error: a URL can hold a password."""
    if isinstance(view, MaterializedView):
        return f"the view {view.name}"
    return "the database" if "://" in fspath(view) else shorten(fspath(view))


def _tables(view: MaterializedView | str | PathLike[str], sql: str) -> Iterable[tuple[str, Any]]:
    if isinstance(view, MaterializedView):
        own = view.name.rpartition(".")[2]
        return _of_database(view.url, sql, {VIEW: view.name, own: view.name})
    place = fspath(view)
    dataset = _dataset(place)
    if dataset is None:
        return _of_database(place, sql, {})
    return [(name, dataset) for name in {VIEW, Path(place).stem}]


def _dataset(place: str) -> Any:
    """Return the table of files at a path, to be read while the query runs; None for a database."""
    if (Path(place) / "_delta_log").is_dir():
        deltalake = require_extra("deltalake", "delta", "reading a Delta table needs deltalake")
        return deltalake.DeltaTable(place).to_pyarrow_dataset()
    if Path(place).is_dir() or place.endswith(".parquet"):
        return require_extra("pyarrow.dataset", "query", "hr.query needs pyarrow").dataset(place)
    return None


def _of_database(url: str, sql: str, known: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Yield the tables of a database whose names are words of a query, all from one snapshot.

    Args:
        url: URL of the database.
        sql: the query.
        known: names of tables in the query, and in the database, where they are not the same.
    """
    require_extra("sqlalchemy", "sql", "hr.query needs SQLAlchemy")
    import sqlalchemy as sa

    from headrace.sdk.io.table.database import engine_of, missing_file

    missing = missing_file(url)
    if missing is not None:
        raise PipelineError(f"there is no file {missing}", remedy="run the pipeline first")
    engine = engine_of(url)
    isolated = {"isolation_level": "REPEATABLE READ"} if engine.dialect.name != "sqlite" else {}
    with engine.connect().execution_options(**isolated) as connection:
        inspector = sa.inspect(connection)
        found = [*inspector.get_table_names(), *inspector.get_view_names()]
        for name, place in ({each: each for each in found} | dict(known)).items():
            schema, _, own = place.rpartition(".")
            if _is_word(name, sql) and inspector.has_table(own, schema or None):
                table = sa.Table(
                    own, sa.MetaData(), schema=schema or None, autoload_with=connection
                )
                yield name, _as_arrow(table.c.keys(), connection.execute(sa.select(table)))


def _is_word(name: str, sql: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", sql, re.IGNORECASE) is not None


def _as_arrow(names: Sequence[str], rows: Any) -> Any:
    import pyarrow as pa

    found = list(rows)
    columns = zip(*found, strict=True) if found else ([] for _ in names)
    return pa.table({name: _column(cells) for name, cells in zip(names, columns, strict=True)})


def _column(cells: Sequence[Any]) -> Any:
    """Return values as an Arrow column; as text if they are of several types, as SQLite allows."""
    import pyarrow as pa

    plain = [_plain(cell) for cell in cells]
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if cell is None else str(cell) for cell in plain])


def _plain(cell: Any) -> Any:
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        return cell.astimezone(UTC).replace(tzinfo=None)
    if isinstance(cell, (dict, list)):
        return json.dumps(cell)
    return str(cell) if isinstance(cell, UUID) else cell
