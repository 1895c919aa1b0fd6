"""Queries that are stopped from outside: by ``query.stop()``, in Spark's pages, or with their session.

Spark does not tell these ends from others: the query ends without an error, or with any error that follows
from the end of the session, or it does not end at all.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, Final

from headrace.runners.spark.cluster.error_transport import transports

_CANCELLED_JOB: Final = "[SPARK_JOB_CANCELLED]"

_ENDING: Final = 5.0
"""Maximum number of seconds to wait for a query to end with its session."""

_POLL: Final = 0.05


def stop_of_session(context: Any) -> str | None:
    """Return how the session of a query was stopped; None if it was not.

    Args:
        context: the session's ``JavaSparkContext``.
    """
    try:
        stopped = context.sc().isStopped()
    except Exception:  # there is no JVM any more: a crash
        return None
    return "its Spark session was stopped" if stopped else None


def stop_by_error(error: BaseException, context: object) -> str | None:
    """Return how a query was stopped from outside, if its error follows from this; else None.

    Args:
        error: the error of the query.
        context: the session's ``JavaSparkContext``.
    """
    if transports(error):
        return None
    if any(_CANCELLED_JOB in str(each) for each in _with_causes(error)):
        return "its Spark job was cancelled"
    return stop_of_session(context)


def await_end_with_session(query: Any) -> None:
    """Wait until a query whose session was stopped has ended, as far as Spark tells."""
    end = time.monotonic() + _ENDING
    while query.isActive and time.monotonic() < end:
        time.sleep(_POLL)


def _with_causes(error: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = error
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__
