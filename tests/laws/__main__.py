"""Checks a runner against all laws and the oracle, with many random pipelines.

Most laws apply to some pipelines only; the report counts the cases of each law. With ``--each``, half of the
pipelines are drawn for the law that has the fewest cases.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count, islice
from multiprocessing import Pool
from pathlib import Path
from typing import Any, Final

import attrs

from headrace.sdk.testing.runs.run_on_runner import run_streaming
from headrace.sdk.testing.strategies.targeted_runs import KINDS_OF_RUNS
from headrace.testing.laws import Report, check_runner
from headrace.testing.strategies import Run
from tests.laws.corpus import FOUND, keep
from tests.laws.event_by_event import oracle_panes

CASES_PER_SEED = 600
"""Number of cases that share a seed."""

MIXED: Final = "all"
"""Runs of all kinds, as a kind."""

KEEPER: Final = "tests.laws.test_counting.test_the_local_runner_keeps_all_laws"
"""The test that tries the found runs again."""


def oracle(runs: Sequence[Run]) -> list[Any]:
    """The oracle's panes of each run; None for runs that it does not support.

    These have filters, two sources, branches or stateful DoFns.
    """
    return [oracle_panes(run) if run.has_only_panes else None for run in runs]


def oracle_or_local(runs: Sequence[Run]) -> list[Any]:
    """The oracle's panes of each run, or those of the local runner where the oracle has none."""
    unknown = [run for run in runs if not run.has_only_panes]
    others = iter(run_streaming(unknown, "local") if unknown else ())
    return [
        [heard.panes for heard in next(others)] if panes is None else panes
        for panes in oracle(runs)
    ]


def examine(
    runner: str, cases: int, pack: int, batch: bool, columns: bool, kind: str, random_seed: int
) -> Report:
    """Check some cases, with one seed."""
    pipelines = None if kind == MIXED else KINDS_OF_RUNS[kind]()
    reference = oracle if runner == "local" else oracle_or_local
    return check_runner(
        runner,
        cases,
        batch=batch,
        reference=reference,
        pack=pack,
        random_seed=random_seed,
        pipelines=pipelines,
        columns=columns,
    )


def merge_reports(reports: Sequence[Report]) -> Report:
    """Merge reports of the same laws; the first failure of each law is kept."""
    verdicts = [
        attrs.evolve(
            next((verdict for verdict in said if verdict.broken), said[0]),
            cases=sum(verdict.cases for verdict in said),
        )
        for said in zip(*(report.verdicts for report in reports), strict=True)
    ]
    return Report(reports[0].runner, sum(r.cases for r in reports), tuple(verdicts))


def reports(options: argparse.Namespace) -> Iterator[Report]:
    """Yield a report of all cases so far, until there are enough."""
    piece = partial(
        examine,
        options.runner,
        min(CASES_PER_SEED, options.cases),
        options.pack,
        options.batch,
        options.columns,
    )
    pieces = enumerate(count(options.seed, CASES_PER_SEED))
    tried: dict[str, Report] = {}
    with Pool(options.processes) as pool:
        while not tried or not enough(merge_reports(list(tried.values())), options):
            todo = [
                (
                    kind_for_rarest_law(tried, n // 2) if options.each and n % 2 else options.kind,
                    seed,
                )
                for n, seed in islice(pieces, options.processes)
            ]
            for (kind, _), report in zip(todo, pool.starmap(piece, todo), strict=True):
                tried[kind] = merge_reports([tried[kind], report]) if kind in tried else report
            yield merge_reports(list(tried.values()))


def kind_for_rarest_law(tried: Mapping[str, Report], number: int) -> str:
    """The kind of runs that has the most cases of the rarest law; first each kind once."""
    untried = [kind for kind in KINDS_OF_RUNS if kind not in tried]
    if untried:
        return untried[number % len(untried)]
    cases = [verdict.cases for verdict in merge_reports(list(tried.values())).verdicts]
    rarest = cases.index(min(cases))
    return max(
        KINDS_OF_RUNS, key=lambda kind: tried[kind].verdicts[rarest].cases / tried[kind].cases
    )


def keep_broken(report: Report, folder: Path) -> list[Path]:
    """Write the smallest runs that break laws, for `test_corpus` to try again on the local runner."""
    runs = [verdict.run for verdict in report.broken if verdict.run]
    return sorted({keep(run, KEEPER, folder) for run in runs})


def enough(report: Report, options: argparse.Namespace) -> bool:
    """Whether there are as many cases as requested, or a law is broken."""
    least = min(verdict.cases for verdict in report.verdicts)
    return not report.passed or (report.cases >= options.cases and least >= options.each)


def main() -> None:
    """Parse the options, check the runner, and print the report."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=__doc__)
    parser.add_argument("--runner", default="local")
    parser.add_argument("--cases", type=int, default=1_000, help="minimum number of pipelines")
    parser.add_argument("--each", type=int, default=0, help="minimum number of cases of each law")
    parser.add_argument("--kind", default=MIXED, choices=[MIXED, *KINDS_OF_RUNS])
    parser.add_argument("--pack", type=int, help="number of runs in one pipeline")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--batch", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--columns", action="store_true", help="the sources hand on columns")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Spark starts processes of its own, and takes seconds for each query.
    on_spark = options.runner == "spark"
    options.pack = options.pack or (150 if on_spark else 50)
    options.processes = options.processes or (1 if on_spark else os.cpu_count())
    start = time.monotonic()
    for report in reports(options):
        print(f"{time.monotonic() - start:.0f} s, {str(report).splitlines()[0]}", flush=True)
    print(report)
    for place in keep_broken(report, FOUND):
        print(f"written to {place}: commit it with the fix")
    sys.exit(not report.passed)


if __name__ == "__main__":
    main()
