"""Runs many programs in three ways: on Beam's local runners, by our translation, and natively.

A case is a program as a stream or as a batch. On Spark, many programs are one pipeline, which is compared with
the same pipeline on the local runner. A difference ends the run, with the smallest program that shows it.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import partial
from multiprocessing import Pool

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from tests.beam.judge.twin.comparing import check
from tests.beam.judge.twin.drawing import programs
from tests.beam.judge.twin.language import Program
from tests.beam.judge.twin.quicker import quick_construction

PIECE = 100
"""Number of cases that share a seed."""


def examine(cases: int, random_seed: int) -> tuple[Counter[str], str]:
    """Check some cases; return what was counted, and a difference if there is one."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()

    @seed(random_seed)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs(), st.booleans())
    def law(program: Program, streaming: bool) -> None:
        check(program, streaming, counts)
        counts["cases"] += 1
        counts[f"cases {'streaming' if streaming else 'batch'}"] += 1
        counts.update(set(program.features))

    try:
        with quick_construction():
            law()
    except Exception as error:
        return counts, f"seed {random_seed}: {type(error).__name__}: {error}"
    return counts, ""


def pieces(options: argparse.Namespace) -> Iterator[tuple[Counter[str], str]]:
    """Yield what the pieces of a run have counted and found, until there are enough cases."""
    piece = min(PIECE, options.cases)
    seeds = range(options.seed, options.seed + -(-options.cases // piece))
    with Pool(options.processes, maxtasksperchild=4) as pool:
        yield from pool.imap_unordered(partial(examine, piece), seeds)


def main() -> None:
    """Parse the options, check the cases, and print the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.beam.judge.twin", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    start, counts, found = time.monotonic(), Counter[str](), []
    for counted, difference in pieces(options):
        counts += counted
        found += [difference] * bool(difference)
        if difference:
            print(difference, flush=True)
        print(f"{time.monotonic() - start:.0f} s, {counts['cases']} cases", flush=True)
    for name, number in sorted(counts.items()):
        print(f"{number:7} {name}")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
