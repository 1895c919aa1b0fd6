"""MariaDB and MySQL: types and settings under which a table holds exactly the rows of a collection.

By their defaults both databases take "a" and "A" for the same key, cut off what is too long, drop the
fractions of seconds and of decimals, and have tables without transactions.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.engine.interfaces import DBAPIConnection

from headrace.errors import ElementError, PipelineError

DIALECTS: Final = ("mysql", "mariadb")

INDEX_CHARACTERS: Final = 3072 // 4
"""The longest key of a table of InnoDB, in characters of up to 4 bytes."""

KEY_CHARACTERS: Final = 255
"""The longest text in a column of a key, where there are at most three of them."""

_TRANSACTIONAL: Final = ("innodb", "rocksdb", "ndbcluster", "tokudb")

_EPOCH: Final = datetime(1970, 1, 1)


class ExactDecimal(sa.TypeDecorator[Decimal]):
    """Decimals with up to 35 digits before and 30 behind the point; others are refused, not rounded."""

    impl = mysql.DECIMAL(65, 30)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Decimal | None:
        if isinstance(value, Decimal):
            places = value.as_tuple().exponent
            if not isinstance(places, int) or -places > 30:
                raise ValueError(f"{value} has no exact form in decimal(65, 30)")
        return None if value is None else Decimal(value)


class EpochInterval(sa.TypeDecorator[timedelta]):
    """Durations as the time that is so long after 1970, as SQLAlchemy has them, with microseconds."""

    impl = mysql.DATETIME(fsp=6)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> datetime | None:
        return None if value is None else _EPOCH + value

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> timedelta | None:
        return None if value is None else value.replace(tzinfo=None) - _EPOCH


class Moment(sa.TypeDecorator[datetime]):
    """Times with microseconds; those that have a time zone are written in UTC."""

    impl = mysql.DATETIME(fsp=6)
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> Any:
        zoned = isinstance(value, datetime) and value.tzinfo is not None
        return value.astimezone(UTC).replace(tzinfo=None) if zoned else value


def also(kind: Any, here: Any) -> Any:
    """Return a type that is another one in MariaDB and MySQL."""
    return kind.with_variant(here, *DIALECTS)


def key_type(kind: Any, texts: int) -> Any:
    """Return the type of a column of a key: texts and bytes must have a limit to be indexed.

    Args:
        kind: the type of the column outside of keys.
        texts: number of columns of texts and bytes in the key.
    """
    length = min(KEY_CHARACTERS, (INDEX_CHARACTERS - 8) // max(texts, 1))
    if isinstance(kind, sa.Text):
        return also(sa.Text(), mysql.VARCHAR(length))
    if isinstance(kind, sa.LargeBinary):
        return also(sa.LargeBinary(), mysql.VARBINARY(length))
    return kind


def exact_collation(dialect: Any) -> str:
    """Return the collation in which two texts are equal only if all their characters are."""
    return "utf8mb4_nopad_bin" if dialect.is_mariadb else "utf8mb4_0900_bin"


def table_options(dialect: Any) -> dict[str, str]:
    """Return the options of new tables; none in other databases."""
    if dialect.name not in DIALECTS:
        return {}
    options = {"engine": "InnoDB", "charset": "utf8mb4", "collate": exact_collation(dialect)}
    return {f"{dialect.name}_{name}": value for name, value in options.items()}


def set_session(connection: DBAPIConnection, record: object) -> None:
    """Refuse values that do not fit, have times in UTC, and lock little, in a new connection."""
    cursor = connection.cursor()
    # By default a DELETE locks the gap around a row that is not there.
    cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
    cursor.execute(
        "SET time_zone = '+00:00', sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES,NO_ZERO_DATE')"
    )
    cursor.close()


def refuse_collections(*event: Any) -> None:
    """Refuse what PyMySQL would paste into a statement: a set of one number as this number.

    Args:
        event: the arguments of SQLAlchemy's event ``before_cursor_execute``.

    Raises:
        TypeError: a value is a collection.
    """
    rows = event[3] if isinstance(event[3], (list, tuple)) else [event[3]]
    for row in rows:
        for value in row.values() if isinstance(row, dict) else ():
            if isinstance(value, (set, frozenset, list, tuple, dict)):
                raise TypeError(f"type '{type(value).__name__}' is not supported")


def check_table(connection: sa.Connection, table: sa.Table, key: tuple[str, ...]) -> None:
    """Check that an existing table has transactions, and tells all keys apart.

    Raises:
        PipelineError: it has not, or does not.
    """
    options = sa.inspect(connection).get_table_options(table.name, table.schema)
    engine = next((str(v) for name, v in options.items() if name.endswith("_engine")), "InnoDB")
    if engine.lower() not in _TRANSACTIONAL:
        raise PipelineError(
            f"the table {table.fullname} has the engine {engine}, which has no transactions",
            remedy=f"ALTER TABLE {table.fullname} ENGINE = InnoDB",
        )
    exact = exact_collation(connection.dialect)
    for name in key:
        collation = _collation(connection, table, name)
        if collation is not None and not _is_exact(collation):
            raise PipelineError(
                f"the key column {name} of the table {table.fullname} has the collation {collation}, "
                "for which different texts, such as with and without a space at the end, are one key",
                remedy=f"ALTER TABLE {table.fullname} MODIFY {name} … COLLATE {exact}, or let the first "
                "batch create the table",
            )


def _is_exact(collation: str) -> bool:
    return collation in ("binary", "utf8mb4_0900_bin") or collation.endswith("_nopad_bin")


def _collation(connection: sa.Connection, table: sa.Table, column: str) -> str | None:
    statement = sa.text(
        "SELECT collation_name FROM information_schema.columns WHERE "
        "table_schema = COALESCE(:schema, DATABASE()) AND table_name = :name AND column_name = :column"
    )
    values = {"schema": table.schema, "name": table.name, "column": column}
    found: str | None = connection.execute(statement, values).scalar()
    return found


def check_columns(
    connection: sa.Connection,
    table: sa.Table,
    key: tuple[str, ...],
    columns: Iterable[str],
    step: str,
) -> None:
    """Check that the columns of the first rows have names that the driver can quote, and one key.

    Raises:
        ElementError: a name has a character that the driver or SQLAlchemy does not quote rightly.
        PipelineError: an upsert could replace the row of another key, by another unique constraint.
    """
    for name in columns:
        if not name.isprintable() or any(character in name for character in "%`"):
            raise ElementError(
                f"the column {name!r} has a character that cannot be written to {connection.dialect.name}",
                where=step,
                remedy="rename it with hr.Map, or with columns=[…]",
            )
    for names in _unique(sa.inspect(connection), table):
        if key and not set(names) >= set(key) and not set(names).isdisjoint(columns):
            raise PipelineError(
                f"{' and '.join(names)} must also be unique in the table {table.fullname}, so an upsert "
                "could replace the row of another key",
                where=step,
                remedy="drop that constraint, or choose its columns as the key",
            )


def _unique(inspector: sa.Inspector, table: sa.Table) -> list[list[str]]:
    indexes = inspector.get_indexes(table.name, table.schema)
    unique = [[str(name) for name in index["column_names"]] for index in indexes if index["unique"]]
    return [*unique, inspector.get_pk_constraint(table.name, table.schema)["constrained_columns"]]


def same_text(column: Any, value: Any, dialect: Any) -> Any:
    """Return the condition that a text is the same, character by character, whatever its collation."""
    converted = sa.cast(column, mysql.CHAR(charset="utf8mb4"))
    return sa.collate(converted, exact_collation(dialect)).is_not_distinct_from(value)
