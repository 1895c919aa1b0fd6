"""Groupings on the local runner in streaming mode, on columns and on elements, compared with bytewax.

pip install bytewax                               # for its rows; without it there are none
python benchmarks/local_streaming.py              # 1,000,000 events in rounds of 10,000; 100,000 for bytewax
python benchmarks/local_streaming.py --scale 0.1 --repeat 1

Headrace reads a Parquet file. bytewax has its events in memory, in batches of the same size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import by_dict_loop
import by_headrace_files
from by_headrace_files import Columns, Dictionaries, results
from comparison import CLOCKS, require_same
from in_turn import seconds_of, table_of
from parquet_input import write_events
from workloads import GROUPINGS, Event, Results, Workload

ROUND: Final = 10_000
"""Events of a round."""

FLAGS: Final = ("--streaming", f"--max-records-per-batch={ROUND}", "--no-progress")

ELEMENTS: Final = "Headrace, on elements"
BYTEWAX: Final = "bytewax"

WINDOWED: Final = tuple(each for each in GROUPINGS if each.name != "word_count")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=1.0, help="relative size (default: 1)")
    parser.add_argument("--repeat", type=int, default=5)
    flags = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        for workload in WINDOWED:
            print(f"{workload.title}\n{_table(workload, Path(directory), flags)}\n", flush=True)
    return 0


def _table(workload: Workload, directory: Path, flags: argparse.Namespace) -> str:
    """Compare the results with those of a loop, then time all ways."""
    events = workload.generate(int(workload.rows * flags.scale))
    path = directory / f"{workload.name}.parquet"
    write_events(path, events)
    ways: dict[str, Callable[[], Results]] = {
        "Headrace, on columns": partial(_by_headrace, workload, Columns(), str(path)),
        ELEMENTS: partial(_by_headrace, workload, Dictionaries(), str(path)),
    }
    inputs = dict.fromkeys(ways, events)
    if find_spec(BYTEWAX):
        inputs[BYTEWAX] = events[: int(workload.slow_rows * flags.scale)]
        ways[BYTEWAX] = partial(_by_bytewax, workload, inputs[BYTEWAX])
    loop = getattr(by_dict_loop, workload.name)
    for name, way in ways.items():
        require_same(name, way(), loop(inputs[name]))
    seconds = seconds_of(ways, flags.repeat, CLOCKS["cpu"])
    sizes = {name: len(given) for name, given in inputs.items()}
    return table_of(seconds, sizes, BYTEWAX if BYTEWAX in ways else ELEMENTS)


def _by_headrace(workload: Workload, files: Any, path: str) -> Results:
    compute = getattr(by_headrace_files, workload.name)
    return results(workload.name, compute("local", files, [path], FLAGS))


def _by_bytewax(workload: Workload, events: list[Event]) -> Results:
    found: Results = getattr(import_module("by_bytewax"), workload.name)(events)
    return found


if __name__ == "__main__":
    sys.exit(main())
