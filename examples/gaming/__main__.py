"""The mobile game on the command line.

    python -m examples.gaming user_score
    python -m examples.gaming leader_board --streaming --runner spark

The jobs are user_score, hourly_team_score, leader_board and game_stats. Other flags go to the pipeline.
The results are in out/gaming.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from .events import Config
from .job import JOBS, RESULTS, changes, current_rows, run

PRINTED = 8


def main(argv: list[str] | None = None) -> int:
    """Run a job, and print how many results it has, and those with the most points."""
    parser = ArgumentParser(
        prog="python -m examples.gaming",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--events", type=int, default=Config().events)
    parser.add_argument("--seed", type=int, default=Config().seed)
    parser.add_argument("--directory", type=Path, default=Path("out/gaming"))
    args, flags = parser.parse_known_args(argv)

    config = Config(events=args.events, seed=args.seed)
    result = run([args.job], config, args.directory, flags)
    if result.state == "CANCELLED":
        print("The run was cancelled, so its results are not complete.")
        return 1
    for name in RESULTS[args.job]:
        _report(args.directory / args.job, name)
    return int(result.state != "DONE")


def _report(directory: Path, name: str) -> None:
    rows = current_rows(directory, name)
    retracted = sum(1 for _, diff in changes(directory, name) if diff < 0)
    print(f"{name}: {rows.total()} results, after {retracted} retractions")
    for row in sorted(rows, key=lambda row: row[-1], reverse=True)[:PRINTED]:
        print("   ", *row)


if __name__ == "__main__":
    sys.exit(main())
