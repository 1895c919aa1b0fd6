"""The local runner beside plain loops, Beam and bytewax: events per second, on checked results.

python benchmarks/local.py                      # all workloads, all who are installed
python benchmarks/local.py --only sessions --repeat 3 --scale 0.1 --rivals none
python benchmarks/local.py --scaling            # time per element as inputs grow, some minutes
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import attrs
import scaling
from contest import (
    BEAM,
    BY_HAND,
    CLOCKS,
    DICT_LOOP,
    HEADRACE,
    RIVALS,
    TUNED_LOOP,
    Contest,
    Contestant,
    MismatchError,
    Outcome,
)
from table import table
from workloads import WORKLOADS, Workload


def main(argv: Sequence[str] | None = None) -> int:
    """Run what the flags ask for, and return the exit code."""
    flags = _flags(argv)
    print(_machine(flags))
    try:
        report = _scaling(flags) if flags.scaling else _contests(flags)
    except MismatchError as mismatch:
        print(f"error: {mismatch}", file=sys.stderr)
        return 1
    if flags.json:
        flags.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _contests(flags: argparse.Namespace) -> list[dict[str, Any]]:
    contestants = _contestants(flags.rivals)
    chosen = [w for w in WORKLOADS if not flags.only or w.name in flags.only]
    report: list[dict[str, Any]] = []
    for workload in chosen:
        contest = Contest(workload, contestants, flags.repeat, flags.scale, CLOCKS[flags.clock])
        outcomes = contest.run()
        print(f"\n{workload.title}\n{contest_table(workload, outcomes)}", flush=True)
        report.extend(_record(workload, outcome) for outcome in outcomes)
    return report


def _scaling(flags: argparse.Namespace) -> list[dict[str, Any]]:
    report: list[dict[str, Any]] = []
    for series in scaling.SERIES:
        if flags.only and series.name not in flags.only:
            continue
        points = list(series.run(flags.scale, flags.repeat, CLOCKS[flags.clock]))
        print(f"\n{series.title}\n{scaling.series_table(series, points)}", flush=True)
        report.extend({"series": series.name, **attrs.asdict(point)} for point in points)
    return report


def contest_table(workload: Workload, outcomes: Sequence[Outcome]) -> str:
    """Lay out the rates, and the ratios to the dict loop, the tuned loop and Beam."""
    yardsticks = [o for o in outcomes if o.contestant in (DICT_LOOP, TUNED_LOOP, BEAM)]
    header = ["", workload.unit, f"{workload.unit}/s"]
    header += [f"× {o.contestant.name.split(',')[0]}" for o in yardsticks]
    return table(header, (_row(outcome, yardsticks) for outcome in outcomes))


def _row(outcome: Outcome, yardsticks: Iterable[Outcome]) -> list[str]:
    ratios = [_ratio(outcome.times(yardstick)) for yardstick in yardsticks]
    return [outcome.contestant.name, f"{outcome.rows:,}", f"{outcome.rate:,.0f}", *ratios]


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.3f}"


def _record(workload: Workload, outcome: Outcome) -> dict[str, Any]:
    return {
        "workload": workload.name,
        "contestant": outcome.contestant.name,
        "rows": outcome.rows,
        "rows_per_second": outcome.rate,
        "seconds": outcome.seconds,
    }


def _contestants(rivals: Sequence[str]) -> list[Contestant]:
    chosen = [rival for name, rival in RIVALS.items() if name in rivals]
    for missing in (rival for rival in chosen if not rival.installed):
        print(f"{missing.name}: not installed ({missing.needs})")
    return [*BY_HAND, HEADRACE, *(rival for rival in chosen if rival.installed)]


def _machine(flags: argparse.Namespace) -> str:
    load = os.getloadavg()[0]
    return (
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load:.1f}, "
        f"medians of {flags.repeat}, {flags.clock} time"
    )


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [w.name for w in WORKLOADS] + [s.name for s in scaling.SERIES]
    parser.add_argument("--repeat", type=int, help="rounds (default: 5; 1 with --scaling)")
    parser.add_argument("--scale", type=float, default=1.0, help="size of inputs (default 1)")
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument(
        "--rivals", nargs="*", choices=[*RIVALS, "none"], default=[*RIVALS], help="(default: all)"
    )
    parser.add_argument(
        "--scaling", action="store_true", help="does the time per element stay the same?"
    )
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="(default: wall)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all times there too")
    flags = parser.parse_args(argv)
    flags.repeat = flags.repeat or (1 if flags.scaling else 5)
    return flags


if __name__ == "__main__":
    sys.exit(main())
