"""The laws on Beam's own runners: the judge's reports, stored with what each program prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from headrace.beam import BeamReport, BeamVerdict, check_runner
from headrace.sdk.beam.judge.judging import NO_ERROR, TERMINATES
from headrace.sdk.testing.laws.law import LIKE_ITS_BATCH

JUDGED = Path(__file__).with_name("judged.json")
"""The reports on each runner when somebody last ran the judge."""

TITLES = {
    "headrace.beam.HeadraceRunner": "Headrace, local, of Beam programs",
    "BundleBasedDirectRunner": "Beam, bundle-based runner",
    "FnApiRunner": "Beam, FnApiRunner",
    "PrismRunner": "Beam, Prism",
}

CASES = 150
TRIES = 80

WHERE_PRISM_IS = "--prism_location="
NO_LOCATION = f", '{WHERE_PRISM_IS}prism'"


@attrs.frozen
class Miss:
    """A law that a runner breaks, with a program that shows it, and what the program prints."""

    verdict: BeamVerdict
    prints: tuple[str, ...]


@attrs.frozen
class Judged:
    """A stored report on a runner.

    Attributes:
        version: the version of apache-beam.
        report: the report.
        prints: what the programs of its broken laws print, in their order.
    """

    version: str
    report: BeamReport
    prints: tuple[tuple[str, ...], ...]

    @property
    def misses(self) -> list[Miss]:
        """The broken laws."""
        return [Miss(*pair) for pair in zip(self.report.broken, self.prints, strict=True)]


def judge_all(prism: str | None) -> None:
    """Judge Beam's local runners, and Prism if its program is given."""
    for runner in ("headrace.beam.HeadraceRunner", "FnApiRunner", "BundleBasedDirectRunner"):
        judge_again(runner)
    if prism:
        judge_again("PrismRunner", prism)


def judge_again(
    runner: str, prism: str | None = None, cases: int = CASES, tries: int = TRIES
) -> None:
    """Judge a runner of Beam's, and store the report."""
    import apache_beam

    options = [f"{WHERE_PRISM_IS}{prism}"] * bool(prism)
    report = check_runner(runner, cases, options=options, shrinking=tries)
    prints = [printed_by(str(verdict.program)) for verdict in report.broken]
    text = json.dumps(attrs.asdict(Judged(apache_beam.__version__, report, tuple(prints))))
    kept = stored_text()
    kept[runner] = json.loads(text.replace(str(prism), "prism") if prism else text)
    JUDGED.write_text(json.dumps(kept, indent=1) + "\n")


def printed_by(program: str) -> tuple[str, ...]:
    """Run a program, and return the lines that it prints; an error is in the report."""
    try:
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ("(it does not end)",)
    lines = sorted(done.stdout.splitlines())
    return tuple(lines)


def stored_text() -> dict[str, Any]:
    """Return the stored reports as plain data."""
    found: dict[str, Any] = json.loads(JUDGED.read_text()) if JUDGED.exists() else {}
    return found


def stored() -> dict[str, Judged]:
    """Return the stored reports, by runner."""
    kept = stored_text()
    return {name: _judged(kept[name]) for name in TITLES if name in kept}


def _judged(kept: Mapping[str, Any]) -> Judged:
    report = dict(kept["report"])
    verdicts = tuple(
        BeamVerdict(**{**verdict, "found": tuple(verdict["found"])})
        for verdict in report.pop("verdicts")
    )
    return Judged(
        kept["version"],
        BeamReport(verdicts=verdicts, **report),
        tuple(map(tuple, kept["prints"])),
    )


# The part of the page


def laws_table(judged: Mapping[str, Judged]) -> str:
    """Return a table with a row for each law and mode, and a column for each runner."""
    keys = list(
        dict.fromkeys((v.law, v.mode) for each in judged.values() for v in each.report.verdicts)
    )
    rows = [["law", "mode", *(TITLES[name] for name in judged)], ["---"] * (len(judged) + 2)]
    for law, mode in keys:
        shown = "both" if law == LIKE_ITS_BATCH else mode
        rows.append([law, shown, *(_cell(each.report, law, mode) for each in judged.values())])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cell(report: BeamReport, law: str, mode: str) -> str:
    mine = [v for v in report.verdicts if (v.law, v.mode) == (law, mode)]
    if not mine or not mine[0].cases:
        return "not run"
    broken = sum(verdict.broken for verdict in mine)
    return f"broken by {broken} of {mine[0].cases}" if broken else f"holds in {mine[0].cases}"


def law_misses(judged: Mapping[str, Judged]) -> Iterator[str]:
    """Yield each miss with its program and what it prints; one of both modes is shown as a stream."""
    for name, each in judged.items():
        if each.report.passed:
            continue
        yield f"### {TITLES[name]}: broken laws\n"
        if each.report.no_streaming:
            yield f"It runs no TestStream (`{each.report.no_streaming}`), so it was given batches only.\n"
        shown: set[str] = set()
        for miss in each.misses:
            if _subject(miss.verdict) not in shown:
                yield from _shown(miss, _modes(miss, each.misses))
            shown.add(_subject(miss.verdict))


def _subject(verdict: BeamVerdict) -> str:
    """Return the law of a verdict, with the start of an error: its modes share one program."""
    errors = (re.sub(r"\d", "", found) for found in verdict.found if found.startswith("error"))
    return " ".join([verdict.law, *(error[:100] for error in errors)])


def _shown(miss: Miss, modes: str) -> Iterator[str]:
    verdict = miss.verdict
    yield f"**{verdict.law}** ({modes}): {_findings(verdict.found)}\n"
    yield f"```py\n{_tidy(str(verdict.program))}\n```\n"
    if verdict.law in (NO_ERROR, TERMINATES):
        return
    yield "It prints:\n"
    yield "```text\n" + "\n".join(line[:400] for line in miss.prints or ["(nothing)"]) + "\n```\n"


def _tidy(program: str) -> str:
    return program.replace(NO_LOCATION, "")


def _modes(miss: Miss, misses: Sequence[Miss]) -> str:
    same = [m.verdict.mode for m in misses if _subject(m.verdict) == _subject(miss.verdict)]
    return " and ".join(dict.fromkeys(same))


def _findings(found: Sequence[str]) -> str:
    return "; ".join(f"`{' '.join(line.split())[:300]}`" for line in found)
