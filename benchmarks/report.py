"""The cost of ``--report`` on the local runner: the same run with and without it, and the size of the page.

python benchmarks/report.py                       # 10,000,000 elements; takes minutes
python benchmarks/report.py --elements 1000000 --repeat 3
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs
from table import table

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.io import BoundedSource, ReadsBundles

KEYS: Final = 10_000
WINDOW: Final = 60
"""Length of the windows in seconds."""

SPAN: Final = 3_600
"""Event time of all elements in seconds."""

BUNDLE: Final = 10_000

MODES: Final[dict[str, list[str]]] = {
    "batch": [],
    "streaming": ["--streaming", f"--max-records-per-batch={BUNDLE}"],
}


@attrs.frozen
class Numbers(BoundedSource[Any], ReadsBundles):
    """Pairs of a key and a number."""

    elements: int

    def read(self, partition: Any) -> Iterator[Any]:
        raise NotImplementedError("it is read in bundles")

    def read_bundles(self, partition: Any) -> Iterator[Bundle]:
        for start in range(0, self.elements, BUNDLE):
            numbers = range(start, min(start + BUNDLE, self.elements))
            micros = [n * SPAN * 1_000_000 // self.elements for n in numbers]
            yield Bundle([(n * 7919 % KEYS, n) for n in numbers], micros)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--elements", type=int, default=10_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    flags = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "report.html"
        for mode, argv in MODES.items():
            seconds = _in_turn(flags.elements, argv, page, flags.repeat)
            print(f"{mode}, {flags.elements:,} elements\n{_table(seconds, page.stat().st_size)}\n")
    return 0


def _in_turn(elements: int, argv: list[str], page: Path, repeat: int) -> dict[str, list[float]]:
    """Run without and with a report, in an order that changes: later runs of a process are slower."""
    runs = {"without": argv, "with --report": [*argv, f"--report={page}"]}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(repeat):
        for name in list(runs)[:: -1 if number % 2 else 1]:
            seconds[name].append(_run(elements, runs[name]))
    return seconds


def _run(elements: int, argv: list[str]) -> float:
    """Return the CPU time of a run in seconds."""
    begun = time.process_time()
    with hr.Pipeline("local", argv=argv) as p:
        windows = hr.WindowInto(
            hr.window.FixedWindows(WINDOW),
            trigger=hr.trigger.AfterWatermark(late=hr.trigger.AfterCount(1)),
            accumulation_mode=hr.AccumulationMode.RETRACTING,
            allowed_lateness=WINDOW,
        )
        _ = p | hr.Read(Numbers(elements)) | windows | hr.CombinePerKey(sum)
    return time.process_time() - begun


def _table(seconds: dict[str, list[float]], size: int) -> str:
    base = median(seconds["without"])
    rows = (
        [
            name,
            f"{median(each):.2f} ({min(each):.2f} … {max(each):.2f})",
            f"{median(each) / base:.3f}",
        ]
        for name, each in seconds.items()
    )
    header = ["", "CPU seconds (from … to …)", "× the run without"]
    return f"{table(header, rows)}\nthe page has {size:,} bytes"


if __name__ == "__main__":
    sys.exit(main())
