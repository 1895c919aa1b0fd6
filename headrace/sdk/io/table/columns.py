"""The SQL types of columns, as Python types say them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from headrace.errors import ElementError, PipelineError, shorten
from headrace.sdk.io.table.rows import WINDOW_COLUMNS, Values
from headrace.windowing.time import Duration, Timestamp


class Digits(sa.TypeDecorator[Decimal]):
    """Decimals in a database that has none (SQLite): as text, which is exact."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        return None if value is None else str(value)

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Decimal | None:
        return None if value is None else Decimal(value)


_INSTANT: Final = sa.DateTime(timezone=True)
_JSON: Final = sa.JSON().with_variant(JSONB(), "postgresql")

_SQL: Final[dict[type, Any]] = {
    bool: sa.Boolean(),
    int: sa.BigInteger(),
    float: sa.Double(),
    str: sa.Text(),
    bytes: sa.LargeBinary(),
    Decimal: sa.Numeric().with_variant(Digits(), "sqlite"),
    datetime: sa.DateTime(),
    Timestamp: _INSTANT,
    Duration: sa.Interval(),
    timedelta: sa.Interval(),
    date: sa.Date(),
    time: sa.Time(),
    UUID: sa.Uuid(),
    dict: _JSON,
    list: _JSON,
}


def sql_type(kind: Any, column: str) -> Any:
    """Return the SQL type for a Python type; one of SQLAlchemy's is its own.

    Raises:
        PipelineError: there is none.
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
        f"no SQL type is known for the column {column!r} of {shorten(kind)}",
        remedy=f"use one of {', '.join(k.__name__ for k in _SQL)}, or a type of SQLAlchemy",
    )


def columns_for(
    rows: list[Values], types: Mapping[str, Any], key: tuple[str, ...], step: str
) -> list[sa.Column[Any]]:
    """Return the columns of a new table.

    Args:
        rows: the first rows; what is in a column says its type if nothing else does.
        types: types by column, as far as they are given.
        key: the columns of the primary key.
        step: where, for errors.

    Raises:
        ElementError: nothing says of what type a column is, or there is no SQL type for it.
    """
    given = dict.fromkeys(WINDOW_COLUMNS, _INSTANT) | dict(types)
    return [
        sa.Column(
            name,
            sql_type(given[name], name) if name in given else _type_in(rows, name, step),
            primary_key=name in key,
            autoincrement=False,
        )
        for name in rows[0]
    ]


def _type_in(rows: list[Values], name: str, step: str) -> Any:
    values = {type(row[name]): row[name] for row in rows if row[name] is not None}
    remedy = f"say types={{{name!r}: …}} with a Python type or one of SQLAlchemy's"
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
            f"the element {shorten(rows[0])} has {shorten(value)} in the column {name!r}, and there is "
            f"no SQL type for {kind.__qualname__}",
            where=step,
            remedy=f"make it a plain value with hr.Map, or {remedy}",
        ) from error
