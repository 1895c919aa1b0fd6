"""Programs of apache_beam on Headrace, on two of Beam's runners, and with their import swapped.

    make bench ARGS="--only beam-programs"           # or: python benchmarks/beam_programs.py
    python benchmarks/beam_programs.py --programs sessions --repeat 3 --scale 0.1 --prism path/to/prism

Each run is a process of its own; runs take turns. A process first runs its program on a few rows: that is the
start, which is told beside the rates. Results are compared with those of a plain loop. Prism is run if its
program is given or built (``make prism``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import attrs
import by_dict_loop
from comparison import MismatchError, require_same, timed
from table import table
from workloads import WORKLOADS, Results, Workload

NAME: Final = "beam-programs"

PRISM: Final = Path(__file__).parents[1] / ".venv" / "prism"
"""Where ``make prism`` puts it."""

FEW: Final = 100
"""Number of rows of the first run of a process."""

PART_OF_SLOW: Final = 20
"""How many times fewer rows Beam's runners get."""


@attrs.frozen
class Way:
    """A way to run a program.

    Attributes:
        name: name in the table.
        package: the package that the program imports.
        runner: the runner and its flags.
        slow: whether it gets only the first part of the rows.
    """

    name: str
    package: str
    runner: tuple[str, ...]
    slow: bool = False


ON_HEADRACE: Final = Way("on Headrace", "apache_beam", ("headrace.beam.HeadraceRunner",))
NATIVE: Final = Way("its import swapped", "headrace", ("local",))
BUNDLES: Final = Way(
    "Beam's bundle-based runner", "apache_beam", ("BundleBasedDirectRunner",), slow=True
)


def prism(program: Path) -> Way:
    """Return the way on Prism."""
    flags = (f"--prism_location={program.resolve()}", "--environment_type=LOOPBACK")
    return Way("Prism", "apache_beam", ("PrismRunner", *flags), slow=True)


@attrs.frozen
class Run:
    """A run in a process of its own; times are in seconds.

    Attributes:
        rows: size of its input.
        start: CPU time of the first run.
        cpu: CPU time of the run, with that of child processes.
        wall: its time.
        fault: how its results differ from those of a plain loop; empty if they do not.
    """

    rows: int
    start: float
    cpu: float
    wall: float
    fault: str = ""


def measure(
    workload: Workload, ways: Sequence[Way], repeat: int, scale: float
) -> dict[Way, list[Run]]:
    """Run a program in all ways, several times.

    Raises:
        MismatchError: a run failed, or its results are wrong.
    """
    rows = int(workload.rows * scale)
    runs: dict[Way, list[Run]] = {way: [] for way in ways}
    for _ in range(repeat):
        for way in ways:
            runs[way].append(
                _in_process(workload.name, way, rows // (PART_OF_SLOW if way.slow else 1))
            )
    return runs


def _in_process(program: str, way: Way, rows: int) -> Run:
    command = [sys.executable, __file__, f"--child={program}", f"--rows={rows}", "--", *way.runner]
    environment = {**os.environ, "BENCHMARK_PACKAGE": way.package}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise MismatchError(f"{program}, {way.name}: {done.stderr[-2000:]}")
    run = Run(**json.loads(done.stdout.splitlines()[-1]))
    if run.fault and not way.slow:
        raise MismatchError(run.fault)
    return run


def _child(flags: argparse.Namespace) -> None:
    """Run one program in this process, and print the times."""
    import by_beam

    by_beam.runner[:] = flags.runner
    (workload,) = (each for each in WORKLOADS if each.name == flags.child)
    program, expected = getattr(by_beam, workload.name), getattr(by_dict_loop, workload.name)
    data = workload.generate(flags.rows)
    start, _ = timed(lambda: program(data[:FEW]), _cpu)
    began = time.perf_counter()
    cpu, found = timed(lambda: program(data), _cpu)
    wall = time.perf_counter() - began
    fault = _fault(workload.name, found, expected(data))
    print(json.dumps(attrs.asdict(Run(flags.rows, start, cpu, wall, fault))))


def _fault(name: str, found: Results, expected: Results) -> str:
    try:
        require_same(name, found, expected)
    except MismatchError as mismatch:
        return str(mismatch)
    return ""


def _cpu() -> float:
    """Return the CPU time of this process, and of its children where /proc tells it."""
    ended = os.times()
    living = sum(map(_ticks_of_child, Path("/proc").glob("[0-9]*/stat")))
    waited_for = ended.children_user + ended.children_system
    return time.process_time() + waited_for + living / os.sysconf("SC_CLK_TCK")


def _ticks_of_child(stat: Path) -> int:
    """Return the CPU time of a process if it is a child of this one."""
    try:
        _, parent, *rest = stat.read_text().rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    return int(rest[9]) + int(rest[10]) if int(parent) == os.getpid() else 0


def programs_table(runs: dict[Way, list[Run]]) -> str:
    """Format the rates, and how much faster a program is on Headrace than in each way."""
    base = _rates(runs[ON_HEADRACE])
    header = [
        "",
        "rows",
        "rows per CPU second (from … to …)",
        "rows/s",
        "CPU s to start",
        "speed on Headrace",
    ]
    return table(header, (_cells(way, found, median(base)) for way, found in runs.items()))


def _cells(way: Way, runs: list[Run], base: float) -> list[str]:
    rates = _rates(runs)
    return [
        f"{way.name}, wrong results" if runs[0].fault else way.name,
        f"{runs[0].rows:,}",
        f"{median(rates):,.0f} ({min(rates):,.0f} … {max(rates):,.0f})",
        f"{median(run.rows / run.wall for run in runs):,.0f}",
        f"{median(run.start for run in runs):.2f}",
        f"× {base / median(rates):.2f}",
    ]


def _rates(runs: Sequence[Run]) -> list[float]:
    return [run.rows / run.cpu for run in runs]


def report(flags: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Measure each program, print a table, and yield the times."""
    ways = [ON_HEADRACE, NATIVE, BUNDLES, *([prism(flags.prism)] if flags.prism.exists() else [])]
    for workload in WORKLOADS:
        if workload.name not in flags.programs:
            continue
        runs = measure(workload, ways, flags.repeat, flags.scale)
        title = f"a program of apache_beam: {workload.title}"
        print(f"\n{title}\n{programs_table(runs)}", flush=True)
        for way, found in runs.items():
            each = [attrs.asdict(run) for run in found]
            yield {"program": workload.name, "way": way.name, "runs": each}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmark, and return the exit code."""
    flags = _flags(argv)
    if flags.child:
        _child(flags)
        return 0
    list(report(flags))
    return 0


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags that only this benchmark has."""
    names = [workload.name for workload in WORKLOADS]
    parser.add_argument("--programs", nargs="+", choices=names, default=names, metavar="PROGRAM")
    parser.add_argument("--prism", type=Path, default=PRISM, help="the program of Prism")


def _flags(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=5, help="rounds (default: 5)")
    parser.add_argument("--scale", type=float, default=1.0, help="relative size of inputs")
    add_flags(parser)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--rows", type=int, help=argparse.SUPPRESS)
    parser.add_argument("runner", nargs="*", help=argparse.SUPPRESS)
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
