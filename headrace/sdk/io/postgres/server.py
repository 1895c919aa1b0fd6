"""The server: connections that outlive its restarts, and a DSN whose password is never shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import attrs

from headrace.errors import PipelineError, require_extra
from headrace.sdk.io.secret import Secret, resolved

ResultT = TypeVar("ResultT")

SERVER_PATIENCE: Final = 60.0
"""For how many seconds a server that does not answer, or a slot in use, is tried again."""

_PAUSE: Final = 0.2

_KEEPALIVES: Final = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3}
"""A server that has gone without closing its connections is noticed after a minute, not after two hours."""


@attrs.frozen(repr=False)
class Server:
    """A database.

    Args:
        dsn: its URL or its ``key=value`` pairs; or a secret or a function with them.
        password: the password, if it is not in the DSN.
    """

    _dsn: str | Secret | Callable[[], str]
    _password: str | Secret | None = None

    def __repr__(self) -> str:
        """Show no secrets."""
        return f"Server({self.address})"

    @property
    def address(self) -> str:
        """The database without user and password; of a DSN from a function nothing is known."""
        if not isinstance(self._dsn, str):
            return "postgresql://"
        parts = self._parts(self._dsn)
        host, port = parts.get("host", "localhost"), parts.get("port", "5432")
        return f"postgresql://{host}:{port}/{parts.get('dbname', parts.get('user', ''))}"

    def check(self) -> None:
        """Check the DSN, without connecting.

        Raises:
            PipelineError: it is not valid, or psycopg is not installed.
        """
        self._parts(self._dsn if isinstance(self._dsn, str) else "")

    def run(self, work: Callable[[Any], ResultT], patience: float = SERVER_PATIENCE) -> ResultT:
        """Connect and do some work, again if the connection is lost; it must be safe to repeat.

        Args:
            work: takes a connection.
            patience: for how many seconds to try.

        Raises:
            PipelineError: the server does not answer, or the slot is in use.
        """
        import psycopg

        end = time.monotonic() + patience
        while True:
            try:
                with self.connected() as connection:
                    return work(connection)
            except (psycopg.OperationalError, psycopg.errors.ObjectInUse) as error:
                if time.monotonic() > end or isinstance(error, psycopg.errors.InvalidPassword):
                    raise PipelineError(
                        f"{self.address} does not answer: {type(error).__name__}: {error}",
                        remedy="start it, or check the DSN and that no other run reads the slot",
                    ) from None
                time.sleep(_PAUSE)

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Open a connection, in which each statement is a transaction of its own."""
        import psycopg

        found = resolved({"dsn": self._dsn, "password": self._password})
        dsn = found["dsn"]() if callable(found["dsn"]) else found["dsn"]
        secrets = {} if self._password is None else {"password": found["password"]}
        settings = {"connect_timeout": 10, **_KEEPALIVES, **self._parts(dsn), **secrets}
        with psycopg.connect(autocommit=True, **settings) as connection:
            yield connection

    def _parts(self, dsn: str) -> dict[str, str]:
        info = require_extra("psycopg.conninfo", "sql", "PostgreSQL is read with psycopg", _ALSO)
        import psycopg

        try:
            return {name: str(value) for name, value in info.conninfo_to_dict(dsn).items()}
        except psycopg.ProgrammingError:
            raise PipelineError(  # without the message, which can have the password
                "the DSN of PostgreSQL is not valid",
                remedy='write it like "postgresql://user@host/database"',
            ) from None


_ALSO: Final = " 'psycopg[binary]'"
