"""Speed of the sinks of Delta and Iceberg tables: ``python -m benchmarks.lake [ROWS] [CHANGES]``.

One process writes and commits: it appends ROWS rows, then merges CHANGES changes of random keys (as many
retractions of old rows as new rows) into a table of ROWS rows. Parts are written one after the other; on a
cluster, workers write them in parallel.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import headrace as hr
from benchmarks.table import table
from headrace.grouping.bundle import Bundle, Element
from headrace.io import Commit, SinkPart

PART: int = 100_000
"""Number of elements in a part."""


def sink(name: str, folder: Path, **arguments: Any) -> Any:
    """Return the sink of a format, opened."""
    if name == "Delta":
        write: Any = hr.io.WriteToDelta(folder / "t", **arguments)
    else:
        properties = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/warehouse",
        }
        write = hr.io.WriteToIceberg("shop.t", catalog_properties=properties, **arguments)
    found = write._sink
    found.open()
    return found


def seconds(target: Any, number: int, elements: list[Element]) -> tuple[float, float]:
    """Write a batch; return the time of the parts and of the commit."""
    start = time.perf_counter()
    parts = [elements[at : at + PART] for at in range(0, len(elements), PART)]
    written = [
        target.write_part(SinkPart(number, 0, Bundle.of(part), "run", "step", number=n))
        for n, part in enumerate(parts)
    ]
    middle = time.perf_counter()
    target.commit(Commit(number, "run", "step", written, streaming=True))
    return middle - start, time.perf_counter() - middle


def row(key: int, value: int) -> tuple[int, str, int]:
    return (key, f"shop {key % 1000}", value)


def measured(name: str, rows: int, changes: int) -> list[list[str]]:
    """Return a row of results for an append and a merge."""
    keys = random.Random(1).sample(range(rows), changes // 2)
    inserted = [Element(row(key, 0), 0, ()) for key in range(rows)]
    changed = [Element(row(key, 0), 0, (), diff=-1) for key in keys]
    changed += [Element(row(key, 1), 0, ()) for key in keys]
    with tempfile.TemporaryDirectory() as folder:
        arguments: dict[str, Any] = {"columns": ["id", "shop", "amount"]}
        appended = seconds(sink(name, Path(folder), **arguments), 0, inserted)
        merged = seconds(sink(name, Path(folder), key="id", **arguments), 1, changed)
    return [
        line(f"{name}: append", rows, *appended),
        line(f"{name}: merge", len(changed), *merged),
    ]


def line(label: str, elements: int, parts: float, commit: float) -> list[str]:
    speed = elements / (parts + commit)
    return [label, f"{elements:,}", f"{parts:.2f}", f"{commit:.2f}", f"{speed:,.0f}"]


def main() -> None:
    """Print the table."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    changes = int(sys.argv[2]) if len(sys.argv) > 2 else 200_000
    header = ["", "elements", "parts, s", "commit, s", "elements/s"]
    print(
        table(
            header,
            [each for name in ("Delta", "Iceberg") for each in measured(name, rows, changes)],
        )
    )


if __name__ == "__main__":
    main()
