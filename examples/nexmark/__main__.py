"""Nexmark on the command line.

    python -m examples.nexmark                                        # all queries, as a batch
    python -m examples.nexmark --query 6 --streaming --runner spark

Other flags go to the pipeline. The results are in out/nexmark.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path

from .generator import Config
from .job import LOGS, NUMBERS, changes, current, run

PRINTED = 5


def main(argv: list[str] | None = None) -> int:
    """Run queries, and print how many results they have, and the first of them."""
    parser = ArgumentParser(
        prog="python -m examples.nexmark",
        description=__doc__,
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--query", type=int, action="append", choices=NUMBERS, metavar="N")
    parser.add_argument("--events", type=int, default=Config().events)
    parser.add_argument("--rate", type=int, default=Config().rate, help="events per second")
    parser.add_argument("--seed", type=int, default=Config().seed)
    parser.add_argument("--directory", type=Path, default=Path("out/nexmark"))
    args, flags = parser.parse_known_args(argv)

    config = Config(events=args.events, rate=args.rate, seed=args.seed)
    numbers = args.query or NUMBERS
    result = run(config, numbers, args.directory, flags)
    if result.state == "CANCELLED":
        print("The run was cancelled, so its results are not complete.")
        return 1
    for number in numbers:
        _report(number, args.directory)
    return int(result.state != "DONE")


def _report(number: int, directory: Path) -> None:
    if number == LOGS:
        files = list((directory / f"q{number}").glob("log-*"))
        print(f"query {number}: {len(files)} log files")
        return
    results = current(directory, number)
    retracted = sum(1 for _, diff in changes(directory, number) if diff < 0)
    print(f"query {number}: {results.total()} results, after {retracted} retractions")
    for values in sorted(results)[:PRINTED]:
        print("   ", *values)


if __name__ == "__main__":
    sys.exit(main())
