"""Hold a runner to all laws with many random pipelines, and to what the oracle says of each.

Most laws see only some pipelines; the report counts what each has seen. Where each is to see so many, half
of the pipelines are drawn for the law that has seen fewest.
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

from headrace.sdk.testing.run_on_runner import play
from headrace.sdk.testing.strategies.pipelines import KINDS_OF_RUNS
from headrace.testing.laws import Report, check_runner
from headrace.testing.strategies import Run
from tests.laws.corpus import FOUND, keep
from tests.laws.event_by_event import foretell_ticking

DRAWN = 600
"""So many cases are one piece of work, with a seed of its own."""

MIXED: Final = "all"
"""Runs of all kinds, as a kind."""

KEEPER: Final = "tests.laws.test_counting.test_the_local_runner_keeps_all_laws"
"""The test that tries again what was found."""


def oracle(runs: Sequence[Run]) -> list[Any]:
    """What the oracle says of runs; None of those that it does not know, with filters and two sources."""
    return [foretell_ticking(run) if run.plain else None for run in runs]


def oracle_or_local(runs: Sequence[Run]) -> list[Any]:
    """What the oracle says of runs, and the local runner of those that it does not know."""
    unknown = [run for run in runs if not run.plain]
    others = iter(play(unknown, "local") if unknown else ())
    return [
        [heard.panes for heard in next(others)] if said is None else said for said in oracle(runs)
    ]


def examine(runner: str, cases: int, pack: int, batch: bool, kind: str, random_seed: int) -> Report:
    """Do one piece of the work."""
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
    )


def united(reports: Sequence[Report]) -> Report:
    """Add up reports of the same laws; of what is broken, the first is kept."""
    verdicts = [
        attrs.evolve(
            next((verdict for verdict in said if verdict.broken), said[0]),
            cases=sum(verdict.cases for verdict in said),
        )
        for said in zip(*(report.verdicts for report in reports), strict=True)
    ]
    return Report(reports[0].runner, sum(r.cases for r in reports), tuple(verdicts))


def reports(asked: argparse.Namespace) -> Iterator[Report]:
    """Yield a report of all cases until now, again and again, until enough have been tried."""
    piece = partial(examine, asked.runner, min(DRAWN, asked.cases), asked.pack, asked.batch)
    pieces = enumerate(count(asked.seed, DRAWN))
    tried: dict[str, Report] = {}
    with Pool(asked.processes) as pool:
        while not tried or not enough(united(list(tried.values())), asked):
            todo = [
                (seldom_seen(tried, n // 2) if asked.each and n % 2 else asked.kind, seed)
                for n, seed in islice(pieces, asked.processes)
            ]
            for (kind, _), report in zip(todo, pool.starmap(piece, todo), strict=True):
                tried[kind] = united([tried[kind], report]) if kind in tried else report
            yield united(list(tried.values()))


def seldom_seen(tried: Mapping[str, Report], number: int) -> str:
    """Name the kind of runs that shows most often the law that has seen fewest; each kind once at first."""
    untried = [kind for kind in KINDS_OF_RUNS if kind not in tried]
    if untried:
        return untried[number % len(untried)]
    cases = [verdict.cases for verdict in united(list(tried.values())).verdicts]
    rarest = cases.index(min(cases))
    return max(
        KINDS_OF_RUNS, key=lambda kind: tried[kind].verdicts[rarest].cases / tried[kind].cases
    )


def keep_what_is_broken(report: Report, folder: Path) -> list[Path]:
    """Write down the smallest runs that break laws, to be tried again on the local runner each time."""
    runs = [verdict.run for verdict in report.broken if verdict.run]
    return sorted({keep(run, KEEPER, folder) for run in runs})


def enough(report: Report, asked: argparse.Namespace) -> bool:
    """Tell whether as much has been tried as was asked, or a law is broken."""
    least = min(verdict.cases for verdict in report.verdicts)
    return not report.passed or (report.cases >= asked.cases and least >= asked.each)


def main() -> None:
    """Read what is asked, and say what became of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.laws", description=__doc__)
    parser.add_argument("--runner", default="local")
    parser.add_argument("--cases", type=int, default=1_000, help="so many pipelines at least")
    parser.add_argument("--each", type=int, default=0, help="until each law has seen so many")
    parser.add_argument("--kind", default=MIXED, choices=[MIXED, *KINDS_OF_RUNS])
    parser.add_argument("--pack", type=int, help="so many run side by side in one")
    parser.add_argument("--processes", type=int)
    parser.add_argument("--batch", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    # Spark starts processes of its own, and takes seconds for each query.
    on_spark = asked.runner == "spark"
    asked.pack = asked.pack or (150 if on_spark else 50)
    asked.processes = asked.processes or (1 if on_spark else os.cpu_count())
    start = time.monotonic()
    for report in reports(asked):
        print(f"{time.monotonic() - start:.0f} s, {str(report).splitlines()[0]}", flush=True)
    print(report)
    for place in keep_what_is_broken(report, FOUND):
        print(f"kept in {place}: commit it with the mend")
    sys.exit(not report.passed)


if __name__ == "__main__":
    main()
