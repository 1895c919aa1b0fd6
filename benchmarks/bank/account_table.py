"""A table with a number for each account, as a user of Beam or of Structured Streaming writes it by hand."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from headrace.sdk.io.table.database import engine_of


class AccountTable:
    """Writes the numbers of a bundle or batch in one transaction.

    Args:
        url: URL of the database.
        table: name of the table, which is created.
        column: name of the column of the numbers.
    """

    def __init__(self, url: str, table: str, column: str) -> None:
        self._engine = engine_of(url)
        self._upsert = sa.text(
            f"insert into {table} (account, {column}) values (:account, :number)"
            f" on conflict (account) do update set {column} = excluded.{column}"
        )
        with self._engine.begin() as connection:
            connection.execute(
                sa.text(
                    f"create table if not exists {table} (account int primary key, {column} bigint)"
                )
            )

    def write(self, numbers: Mapping[int, int]) -> None:
        """Replace the numbers of accounts."""
        rows = [{"account": account, "number": number} for account, number in numbers.items()]
        with self._engine.begin() as connection:
            if rows:
                connection.execute(self._upsert, rows)
