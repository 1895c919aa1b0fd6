"""The time of ``import headrace``, compared with ``import asyncio``.

Each import runs in new processes, in turn; the medians are compared.
"""

from __future__ import annotations

import subprocess
import sys
from statistics import median
from time import perf_counter
from typing import Final

from table import table

RUNS: Final = 15
STATEMENTS: Final = (
    "pass",
    "import asyncio",
    "import headrace",
    "import headrace; headrace.Pipeline",
    "from headrace import *",
)


def seconds(statement: str) -> float:
    start = perf_counter()
    subprocess.run([sys.executable, "-c", statement], check=True)
    return perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {statement: [] for statement in STATEMENTS}
    for _ in range(RUNS):
        for statement in STATEMENTS:
            times[statement].append(seconds(statement))
    nothing = median(times["pass"])
    cost = {statement: median(each) - nothing for statement, each in times.items()}
    rows = [
        [
            statement,
            f"{1000 * cost[statement]:.0f}",
            f"{cost[statement] / cost['import asyncio']:.2f}",
        ]
        for statement in STATEMENTS[1:]
    ]
    print(table(["statement", "ms", "ratio to asyncio"], rows))


if __name__ == "__main__":
    main()
