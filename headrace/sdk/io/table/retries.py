"""Retries of a transaction after a lost connection, a deadlock or a lock that was not released in time.

A batch can be tried again: what its first try committed is known by the number of the batch.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any, Final

from sqlalchemy.exc import DBAPIError

from headrace.sdk.elements.type_variables import T

LOGGER: Final = logging.getLogger(__name__)

DELAYS: Final = (0.05, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds before each retry; a server that was killed has about 15 seconds to return."""

_SQLSTATES: Final = ("08", "40", "57P", "55P03", "53300")
"""PostgreSQL: no connection, rolled back for others, shutdown or start, lock timeout, too busy."""

_MYSQL: Final = frozenset(
    [
        *(1205, 1213),  # a lock was not released in time; a deadlock
        *(
            1040,
            1053,
            1317,
            1927,
        ),  # the server: too many connections, shutdown, interrupted, killed
        *(1158, 1159, 1160, 1161),  # packets: errors and timeouts of reads and writes
        *(2002, 2003, 2006, 2013, 2055),  # the client: no connection, gone, lost
    ]
)

_SQLITE_BUSY: Final = (5, 6)


def is_transient(error: DBAPIError) -> bool:
    """Return whether the same transaction may succeed a little later."""
    if error.connection_invalidated:
        return True
    cause: Any = error.orig
    code = cause.args[0] if cause is not None and cause.args else None
    if isinstance(code, int):
        return code in _MYSQL
    if hasattr(cause, "sqlite_errorcode"):
        return cause.sqlite_errorcode & 0xFF in _SQLITE_BUSY
    state = getattr(cause, "sqlstate", None)
    return state.startswith(_SQLSTATES) if state else type(cause).__name__ == "OperationalError"


def retried(attempt: Callable[[], T], step: str) -> T:
    """Call a function that runs a transaction, again after an error that may pass.

    Args:
        attempt: the function.
        step: label of the step, for the log.

    Returns:
        What the function returns.
    """
    for delay in DELAYS:
        try:
            return attempt()
        except DBAPIError as error:
            if not is_transient(error):
                raise
            LOGGER.warning(
                "%s: the batch will be written again in %s s: %s", step, delay, error.orig
            )
            time.sleep(delay)
    return attempt()
