"""Run all tests on Spark in each supported version, and write docs/reference/spark-versions.md.

`make test-spark-versions` calls this. A run takes about as long as `make test` for each version; `--only`
runs one of them and keeps the results of the others, which are in tools/spark_test_runs.json.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from headrace.runners.spark.cluster.spark_versions import VERSIONS, SparkVersion

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "tools/spark_test_runs.json"
PAGE = ROOT / "docs/reference/spark-versions.md"

SUITES = {
    "all": ["-m", "spark and not chaos", "--ignore=tests/faults"],
    "faults": ["-m", "spark and not chaos", "tests/faults"],
    "kills": ["-m", "sampled", "--ignore=tests/docs"],
}
"""The tests, as `make test` divides them: a process of its own for each part."""

LACKS = {
    "4.0": "Nothing known. Rows reach keyed steps as pandas frames, not as rows. As on 4.1, Headrace "
    "remembers where a source is.",
    "4.1": "Nothing known. Spark does not tell a Python source where a batch starts, so Headrace "
    "remembers it.",
    "4.2": "Nothing known.",
    "4.3": "Nothing known.",
}

OUTCOMES = ("passed", "failed", "skipped")

HEAD = """# Versions of Spark

The Spark runner runs on Spark {versions}. `pip install '.[spark]'` installs the newest one; to
get the one of your cluster, name it: `pip install '.[spark]' 'pyspark==4.0.*'`. Any other version is refused
at the start of a run.

A checkpoint belongs to the minor version of Spark that wrote it (4.0.4 and 4.0.5 are the same). Another one
is refused: [drain](../how-to/resume-and-change.md#stop) the run with the old version, then start with a new
checkpoint.

| Spark | protobuf | what it lacks |
|---|---|---|
"""

TABLE = """
## Test results

Each line is a run of all tests on Spark with one version, `make test-spark-versions`, which also writes this
page. The last two columns are tests of runs whose processes are killed and which are then resumed.

| Spark | Python | date | passed | failed | skipped | kill and resume: passed | failed |
|---|---|---|---|---|---|---|---|
"""


def outcomes(report: Path) -> tuple[Counter[str], list[str], list[str]]:
    """Return the number of tests by outcome, the names of those that failed, and the reasons of skips."""
    counts: Counter[str] = Counter()
    failed, reasons = [], []
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        skip = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            counts["failed"] += 1
            failed.append(name)
        elif skip is not None:
            counts["skipped"] += 1
            reasons.append(skip.get("message") or "")
        else:
            counts["passed"] += 1
    return counts, failed, reasons


def run_suites(python: Path, reports: Path, suites: Iterable[str]) -> dict[str, Any]:
    """Run the tests with an interpreter that has one version of Spark, and return the results."""
    release = _output(python, "import pyspark; print(pyspark.__version__)")
    found: dict[str, Any] = {
        "release": release,
        "python": _output(python, "import platform; print(platform.python_version())"),
        "date": datetime.now(UTC).date().isoformat(),
        "suites": {},
    }
    reports.mkdir(parents=True, exist_ok=True)
    for suite in suites:
        report = reports / f"{suite}.xml"
        report.unlink(missing_ok=True)
        command = [python, "-m", "pytest", "-q", "-n", "0", f"--junitxml={report}", *SUITES[suite]]
        subprocess.run(command, cwd=ROOT, env={"HEADRACE_KILLS": "5", **os.environ}, check=False)
        counts, failed, reasons = outcomes(report)
        found["suites"][suite] = {**counts, "failures": failed, "reasons": sorted(set(reasons))}
    return found


def page(results: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the page."""
    names = [version.name for version in VERSIONS]
    head = HEAD.format(versions=f"{', '.join(names[:-1])} and {names[-1]}")
    lacks = "".join(f"| {v.name} | {v.protobuf} or newer | {LACKS[v.name]} |\n" for v in VERSIONS)
    rows = "".join(_row(v, results.get(v.name)) for v in VERSIONS)
    return head + lacks + TABLE + rows + "".join(_failures(results))


def _row(version: SparkVersion, result: Mapping[str, Any] | None) -> str:
    if result is None:
        return f"| {version.name} | | not run | | | | | |\n"
    tests = Counter[str]()
    for suite in ("all", "faults"):
        tests.update({n: result["suites"].get(suite, {}).get(n, 0) for n in OUTCOMES})
    kills = result["suites"].get("kills")
    killed = [str(kills.get(n, 0)) if kills else "not run" for n in ("passed", "failed")]
    cells = [result["release"], result["python"], result["date"]]
    cells += [str(tests[name]) for name in OUTCOMES] + killed
    return f"| {' | '.join(cells)} |\n"


def _failures(results: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for version in VERSIONS:
        suites = results.get(version.name, {}).get("suites", {}).values()
        failed = [name for suite in suites for name in suite["failures"]]
        if failed:
            yield f"\nFailed on Spark {version.name}:\n\n"
            yield from (f"- `{name}`\n" for name in failed)


def _output(python: Path, program: str) -> str:
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def main() -> None:
    """Run the tests, store the results, and write the page; exit with 1 if a test failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [version.name for version in VERSIONS]
    parser.add_argument("--venvs", default=".venv/spark-{}", help="the virtual environments")
    parser.add_argument("--only", choices=names, action="append", help="run only these versions")
    parser.add_argument("--suite", choices=SUITES, action="append", help="run only these tests")
    parser.add_argument("--page", action="store_true", help="run nothing; write the page")
    args = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    selected = [] if args.page else args.only or names
    for name in selected:
        venv = ROOT / args.venvs.format(name)
        found = run_suites(venv / "bin/python", venv / "reports", args.suite or SUITES)
        suites = results.get(name, {}).get("suites", {})
        results[name] = {**found, "suites": {**suites, **found["suites"]}}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results))
    ran = (suite for name in selected for suite in results[name]["suites"].values())
    if any(suite["failures"] for suite in ran):
        sys.exit("tests failed; see docs/reference/spark-versions.md")


if __name__ == "__main__":
    main()
