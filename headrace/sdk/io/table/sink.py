"""WriteToTable: a collection as a table of a SQL database, updated with each batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar, Self

import attrs

from headrace.errors import require_extra
from headrace.sdk.io.table.arguments import check_collection, key_columns, pattern_of
from headrace.sdk.io.table.changes import Changes, changes_of
from headrace.sdk.io.table.rows import Pattern, Shape
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.sdk.sources.writing import Write

if TYPE_CHECKING:
    from headrace.sdk.io.table.database import Database


@attrs.define(eq=False)
class TableSink(Sink):
    """Applies batches to a table; before :meth:`open` it contains only plain data."""

    url: str = attrs.field(repr=False)
    table: str
    key: tuple[str, ...]
    pattern: tuple[Pattern, ...] | None
    types: dict[str, Any]
    windows: bool
    shape: Shape = attrs.field(init=False, repr=False)
    database: Database | None = attrs.field(default=None, init=False, repr=False)

    accepts_retractions: ClassVar[bool] = True
    delivery: ClassVar[Delivery] = Delivery.EXACTLY_ONCE
    deliveries: ClassVar[tuple[Delivery, ...]] = tuple(Delivery)

    @property
    def indexed(self) -> str | None:
        """The column that gets an index in a new table, beside the key; None for none."""
        return None

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The database, without user and password, and the table."""
        scheme, separator, rest = self.url.partition("://")
        if not separator:
            return f"{self.url}/{self.table}"
        return f"{scheme}://{rest.rpartition('@')[2]}/{self.table}"

    def with_element_type(self, kind: object) -> Self:
        from headrace.sdk.io.table.columns import declared_types

        return attrs.evolve(self, types=declared_types(kind) | self.types)

    @shape.default
    def _shape(self) -> Shape:
        return Shape(self.pattern, self.key, self.windows)

    def open(self) -> None:
        from headrace.sdk.io.table.database import Database

        self.shape = self._shape()
        self.database = Database(self.url, self.table, self.key, self.types, self.indexed)
        self.database.find()

    def changes_of(self, batch: SinkBatch) -> Changes:
        """Return the net changes of a batch."""
        rows, diffs = self.shape.rows(batch.bundle, batch.step)
        return changes_of(rows, diffs, self.key, batch.step)

    def write(self, batch: SinkBatch) -> None:
        changes = self.changes_of(batch)
        if len(changes) and self.database is not None:
            self.database.apply(changes, batch)

    def close(self) -> None:
        if self.database is not None:
            self.database.close()


class WriteToTable(Write):
    """Writes a collection to a table of a SQL database, through SQLAlchemy (not in Beam's Python).

    With a key, an element replaces the row with its key, and a retraction deletes the row, unless the
    same batch has a newer row or the row has changed since. Without a key, rows are only added. Each
    batch is one transaction. A resumed run skips a batch that was written before: the table
    ``headrace_batches`` stores the last batch of each run and step. After a lost connection, a deadlock or a
    lock that was not released in time, a batch is tried again, up to 7 times in about 15 seconds.

    Args:
        url: URL of the database, ``sqlite:///sales.db``, ``postgresql://user@host/sales`` or
            ``mariadb://user@host/sales`` (or ``mysql://``); a plain path is an SQLite file.
        table: name of the table, or ``schema.table``; it is created with the first rows if it does not
            exist.
        key: the column or columns that identify a row; None to only add rows.
        columns: the columns to write. Dicts, Rows, named tuples, attrs classes and dataclasses have named
            columns, all of which are written by default. For plain tuples, give names in the shape of the
            tuple: ``[("shop", "day"), "total"]`` for ``(("a", 1), 5)``.
        types: Python types or SQLAlchemy types by column, used to create the table; by default those of the
            schema of the elements, if it is known, or else inferred from the values of the first batch.
        windows: whether to add the bounds of the element's window as columns ``window_start`` and
            ``window_end``, which become part of the key. False by default; for windowed collections set it
            to True, or to False if only the newest window of a key is wanted.
        delivery: exactly once by default. At least once does not store the number of the batch; at most
            once commits it before the rows.

    Raises:
        PipelineError: the arguments contradict each other, or SQLAlchemy or a driver is not installed.
        UnsupportedError: the database is none of SQLite, PostgreSQL, MariaDB and MySQL.

    >>> import sqlite3, tempfile
    >>> file = tempfile.mkdtemp() + "/sales.db"
    >>> with Pipeline() as p:
    ...     totals = p | Create([("quay", 5), ("weir", 7), ("quay", 3)]) | CombinePerKey(sum)
    ...     _ = totals | WriteToTable(file, "totals", key="place", columns=["place", "total"])
    >>> connection = sqlite3.connect(file)
    >>> connection.execute("select * from totals").fetchall()
    [('quay', 8), ('weir', 7)]
    >>> connection.close()
    """

    def __init__(
        self,
        url: str | PathLike[str],
        table: str,
        *,
        key: str | Iterable[str] | None,
        columns: Iterable[Any] | None = None,
        types: Mapping[str, Any] | None = None,
        windows: bool | None = None,
        delivery: Delivery = Delivery.EXACTLY_ONCE,
    ) -> None:
        pattern = None if columns is None else pattern_of(columns)
        keys = key_columns(key, pattern, windows)
        check_database(fspath(url), types or {})
        sink = TableSink(fspath(url), table, keys, pattern, dict(types or {}), bool(windows))
        super().__init__(sink, delivery=delivery)
        self._table = table
        self._keyed = bool(keys)
        self._windows = windows

    def default_label(self) -> str:
        return f"WriteToTable({self._table})"

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        check_collection(pcoll, self._keyed, self._windows)
        return super().expand(pcoll)


def check_database(url: str, types: Mapping[str, object]) -> None:
    """Check the database and the types while the pipeline is built."""
    drivers = ", and 'psycopg[binary]' for PostgreSQL or pymysql for MariaDB"
    require_extra("sqlalchemy", "sql", "WriteToTable needs SQLAlchemy", drivers)
    from headrace.sdk.io.table import columns, database

    database.engine_of(url)
    for name, kind in types.items():
        columns.sql_type(kind, name)
