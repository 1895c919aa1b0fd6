"""Fewer garbage collections during a run, since a run rarely makes reference cycles.

The collector scans all live containers again and again as their number grows. A run makes millions of tuples
and lists, which reference counting frees. So during a run the youngest generation is collected less often.
Objects that are alive after a run are collected as usual.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Final

ALLOCATIONS: Final = 500_000
"""The number of container allocations, less deallocations, that starts a collection."""

COLLECTING: Final = 16
"""One of this many calls of `freeze_heap` collects garbage."""

_calls: Final = count(1)


def freeze_heap() -> None:
    """Leave what is alive out of collections.

    That scans nothing, but garbage with reference cycles stays. Every sixteenth call collects it first, which
    takes as long as a small micro-batch.
    """
    if next(_calls) % COLLECTING == 0:
        gc.unfreeze()
        gc.collect()
    gc.freeze()


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect garbage less often; no effect if another run at the same time has already changed it."""
    before = gc.get_threshold()
    if before[0] >= ALLOCATIONS:
        yield
        return
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
