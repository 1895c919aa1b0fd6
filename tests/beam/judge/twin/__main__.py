"""Runs many programs in three ways: on Beam's local runners, by our translation, and natively.

A case is a program as a stream or as a batch. On Spark, many programs are one pipeline, whose outputs are
compared with those of the same pipeline of Headrace's own transforms on the local runner.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st

from headrace.beam import HeadraceRunner
from headrace.runners.spark.cluster.session import prepare
from headrace.sdk.options.pipeline_options import PipelineOptions
from tests.beam.judge.twin.comparing import assert_same, check
from tests.beam.judge.twin.drawing import drawn_programs, programs
from tests.beam.judge.twin.language import Program
from tests.beam.judge.twin.quicker import quick_construction
from tests.beam.judge.twin.running import packed_by_beam, packed_natively

PIECE = 100
"""Number of cases that share a seed."""


def examine(cases: int, shrinking: bool, random_seed: int) -> tuple[Counter[str], str]:
    """Check some cases; return what was counted, and a difference if there is one."""
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()

    @seed(random_seed)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, *[Phase.shrink] * shrinking],
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
        yield from pool.imap_unordered(partial(examine, piece, options.shrink), seeds)


def examine_pack(pack: Sequence[Program], streaming: bool) -> tuple[Counter[str], str]:
    """Compare a pack of programs on Spark with the same programs of our own transforms, in memory."""
    counts = Counter(feature for program in pack for feature in set(program.features))
    native = packed_natively(pack, streaming)
    with TemporaryDirectory() as folder:
        theirs = packed_by_beam(pack, HeadraceRunner("spark"), streaming, str(Path(folder, "seen")))
    counts[f"cases {'streaming' if streaming else 'batch'}"] += len(pack)
    for program, one, other in zip(pack, theirs, native, strict=True):
        try:
            assert_same("Spark", program, one, other)
        except AssertionError as error:
            return counts, str(error)
        counts["cases"] += 1
    return counts, ""


def packs(options: argparse.Namespace) -> Iterator[tuple[Counter[str], str]]:
    """Yield what packs of programs on Spark have counted and found, streams and batches in turn."""
    warnings.simplefilter("ignore")
    session = prepare(PipelineOptions(["--spark-master=local[2]"]))
    for n in range(-(-options.cases // options.pack)):
        with quick_construction():
            yield examine_pack(drawn_programs(options.pack, options.seed + n), streaming=n % 2 == 0)
    session.spark.stop()


RUNNERS = {"local": pieces, "spark": packs}


def main() -> None:
    """Parse the options, check the cases, and print the counts."""
    parser = argparse.ArgumentParser(prog="python -m tests.beam.judge.twin", description=__doc__)
    parser.add_argument("--cases", type=int, default=1_000, help="number of cases")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--shrink", action="store_true", help="look for the smallest difference")
    parser.add_argument("--runner", choices=RUNNERS, default="local")
    parser.add_argument("--pack", type=int, default=25, help="number of programs in a pipeline")
    options = parser.parse_args()
    start, counts, found = time.monotonic(), Counter[str](), []
    for counted, difference in RUNNERS[options.runner](options):
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
