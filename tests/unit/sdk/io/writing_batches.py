"""A process that keeps a table up to date until it is killed: run by test_table.py.

Every batch takes back some of what the one before said, so a batch that were written twice, or half,
would show.
"""

from __future__ import annotations

import sys

from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.sources.sink import SinkBatch

BATCHES = 12
KEYS = 2_000


def sink(url: str, table: str) -> TableSink:
    return TableSink(url, table, ("key",), ("key", "n"), {"key": str, "n": int}, False)


def adding(url: str, table: str) -> TableSink:
    return TableSink(url, table, (), ("batch", "n"), {"batch": int, "n": int}, False)


def batch(number: int, step: str) -> SinkBatch:
    """The n-th batch: every key gets its new value; a third goes, and comes back in the next one."""
    rows = []
    for key in range(KEYS):
        if number and (number - 1 + key) % 3:
            rows.append(Element((f"k{key}", number - 1), 0, (), diff=-1))
        if (number + key) % 3:
            rows.append(Element((f"k{key}", number), 0, ()))
    return SinkBatch(number, 0, Bundle.of(rows), "run", step)


def line(number: int, step: str) -> SinkBatch:
    return SinkBatch(number, 0, Bundle([(number, n) for n in range(KEYS)]), "run", step)


def write(url: str, first: int) -> None:
    """Write batches from the first one on, and say so before each."""
    keyed, added = sink(url, "keyed"), adding(url, "added")
    keyed.open()
    added.open()
    for number in range(first, BATCHES):
        print(number, flush=True)
        keyed.write(batch(number, "keyed"))
        added.write(line(number, "added"))
    keyed.close()
    added.close()
    print("end", flush=True)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]))
