"""Say how many mutants were killed, and fail if they were too few.

A mutant that a test stopped by running out of time is killed; one that no test reaches has survived.
What could not be run at all is not counted, and told.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

KILLED = ("killed", "timeout", "segfault", "suspicious")
SURVIVED = ("survived", "no_tests")


def share_killed(stats: dict[str, int]) -> float:
    """Return the percentage of the mutants tried that were killed.

    Raises:
        ValueError: none was tried.
    """
    killed, survived = (sum(stats[name] for name in names) for names in (KILLED, SURVIVED))
    if not killed + survived:
        raise ValueError("no mutant was tried")
    return 100 * killed / (killed + survived)


def main() -> None:
    """Read the statistics of a run of mutmut, and judge them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stats", type=Path, help="mutmut-cicd-stats.json")
    parser.add_argument("--least", type=float, default=90, help="percentage that must be killed")
    said = parser.parse_args()
    stats = json.loads(said.stats.read_text())
    share = share_killed(stats)
    tried = sum(stats[name] for name in KILLED + SURVIVED)
    print(f"{share:.1f} % of {tried} mutants killed; {stats['total'] - tried} not tried")
    if share < said.least:
        sys.exit(f"less than {said.least:g} %; see them with: mutmut results")


if __name__ == "__main__":
    main()
