"""Run Beam's own suites on Headrace with Beam's modules unchanged, and write docs/reference/beam-suites.md.

`make beam-suites` calls this. The tests are those of the installed apache-beam; their pipelines run on
`headrace.beam.HeadraceRunner`, in each mode: local, spark (batch) and spark-streaming. On Spark the pipelines
of a suite run together (tests/beam/suites/suite_batches.py). Each failure has a reason in
tests/beam/suites/suites.toml; a failure without one, or a reason without a failure, is an error. Results are
kept in tests/beam/suites/results.json, so a part of the suites can be run again.

    python tools/beam_suites.py                                # all suites in all modes; writes the page
    python tools/beam_suites.py --suite triggers --mode local  # one of them; writes the page, too
    python tools/beam_suites.py --page                         # only the page, from the results that are kept
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/beam/suites/suites.toml"
KEPT = ROOT / "tests/beam/suites/results.json"
PAGE = ROOT / "docs/reference/beam-suites.md"

MODES = ("local", "spark", "spark-streaming")

TEST_SECONDS = 600
"""Limit of one test."""

FAST_START = {"SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Settings of the JVM for many small pipelines, unless the environment has others."""


class Suite(NamedTuple):
    """A suite of Beam.

    Attributes:
        name: its name on the page.
        about: what it tests.
        paths: its modules, or files of this repository.
        marked: the mark of its tests; empty for all.
        modes: the modes in which it runs.
    """

    name: str
    about: str
    paths: tuple[str, ...]
    marked: str
    modes: tuple[str, ...]


class Reason(NamedTuple):
    """Why tests fail: a pattern of their names, the modes, and the text."""

    tests: str
    modes: tuple[str, ...]
    why: str


class Outcome(NamedTuple):
    """What became of a suite in a mode: names of tests.

    Attributes:
        passed: the tests that pass, and have run a pipeline on Headrace.
        failed: the tests that fail.
        skipped: the tests that Beam skips.
        without: the tests that pass without a pipeline.
    """

    passed: tuple[str, ...]
    failed: tuple[str, ...]
    skipped: tuple[str, ...]
    without: tuple[str, ...] = ()


Results: TypeAlias = dict[str, dict[str, Outcome]]
"""What became of each suite in each mode."""


def read_data() -> tuple[list[Suite], list[Reason]]:
    """Read the suites, and the reasons."""
    content = tomllib.loads(DATA.read_text())
    suites = [
        Suite(
            s["name"],
            s["about"],
            tuple(s["paths"]),
            s.get("marked", ""),
            tuple(s.get("modes", MODES)),
        )
        for s in content["suite"]
    ]
    reasons = [
        Reason(r["tests"], tuple(r.get("modes", MODES)), r["why"]) for r in content["reason"]
    ]
    return suites, reasons


# ---------------------------------------------------------------------------------------------- running


def run(suite: Suite, mode: str) -> Outcome:
    """Run a suite in a mode."""
    with tempfile.TemporaryDirectory() as scratch:
        report = Path(scratch) / "report.xml"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-n",
            "0",
            "-q",
            "--tb=native",
            "-p",
            "no:cacheprovider",
            "-W",
            "ignore",
        ]
        command += ["-c", os.devnull, "--rootdir", str(ROOT), "-p", "tests.beam.suites.plugin"]
        command += ["--timeout", str(TEST_SECONDS), f"--junitxml={report}"]
        command += ["-m", suite.marked] if suite.marked else []
        command += ["--pyargs", *(str(ROOT / p) if p.endswith(".py") else p for p in suite.paths)]
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = {**FAST_START, **os.environ, "PYTHONPATH": paths, "HEADRACE_BEAM_MODE": mode}
        done = subprocess.run(command, cwd=scratch, env=environment, check=False)
        if not report.exists():
            sys.exit(f"pytest ended with {done.returncode}, and without a report of {suite.name}")
        return outcome_of(report)


def outcome_of(report: Path) -> Outcome:
    """Read the report of pytest."""
    found: dict[str, set[str]] = {kind: set() for kind in Outcome._fields}
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname', '').rpartition('.')[2]}.{case.get('name')}"
        found[_kind(case)].add(name)
    for kind in ("passed", "without"):
        found[kind] -= found["failed"]
    return Outcome(**{kind: tuple(sorted(names)) for kind, names in found.items()})


def _kind(case: ElementTree.Element) -> str:
    """Return what became of one test."""
    kinds = {child.tag for child in case}
    if kinds & {"failure", "error"}:
        return "failed"
    if "skipped" in kinds:
        return "skipped"
    told = {each.get("name"): each.get("value") for each in case.iter("property")}
    return "without" if told.get("pipelines") == "0" else "passed"


def load() -> Results:
    """Read the results that are kept, by suite and mode."""
    if not KEPT.exists():
        return {}
    content = json.loads(KEPT.read_text())
    return {
        suite: {
            mode: Outcome(**{k: tuple(v) for k, v in found.items()})
            for mode, found in modes.items()
        }
        for suite, modes in content.items()
    }


def keep(results: Results) -> None:
    """Write the results."""
    content = {
        suite: {mode: found._asdict() for mode, found in modes.items()}
        for suite, modes in results.items()
    }
    KEPT.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n")


# ----------------------------------------------------------------------------------------------- the page


def reason_of(reasons: Iterable[Reason], test: str, mode: str) -> str | None:
    """Return why a test fails in a mode; None if nothing says it."""
    found = (r.why for r in reasons if mode in r.modes and fnmatchcase(test, r.tests))
    return next(found, None)


def failures(results: Results) -> Iterator[tuple[str, str, str]]:
    """Yield the suite, the mode and the name of each test that fails."""
    runs = (
        (suite, mode, found) for suite, modes in results.items() for mode, found in modes.items()
    )
    return ((suite, mode, test) for suite, mode, found in runs for test in found.failed)


def unexplained(results: Results, reasons: list[Reason]) -> list[str]:
    """Return the failures without a reason."""
    return [
        f"{suite}, {mode}: {test}"
        for suite, mode, test in failures(results)
        if reason_of(reasons, test, mode) is None
    ]


def unneeded(results: Results, reasons: list[Reason]) -> list[str]:
    """Return the patterns of the reasons that no failure has."""
    failed = [(mode, test) for _, mode, test in failures(results)]
    return [
        reason.tests
        for reason in reasons
        if not any(
            mode in reason.modes and fnmatchcase(test, reason.tests) for mode, test in failed
        )
    ]


def page(suites: list[Suite], results: Results, reasons: list[Reason], version: str) -> str:
    """Return the text of the page."""
    lines = [
        "# Beam's own suites",
        "",
        f"Unmodified tests of apache-beam {version}, whose pipelines run on",
        "[`headrace.beam.HeadraceRunner`](../tutorial/beam-on-spark.md). `make beam-suites` runs them and",
        "writes this page; a failure without a reason fails it. Beam skips some tests on every runner. Tests",
        "that pass without a pipeline, such as those of a coder, tell nothing of a runner.",
        "",
        "In the mode spark, a pipeline is a batch job; but one with a `TestStream` is a stream in each mode.",
        "So the suites of triggers, states and test streams, of which most pipelines have one, have no other",
        "run there. Steps that record for a test record in a file, not in a list, since workers of Spark are",
        "other processes. On Spark, many pipelines of a suite run as one, since a query takes seconds to",
        "start; a pipeline that fails among others runs by itself.",
        "",
        "| suite | mode | passed | failed | skipped | without a pipeline |",
        "|---|---|---|---|---|---|",
    ]
    for suite in suites:
        for mode in suite.modes:
            found = results.get(suite.name, {}).get(mode)
            cells = (
                "not run | | | " if found is None else " | ".join(str(len(part)) for part in found)
            )
            lines.append(f"| {suite.name}: {suite.about} | {mode} | {cells} |")
    lines += ["", "## Failures", "", "| test | mode | reason |", "|---|---|---|"]
    for _, mode, test in failures(results):
        lines.append(f"| `{test}` | {mode} | {reason_of(reasons, test, mode)} |")
    return "\n".join(lines) + "\n"


def installed_version() -> str:
    """Return the version of Beam."""
    from importlib.metadata import version

    return version("apache-beam")


def parse(arguments: Sequence[str] | None) -> Any:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--suite", action="append", help="only these suites")
    parser.add_argument("--mode", action="append", choices=MODES, help="only these modes")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suites, write the page, and return 1 if reasons and failures do not match."""
    given = parse(arguments)
    suites, reasons = read_data()
    results = load()
    for suite in suites if not given.page else ():
        if given.suite and suite.name not in given.suite:
            continue
        for mode in suite.modes:
            if not given.mode or mode in given.mode:
                results.setdefault(suite.name, {})[mode] = run(suite, mode)
                keep(results)
    PAGE.write_text(page(suites, results, reasons, installed_version()))
    wrong = [f"no reason: {each}" for each in unexplained(results, reasons)]
    wrong += [f"no failure for the reason: {each}" for each in unneeded(results, reasons)]
    print(*wrong, sep="\n", file=sys.stderr)
    return min(len(wrong), 1)


if __name__ == "__main__":
    sys.exit(main())
