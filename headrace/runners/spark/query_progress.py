"""Numbers of Spark's own about a micro-batch, from the progress of a query."""

from __future__ import annotations

from typing import Any


def batch_numbers(progress: Any) -> dict[str, float]:
    """Return the number, the duration in seconds, and the input rows of the last completed batch.

    Args:
        progress: a ``StreamingQueryProgress``.

    >>> batch_numbers({"batchId": 3, "numInputRows": 7, "durationMs": {"triggerExecution": 250}})
    {'batch': 3, 'batch seconds': 0.25, 'input rows': 7}
    """
    return {
        "batch": progress["batchId"],
        "batch seconds": progress["durationMs"].get("triggerExecution", 0) / 1000,
        "input rows": progress["numInputRows"],
    }
