"""Run Beam's own tests on Headrace, with one import changed, and write docs/reference/beam-tests.md.

`make beam-tests` calls this. It copies test files and examples out of the installed apache-beam into a
scratch directory, replaces `apache_beam` by `headrace`, and runs each file with pytest in a process of its
own. Of the tests that pass on Beam, tests/beam/own_tests/tests.toml has a reason for each that fails on
Headrace: a failure without a reason, and a reason without a failure, are errors.

    python tools/beam_tests.py                      # all tests; writes the page
    python tools/beam_tests.py --only 'transforms/*'    # some files, with what fails; writes nothing
    python tools/beam_tests.py --baseline           # which tests pass on Beam itself
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests/beam/own_tests"
PASSING = DATA / "passing_on_beam.txt"
PAGE = ROOT / "docs/reference/beam-tests.md"

FILE_SECONDS = 400
"""Limit of the tests of one file."""

TEST_SECONDS = 60
"""Limit of one test."""

SETTINGS = "pytest.ini"
"""An empty file, so that pytest does not find the settings of a project."""

COPIES = {"examples": "bexamples", "testing/benchmarks/nexmark": "bnexmark"}
"""Packages of programs that tests import, and their names in the scratch directory."""

PROGRAMS = {"transforms/combinefn_lifecycle_pipeline": "lifecycle_pipeline"}
"""Modules of pipelines that tests import, which are no part of the SDK, and their names in that directory."""

KIT = {
    "apache_beam.transforms.display_test import": "headrace.sdk.testing.assertions.hamcrest_matchers import",
    "apache_beam.io.concat_source_test import RangeSource": "headrace.io.range_trackers import "
    "OffsetRangeTracker as RangeSource",
    "apache_beam.io.filebasedsink_test import _TestCaseWithTempDirCleanUp": "headrace.sdk.testing.temp_dirs "
    "import TempDirTestCase as _TestCaseWithTempDirCleanUp",
}
"""What tests import from other tests of Beam's, and where the test kit has it."""

EXAMPLES, UNIT = "examples and programming guide", "unit tests"

KINDS = {
    "google": "Google's services",
    "internal": "Internal to Beam",
    "different": "Different by design",
    "missing": "Not supported",
}


class Outcome(NamedTuple):
    """What became of a test; the message is empty if it passed."""

    passed: bool
    message: str = ""


class Reason(NamedTuple):
    """Why tests fail on Headrace.

    Attributes:
        kind: one of KINDS.
        text: the reason.
        tests: patterns of the tests; a star stands for any text.
    """

    kind: str
    text: str
    tests: tuple[str, ...]

    def covers(self, test: str) -> bool:
        """Return whether this is the reason why a test fails."""
        return any(matches(pattern, test) for pattern in self.tests)


class Settings(NamedTuple):
    """The content of tests.toml."""

    files: Sequence[str]
    except_files: Sequence[str]
    least: Mapping[str, int]
    reasons: Sequence[Reason]


def settings() -> Settings:
    """Read tests.toml."""
    data = tomllib.loads((DATA / "tests.toml").read_text())
    reasons = [
        Reason(group["kind"], " ".join(group["reason"].split()), tuple(group["tests"]))
        for group in data.get("fails", ())
    ]
    return Settings(data["files"], data["except_files"], data["least"], reasons)


def matches(pattern: str, test: str) -> bool:
    """Return whether a test matches a pattern, in which only the star is special."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), test) is not None


def group_of(test: str) -> str:
    """Return the group of a test, for which a least number must pass."""
    is_program = test.startswith("examples/") or test.startswith("programming_guide")
    return EXAMPLES if is_program else UNIT


# --------------------------------------------------------------------------------- files and processes


def test_files(beam: Path, given: Settings) -> list[str]:
    """Return the paths of the test files in the package."""
    found = {str(path.relative_to(beam)) for name in given.files for path in beam.glob(name)}
    return sorted(
        file for file in found if not any(fnmatchcase(file, bad) for bad in given.except_files)
    )


def swapped(text: str) -> str:
    """Return a module of Beam's with its imports changed; programs stay among themselves."""
    for package, copy in (COPIES | PROGRAMS).items():
        text = text.replace(f"apache_beam.{package.replace('/', '.')}", copy)
    for imported, ours in KIT.items():
        text = text.replace(imported, ours)
    text = text.replace("from apache_beam import examples", "import bexamples as examples")
    return text.replace("apache_beam", "headrace")


def copy_files(beam: Path, files: Iterable[str], scratch: Path) -> dict[str, Path]:
    """Copy test files and the packages of programs, and return where each test file is."""
    for package, copy in COPIES.items():
        for path in (beam / package).rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                _copy(path, scratch / copy / path.relative_to(beam / package))
    for module, copy in PROGRAMS.items():
        _copy(beam / f"{module}.py", scratch / f"{copy}.py")
    shutil.copy(DATA / "missing_names.py", scratch / "conftest.py")
    places = {}
    for file in files:
        package = file.partition("/")[0]
        if package in COPIES:
            places[file] = scratch / COPIES[package] / file.partition("/")[2]
        else:
            places[file] = scratch / "btests" / file
            _copy(beam / file, places[file])
    return places


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".py":
        target.write_text(swapped(source.read_text()))
    else:
        shutil.copy(source, target)


def run_files(places: Mapping[str, Path], scratch: Path, processes: int) -> dict[str, Outcome]:
    """Run test files, and return the outcomes by test."""
    (scratch / SETTINGS).write_text("[pytest]\n")

    def run(file: str) -> dict[str, Outcome]:
        return dict(run_file(file, places[file], scratch))

    with ThreadPoolExecutor(processes) as pool:
        return {test: found for each in pool.map(run, places) for test, found in each.items()}


def run_file(file: str, place: Path, scratch: Path) -> Iterator[tuple[str, Outcome]]:
    """Run one test file in a process, so that one that hangs costs only itself.

    Yields:
        the outcomes by test, and what counts for tests that did not run, by file.
    """
    report = scratch / f"{file.replace('/', '.')}.xml"
    options = [
        *("-q", "-p", "no:cacheprovider", "-p", "no:headrace", "-c", str(scratch / SETTINGS)),
        *(f"--timeout={TEST_SECONDS}", f"--junitxml={report}"),
    ]
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, str(place)],
            cwd=scratch,
            env={**os.environ, "PYTHONPATH": f"{scratch}{os.pathsep}{ROOT}"},
            timeout=FILE_SECONDS,
            capture_output=True,
            text=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        yield file, Outcome(False, f"not run: {file} takes more than {FILE_SECONDS} seconds")
        return
    errors = re.findall(r"^E {3}\s*(.*)", done.stdout + done.stderr, re.MULTILINE)
    yield file, Outcome(False, f"not run: {errors[-1] if errors else 'the process ended'}")
    if report.exists():
        for case in ElementTree.parse(report).iter("testcase"):
            group = (case.get("classname") or place.stem).rpartition(".")[2]
            yield f"{file}|{group}::{case.get('name')}", outcome(case)


def outcome(case: ElementTree.Element) -> Outcome:
    """Return the outcome of a test; one that is skipped has not passed."""
    for kind in ("failure", "error", "skipped"):
        found = case.find(kind)
        if found is not None:
            return Outcome(False, " ".join((found.get("message") or kind).split()))
    return Outcome(True)


# ------------------------------------------------------------------------------------- what comes of it


def problems(given: Settings, outcomes: Mapping[str, Outcome]) -> list[str]:
    """Describe failures without a reason, reasons without a failure, and shares that are too small."""
    failed = {test: found.message for test, found in outcomes.items() if not found.passed}
    unexplained = [
        f"{test} fails without a reason in tests.toml: {message[:160]}"
        for test, message in failed.items()
        if not any(reason.covers(test) for reason in given.reasons)
    ]
    unused = [
        f"no test that fails matches {pattern!r} in tests.toml"
        for reason in given.reasons
        for pattern in reason.tests
        if not any(matches(pattern, test) for test in failed)
    ]
    unknown = [
        f"{reason.kind!r} is not a kind of reason: use one of {', '.join(KINDS)}"
        for reason in given.reasons
        if reason.kind not in KINDS
    ]
    few = [
        f"{passed} {group} pass, fewer than {given.least[group]}"
        for group, passed, _ in _group_shares(outcomes)
        if passed < given.least[group]
    ]
    return [*unexplained, *unused, *unknown, *few]


def shares(outcomes: Mapping[str, Outcome]) -> dict[str, tuple[int, int]]:
    """Return how many tests pass, and of how many, by file."""
    found: dict[str, tuple[int, int]] = {}
    for test, result in outcomes.items():
        file = test.partition("|")[0]
        passed, every = found.get(file, (0, 0))
        found[file] = passed + result.passed, every + 1
    return found


def _group_shares(outcomes: Mapping[str, Outcome]) -> Iterator[tuple[str, int, int]]:
    for group in (EXAMPLES, UNIT):
        results = [found.passed for test, found in outcomes.items() if group_of(test) == group]
        yield group, sum(results), len(results)


HEAD = """# Beam's own tests

`make beam-tests` runs tests and examples of Apache Beam's own package on Headrace. One thing is changed in
them: `apache_beam` becomes `headrace`. The tables count the tests that pass on Beam itself, and say for
each of them that fails on Headrace why. A name that Headrace lacks fails the tests that use it.
[Beam's names](beam.md) lists all names.

| tests | pass on Headrace | pass on Beam |
|---|---|---|
"""

FAILURES = """
## What fails, and why

| | tests | reason |
|---|---|---|
"""

FILES = """
## By file

| file | pass on Headrace | pass on Beam |
|---|---|---|
"""


def page(given: Settings, outcomes: Mapping[str, Outcome]) -> str:
    """Return the text of the page."""
    groups = "".join(
        f"| {group} | {n} | {every} |\n" for group, n, every in _group_shares(outcomes)
    )
    files = "".join(
        f"| `{file}` | {n} | {every} |\n" for file, (n, every) in shares(outcomes).items()
    )
    return HEAD + groups + FAILURES + "".join(_failures(given, outcomes)) + FILES + files


def _failures(given: Settings, outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    failed = [test for test, found in outcomes.items() if not found.passed]
    first = {t: next((r for r in given.reasons if r.covers(t)), None) for t in failed}
    for kind, title in KINDS.items():
        for reason in given.reasons:
            tests = [test for test in failed if first[test] is reason]
            if reason.kind == kind and tests:
                files = ", ".join(
                    f"`{file}`" for file in dict.fromkeys(t.partition("|")[0] for t in tests)
                )
                yield f"| {title} | {len(tests)} in {files} | {reason.text} |\n"


def main() -> int:
    """Run the command; return 1 if something is wrong with the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--baseline", action="store_true", help="write the list of tests that pass on Beam"
    )
    parser.add_argument(
        "--only", action="append", default=[], help="pattern of files; with what fails"
    )
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments = parser.parse_args()
    given, beam = settings(), beam_package()
    with tempfile.TemporaryDirectory(prefix="beam-tests-") as directory:
        scratch = Path(directory)
        if arguments.baseline:
            return baseline(beam, given, scratch, arguments.processes)
        tests = [t for t in PASSING.read_text().splitlines() if _is_chosen(t, arguments.only)]
        files = list(dict.fromkeys(test.partition("|")[0] for test in tests))
        found = run_files(copy_files(beam, files, scratch), scratch, arguments.processes)
    outcomes = {test: found.get(test, found[test.partition("|")[0]]) for test in tests}
    return report(given, outcomes, bool(arguments.only))


def beam_package() -> Path:
    """Return the directory of the installed package."""
    spec = find_spec("apache_beam")
    if spec is None or spec.origin is None:
        sys.exit("apache-beam is not installed: pip install '.[beam-tests]'")
    return Path(spec.origin).parent


def baseline(beam: Path, given: Settings, scratch: Path, processes: int) -> int:
    """Run the tests on Beam itself, and list those that pass."""
    places = {file: beam / file for file in test_files(beam, given)}
    found = run_files(places, scratch, processes)
    passing = sorted(test for test, result in found.items() if result.passed)
    PASSING.write_text("".join(f"{test}\n" for test in passing))
    print(f"{len(passing)} of {len(found) - len(places)} tests pass on Beam")
    return 0


def _is_chosen(test: str, only: Sequence[str]) -> bool:
    return not only or any(fnmatchcase(test.partition("|")[0], pattern) for pattern in only)


def report(given: Settings, outcomes: Mapping[str, Outcome], is_part: bool) -> int:
    """Print the table; write the page, unless only a part of the tests has run."""
    for file, (passed, every) in shares(outcomes).items():
        print(f"{passed:5} of {every:<5} {file}")
    for test, found in outcomes.items():
        if not found.passed:
            reason = next((r.text for r in given.reasons if r.covers(test)), "no reason")
            print(f"{test}\n    {found.message[:160]}\n    {reason}")
    for group, passed, every in _group_shares(outcomes):
        print(f"{group}: {passed} of {every}")
    if is_part:
        return 0
    PAGE.write_text(page(given, outcomes))
    wrong = problems(given, outcomes)
    print(*wrong, sep="\n")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
