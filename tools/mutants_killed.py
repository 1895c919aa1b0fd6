"""Print the percentage of mutants killed, and fail if it is too low.

A mutant that times out counts as killed; one that no test reaches counts as survived. Mutants that could not
be run are not counted; their number is printed.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

KILLED = ("killed", "timeout", "segfault", "suspicious")
SURVIVED = ("survived", "no_tests")


def share_killed(stats: dict[str, int]) -> float:
    """Return the percentage of mutants killed, among those tried.

    Raises:
        ValueError: no mutant was tried.
    """
    killed, survived = (sum(stats[name] for name in names) for names in (KILLED, SURVIVED))
    if not killed + survived:
        raise ValueError("no mutant was tried")
    return 100 * killed / (killed + survived)


def main() -> None:
    """Read the statistics of a mutmut run, and check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stats", type=Path, help="mutmut-cicd-stats.json")
    parser.add_argument("--least", type=float, default=90, help="minimum percentage killed")
    args = parser.parse_args()
    stats = json.loads(args.stats.read_text())
    share = share_killed(stats)
    tried = sum(stats[name] for name in KILLED + SURVIVED)
    print(f"{share:.1f} % of {tried} mutants killed; {stats['total'] - tried} not tried")
    if share < args.least:
        sys.exit(f"less than {args.least:g} %; list the survivors with: mutmut results")


if __name__ == "__main__":
    main()
