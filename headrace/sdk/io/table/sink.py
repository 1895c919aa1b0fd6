"""WriteToTable: a collection as a table of a SQL database, kept up to date batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, ClassVar

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.io.sink import Sink, SinkBatch
from headrace.sdk.io.table.changes import changes_of
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, Pattern, Shape, names_in
from headrace.sdk.pardo import require_collection
from headrace.sdk.pvalue import PDone
from headrace.sdk.writing import Write
from headrace.windowing.windows import GlobalWindows

if TYPE_CHECKING:
    from headrace.sdk.io.table.database import Database


@attrs.define(eq=False)
class TableSink(Sink):
    """Applies batches to a table; what it knows before :meth:`open` is plain data."""

    url: str = attrs.field(repr=False)
    table: str
    key: tuple[str, ...]
    pattern: tuple[Pattern, ...] | None
    types: dict[str, Any]
    windows: bool
    shape: Shape = attrs.field(init=False, repr=False)
    database: Database | None = attrs.field(default=None, init=False, repr=False)

    accepts_retractions: ClassVar[bool] = True

    @shape.default
    def _shape(self) -> Shape:
        return Shape(self.pattern, self.key, self.windows)

    def open(self) -> None:
        from headrace.sdk.io.table.database import Database

        self.shape = self._shape()
        self.database = Database(self.url, self.table, self.key, self.types)
        self.database.find()

    def write(self, batch: SinkBatch) -> None:
        rows, diffs = self.shape.rows(batch.bundle, batch.step)
        changes = changes_of(rows, diffs, self.key, batch.step)
        if len(changes) and self.database is not None:
            self.database.apply(changes, batch)

    def close(self) -> None:
        if self.database is not None:
            self.database.close()


class WriteToTable(Write):
    """Writes a collection to a table of a SQL database, through SQLAlchemy (not in Beam's Python).

    With a key, an element replaces the row with its key, and a retraction deletes the row, unless the
    same batch brings a newer one or the row has become another meanwhile. Without a key, rows are only
    added. Each batch is one transaction. When a run is resumed, a batch that was written before is left
    out: the table ``headrace_batches`` holds the last one of each run and step.

    Args:
        url: of the database, ``sqlite:///sales.db`` or ``postgresql://user@host/sales``; a plain path is
            a file of SQLite.
        table: name of the table, which is made with its first rows if it is missing; also
            ``schema.table``.
        key: the column, or columns, that tell rows apart; None to only add rows.
        columns: the columns to write. Dicts, Rows, named tuples, attrs classes and dataclasses have
            columns by name, all of which are written by default; the items of plain tuples are named here,
            in their own shape: ``[("shop", "day"), "total"]`` for ``(("a", 1), 5)``.
        types: Python types, or types of SQLAlchemy, by column, for making the table; those of the first
            batch's values by default.
        windows: whether the bounds of the element's window are two further columns, ``window_start``
            and ``window_end``, that belong to the key.

    Raises:
        PipelineError: the arguments do not go together, or SQLAlchemy or a driver is missing.
        UnsupportedError: the database is neither SQLite nor PostgreSQL.

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
        windows: bool = False,
    ) -> None:
        pattern = None if columns is None else _pattern(columns)
        keys = _names(key)
        if keys and windows:
            keys += tuple(name for name in WINDOW_COLUMNS if name not in keys)
        _check_names(keys, pattern, windows)
        _check_database(fspath(url), types or {})
        super().__init__(TableSink(fspath(url), table, keys, pattern, dict(types or {}), windows))
        self._table = table
        self._keyed = bool(keys)
        self._windows = windows

    def default_label(self) -> str:
        return f"WriteToTable({self._table})"

    def expand(self, pcoll: Any) -> PDone:
        require_collection(pcoll)
        if pcoll.collection.changing and not self._keyed:
            raise PipelineError(
                "the collection can hold retractions, and a table without a key can only grow",
                remedy="say which columns are the key, or put hr.ToChangelog() in front to write "
                "(diff, value) pairs",
            )
        if self._windows and isinstance(pcoll.windowing.window_fn, GlobalWindows):
            raise PipelineError(
                "the global window has no bounds to write",
                remedy="leave windows=True away, or window the collection with hr.WindowInto",
            )
        return super().expand(pcoll)


def _names(key: str | Iterable[str] | None) -> tuple[str, ...]:
    if key is None:
        return ()
    return (key,) if isinstance(key, str) else tuple(key)


def _pattern(columns: Iterable[Any]) -> tuple[Pattern, ...]:
    if isinstance(columns, str):
        raise PipelineError(
            f"columns is the string {shorten(columns)}", remedy=f"use a list: [{columns!r}]"
        )
    return tuple(part if isinstance(part, str) else _pattern(part) for part in columns)


def _check_names(keys: tuple[str, ...], pattern: tuple[Pattern, ...] | None, windows: bool) -> None:
    if pattern is None:
        return
    names = [*names_in(pattern), *(WINDOW_COLUMNS if windows else ())]
    for name in names:
        if names.count(name) > 1:
            raise PipelineError(f"the column {name!r} is named twice", remedy="name each once")
    for name in keys:
        if name not in names:
            raise PipelineError(
                f"the key {name!r} is none of the columns {names}", remedy="write it too"
            )


def _check_database(url: str, types: Mapping[str, Any]) -> None:
    """Refuse what cannot be written to, while the pipeline is built."""
    try:
        from headrace.sdk.io.table import columns, database
    except ModuleNotFoundError as error:
        if error.name != "sqlalchemy":
            raise
        raise PipelineError(
            "tables are written through SQLAlchemy, which is not installed",
            remedy="pip install 'headrace[sql]', and for PostgreSQL 'psycopg[binary]'",
        ) from error
    database.engine_of(url)
    for name, kind in types.items():
        columns.sql_type(kind, name)
