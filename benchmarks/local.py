"""The local runner compared with plain loops, Beam and bytewax: events per second, with checked results.

python benchmarks/local.py                      # all workloads, all installed implementations
python benchmarks/local.py --only sessions --repeat 3 --scale 0.1 --others none
python benchmarks/local.py --only beam-programs # programs of apache_beam on Headrace and on Beam's runners
python benchmarks/local.py --scaling            # time per element as inputs grow; takes minutes
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
import beam_programs
import scaling
import window_life
from comparison import (
    BEAM,
    BY_HAND,
    CLOCKS,
    DICT_LOOP,
    HEADRACE,
    OTHERS,
    TUNED_LOOP,
    Comparison,
    Implementation,
    Measurement,
    MismatchError,
)
from table import table
from workloads import WORKLOADS, Workload


def main(argv: Sequence[str] | None = None) -> int:
    """Run the selected benchmarks, and return the exit code."""
    flags = _flags(argv)
    print(_machine(flags))
    try:
        report = _scaling(flags) if flags.scaling else _comparisons(flags)
    except MismatchError as mismatch:
        print(f"error: {mismatch}", file=sys.stderr)
        return 1
    if flags.json:
        flags.json.write_text(json.dumps(report, indent=2) + "\n")
    return 0


def _comparisons(flags: argparse.Namespace) -> list[dict[str, Any]]:
    implementations = _implementations(flags.others)
    chosen = [w for w in WORKLOADS if not flags.only or w.name in flags.only]
    report: list[dict[str, Any]] = []
    for workload in chosen:
        comparison = Comparison(
            workload, implementations, flags.repeat, flags.scale, CLOCKS[flags.clock]
        )
        measurements = comparison.run()
        print(f"\n{workload.title}\n{comparison_table(workload, measurements)}", flush=True)
        report.extend(_record(workload, measurement) for measurement in measurements)
    if not flags.only or window_life.NAME in flags.only:
        report.extend(_window_life(flags))
    if flags.only and beam_programs.NAME in flags.only:
        report.extend(beam_programs.report(flags))
    return report


def _window_life(flags: argparse.Namespace) -> list[dict[str, Any]]:
    costs = window_life.measure(flags.repeat, flags.scale, CLOCKS[flags.clock])
    print(f"\n{window_life.TITLE}\n{window_life.cost_table(costs)}", flush=True)
    return [
        {
            "workload": window_life.NAME,
            "windows": c.life.name,
            "panes": c.panes,
            "seconds": c.seconds,
        }
        for c in costs
    ]


def _scaling(flags: argparse.Namespace) -> list[dict[str, Any]]:
    report: list[dict[str, Any]] = []
    for series in scaling.SERIES:
        if flags.only and series.name not in flags.only:
            continue
        points = list(series.run(flags.scale, flags.repeat, CLOCKS[flags.clock]))
        print(f"\n{series.title}\n{scaling.series_table(series, points)}", flush=True)
        report.extend({"series": series.name, **attrs.asdict(point)} for point in points)
    return report


def comparison_table(workload: Workload, measurements: Sequence[Measurement]) -> str:
    """Format the rates, and the ratios to the dict loop, the tuned loop and Beam."""
    baselines = [o for o in measurements if o.implementation in (DICT_LOOP, TUNED_LOOP, BEAM)]
    header = ["", workload.unit, f"{workload.unit}/s"]
    header += [f"× {o.implementation.name.split(',')[0]}" for o in baselines]
    return table(header, (_row(measurement, baselines) for measurement in measurements))


def _row(measurement: Measurement, baselines: Iterable[Measurement]) -> list[str]:
    ratios = [_ratio(measurement.speedup(baseline)) for baseline in baselines]
    return [
        measurement.implementation.name,
        f"{measurement.rows:,}",
        f"{measurement.rate:,.0f}",
        *ratios,
    ]


def _ratio(ratio: float) -> str:
    return f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.3f}"


def _record(workload: Workload, measurement: Measurement) -> dict[str, Any]:
    return {
        "workload": workload.name,
        "implementation": measurement.implementation.name,
        "rows": measurement.rows,
        "rows_per_second": measurement.rate,
        "seconds": measurement.seconds,
    }


def _implementations(others: Sequence[str]) -> list[Implementation]:
    chosen = [other for name, other in OTHERS.items() if name in others]
    for missing in (other for other in chosen if not other.installed):
        print(f"{missing.name}: not installed ({missing.needs})")
    return [*BY_HAND, HEADRACE, *(other for other in chosen if other.installed)]


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
    names = [w.name for w in WORKLOADS] + [window_life.NAME, beam_programs.NAME]
    names += [s.name for s in scaling.SERIES]
    parser.add_argument("--repeat", type=int, help="rounds (default: 5; 1 with --scaling)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="relative size of inputs (default: 1)"
    )
    parser.add_argument("--only", nargs="+", choices=names, metavar="NAME", help=", ".join(names))
    parser.add_argument(
        "--others", nargs="*", choices=[*OTHERS, "none"], default=[*OTHERS], help="(default: all)"
    )
    beam_programs.add_flags(parser)
    parser.add_argument("--scaling", action="store_true", help="time per element as inputs grow")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="(default: wall)")
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="also write all times to this file"
    )
    flags = parser.parse_args(argv)
    flags.repeat = flags.repeat or (1 if flags.scaling else 5)
    return flags


if __name__ == "__main__":
    sys.exit(main())
