"""The SQL types of columns, derived from Python types."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final, get_origin
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects import mysql
from sqlalchemy.dialects.postgresql import JSONB

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.elements.schemas import plain_type, schema_of
from headrace.sdk.io.table.mysql import EpochInterval, ExactDecimal, Moment, also, key_type
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, RowValues
from headrace.windowing.time.timestamps import Duration, Timestamp


class Digits(sa.TypeDecorator[Decimal]):
    """Decimals as text, which is exact, in a database without a decimal type (SQLite)."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: object, dialect: sa.Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


_INSTANT: Final = also(sa.DateTime(timezone=True), Moment())
_JSON: Final = sa.JSON().with_variant(JSONB(), "postgresql")
_INTERVAL: Final = also(sa.Interval(), EpochInterval())

_SQL: Final[dict[type, Any]] = {
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    float: sa.Double(),
    str: also(sa.Text(), mysql.LONGTEXT()),
    bytes: also(sa.LargeBinary(), mysql.LONGBLOB()),
    Decimal: also(sa.Numeric().with_variant(Digits(), "sqlite"), ExactDecimal()),
    datetime: also(sa.DateTime(), Moment()),
    Timestamp: _INSTANT,
    Duration: _INTERVAL,
    timedelta: _INTERVAL,
    date: sa.Date(),
    time: also(sa.Time(), mysql.TIME(fsp=6)),
    UUID: sa.Uuid(),
    dict: _JSON,
    list: _JSON,
}


def sql_type(kind: object, column: str) -> Any:
    """Return the SQL type for a Python type; a SQLAlchemy type is returned as it is.

    Raises:
        PipelineError: there is no SQL type for it.
    """
    if isinstance(kind, sa.types.TypeEngine):
        return kind
    if isinstance(kind, type):
        if issubclass(kind, sa.types.TypeEngine):
            return kind()
        for base, found in _SQL.items():
            if issubclass(kind, base):
                return found
    raise PipelineError(
        f"there is no SQL type for the column {column!r} of type {shorten(kind)}",
        remedy=f"use one of {', '.join(k.__name__ for k in _SQL)}, or a SQLAlchemy type",
    )


def stored_type(found: Any, value: object) -> Any:
    """Return the type under which a value goes to a column of an existing table.

    A database without a type for it has a column of another type, which shows in a table that is found.

    Args:
        found: the type of the column in the database.
        value: a value of the column.
    """
    if isinstance(value, timedelta) and isinstance(found, sa.DateTime):
        return also(sa.Interval(native=False), EpochInterval())
    if not isinstance(found, sa.String):
        return found
    if isinstance(value, UUID):
        return sa.Uuid(native_uuid=False) if found.length == 32 else found
    if isinstance(value, Decimal):
        return Digits()
    return sa.JSON() if isinstance(value, (dict, list)) else found


def declared_types(kind: object) -> dict[str, Any]:
    """Return the types of the fields of elements, without those that depend on the values.

    Args:
        kind: the known type of the elements.
    """
    schema = schema_of(kind)
    fields = () if schema is None else schema.fields
    types = {name: get_origin(plain_type(field)) or plain_type(field) for name, field in fields}
    return {name: field for name, field in types.items() if field in _SQL and field is not datetime}


def columns_for(
    rows: list[RowValues], types: Mapping[str, object], key: tuple[str, ...], step: str
) -> list[sa.Column[Any]]:
    """Return the columns of a new table.

    Args:
        rows: the first rows; the type of a column that is not in ``types`` is inferred from them.
        types: types by column.
        key: the columns of the primary key.
        step: label of the step, for errors.

    Raises:
        ElementError: the type of a column cannot be inferred, or there is no SQL type for it.
    """
    given = dict.fromkeys(WINDOW_COLUMNS, _INSTANT) | dict(types)
    kinds = {
        name: sql_type(given[name], name) if name in given else _type_in(rows, name, step)
        for name in rows[0]
    }
    texts = sum(isinstance(kinds[name], (sa.Text, sa.LargeBinary)) for name in key)
    return [
        sa.Column(
            name,
            key_type(kind, texts) if name in key else kind,
            primary_key=name in key,
            autoincrement=False,
        )
        for name, kind in kinds.items()
    ]


def _type_in(rows: list[RowValues], name: str, step: str) -> Any:
    values = {type(row[name]): row[name] for row in rows if row[name] is not None}
    remedy = f"set types={{{name!r}: …}} to a Python or SQLAlchemy type"
    if not values:
        raise ElementError(
            f"the column {name!r} is None in all {len(rows)} rows of the first batch, so its type is "
            "unknown",
            where=step,
            remedy=remedy,
        )
    kind, value = next(iter(values.items()))
    if isinstance(value, datetime) and value.tzinfo is not None:
        return _INSTANT
    try:
        return sql_type(float if {int, float} == set(values) else kind, name)
    except PipelineError as error:
        raise ElementError(
            f"the element {shorten(rows[0])} has {shorten(value)} in the column {name!r}, but there is "
            f"no SQL type for {kind.__qualname__}",
            where=step,
            remedy=f"convert it to a plain value with hr.Map, or {remedy}",
        ) from error
