"""Garbage collection while a run allocates: rarely, for what a run makes is seldom cyclic.

The collector looks at every tuple and list that is alive, again and again as their number grows. A run
makes them by the million, and reference counts free them; so while it lasts the young ones are looked at
less often. Nothing else changes: what one run leaves behind is collected as usual, after it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

ALLOCATIONS: Final = 500_000
"""So many more containers must be alive before the collector looks at the young ones."""


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Let the garbage collector work less often; a run at the same time may have seen to it already."""
    before = gc.get_threshold()
    if before[0] >= ALLOCATIONS:
        yield
        return
    gc.set_threshold(ALLOCATIONS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
