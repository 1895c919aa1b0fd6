"""The pages docs/reference/conformance.md and capabilities.md, made of verdicts and marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs

from tests.beam.conformance.judged import law_misses, laws_table, stored
from tests.beam.conformance.marks import Marked
from tests.beam.conformance.programs import beam, pane_programs  # type: ignore[attr-defined]
from tests.beam.conformance.verdicts import (
    BUNDLES,
    LOCAL,
    NOT_EXPRESSIBLE,
    RIGHT,
    Runner,
    Verdict,
    judge,
    judge_program,
    prism,
)
from tests.model.figures import cases
from tests.support.repository import ROOT

REFERENCE = ROOT / "docs" / "reference"
CONFORMANCE = REFERENCE / "conformance.md"
CAPABILITIES = REFERENCE / "capabilities.md"

PRISM = Path(__file__).with_name("prism.json")
"""What Prism verdicts when somebody last ran it; CI has no Prism."""

Answers = Mapping[str, Verdict]
"""Verdicts by the name of a figure or a pane program."""


def answers(runner: Runner) -> Answers:
    """A runner's verdicts on all figures and pane programs."""
    figures = {case.name: judge(case, runner) for case in cases()}
    return figures | {name: judge_program(name, runner) for name in pane_programs()}


def run_prism(binary: str) -> None:
    """Run everything on Prism, and store its verdicts."""
    verdicts = {name: attrs.asdict(verdict) for name, verdict in answers(prism(binary)).items()}
    PRISM.write_text(
        json.dumps({"version": beam.__version__, "answers": verdicts}, indent=1) + "\n"
    )


def stored_answers_of_prism() -> tuple[str, Answers]:
    """Prism's version, and its stored verdicts."""
    kept = json.loads(PRISM.read_text())
    read = {n: Verdict(v["word"], tuple(v["why"])) for n, v in kept["answers"].items()}
    return kept["version"], read


# Conformance


def conformance(marks: Sequence[Marked]) -> str:
    """The page of the figures."""
    version, prism_answers = stored_answers_of_prism()
    columns = {
        "Headrace, local": answers(LOCAL),
        "Headrace, Spark": on_spark(marks),
        "Beam, bundle-based runner": answers(BUNDLES),
        "Beam, Prism": prism_answers,
    }
    figures, programs = [case.name for case in cases()], pane_programs()
    beams = {name: columns[name] for name in columns if name.startswith("Beam")}
    return CONFORMANCE_PAGE.format(
        beam=beam.__version__,
        prism=version,
        figures=table("figure", figures, columns),
        programs=table("program", programs, columns),
        laws=laws_table(stored()),
        misses="\n".join([*misses([*figures, *programs], beams), *law_misses(stored())]),
    )


FIGURES = ("tests/model/test_figures.py", "test_each_figure_comes_out_as_published")


def on_spark(marks: Iterable[Marked]) -> Answers:
    """The figures that the suite runs on Spark, with the expected verdicts; nothing is run here."""
    asked = {}
    for mark in marks:
        if (mark.area, mark.name) == FIGURES and mark.runner == "spark":
            figure = mark.params.removeprefix("spark-").removesuffix("-spark")
            asked[figure] = Verdict("expected to fail", (mark.gap,)) if mark.gap else Verdict(RIGHT)
    return asked


def table(head: str, names: Sequence[str], columns: Mapping[str, Answers]) -> str:
    """A table with a row per name and a column per runner."""
    rows = [[head, *columns], ["---"] * (len(columns) + 1)]
    for name in names:
        rows.append([name, *(_word(verdicts.get(name)) for verdicts in columns.values())])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _word(verdict: Verdict | None) -> str:
    return "not run" if verdict is None else verdict.word


def misses(names: Sequence[str], columns: Mapping[str, Answers]) -> Iterable[str]:
    """The differences from the publication."""
    for title, verdicts in columns.items():
        yield f"### {title}\n"
        for name in names:
            verdict = verdicts[name]
            if verdict.word == NOT_EXPRESSIBLE:
                yield f"- **{name}**: needs {verdict.why[0]}"
            elif verdict.word != RIGHT:
                yield f"- **{name}**: {verdict.word}"
                yield from (f"    - {_shown(line)}" for line in verdict.why)
        yield ""


def _shown(line: str) -> str:
    return f"`{line}`"


CONFORMANCE_PAGE = """# Conformance

This page shows which systems reproduce the figures of the Dataflow paper and of the book "Streaming
Systems" (`tests/model/figures/`). The same programs run on Headrace and, with another import, on Beam's local
runners. `make conformance` writes this page, and a test compares it with the results of the programs.

- **Headrace, local**: run for this page.
- **Headrace, Spark**: the expectations of `tests/model/test_figures.py`, which the tests on Spark check; not
  run for this page.
- **Beam, bundle-based runner**: `BundleBasedDirectRunner` of apache-beam {beam}, run for this page.
- **Beam, Prism**: Prism {prism}, run by hand with `make conformance PRISM=path/to/prism`.

A program is *right* if the panes of each window come in the published order, and match the published value,
retraction, timing, index, first and last, as far as the text gives them. *Values right* means that only such
details differ. *Stopped* means that the runner refused the program or failed; its message and its output so
far are listed below. *Not expressible* means that Beam's Python SDK has no way to write the program. The
tests compare the times of firings for Headrace only, since Beam does not report them.

## Figures

{figures}

## Pane programs

The programs of `tests/unit/sdk/beam/beam_programs/windows_and_triggers.py`; their own assertions decide
whether the results are right.

{programs}

## Laws held by Beam's runners

[`headrace.beam.check_runner`](../how-to/testing.md#check-a-beam-runner) draws random pipelines, runs them by
apache_beam on a runner, and holds their panes to the laws of the model. `make conformance JUDGE=1` runs it on
these runners, and stores the reports in `tests/beam/conformance/judged.json`. Each broken law is listed
below, with the smallest program that was found and with what it prints; the programs need apache_beam only.
A batch has all elements at once; a stream is a TestStream.

{laws}

## Results

A pane is shown as its value and, in parentheses, its timing, its index, and whether it was marked as first or
last. Details that the figure does not mention are shown but not compared.

{misses}"""


# Capabilities

COLUMNS = (
    ("local, batch", "local", "batch"),
    ("local, streaming", "local", "streaming"),
    ("Spark, batch", "spark", "batch"),
    ("Spark, streaming", "spark", "streaming"),
)


def capabilities(marks: Sequence[Marked]) -> str:
    """The page of the areas that run on each runner."""
    areas = dict.fromkeys(mark.area for mark in marks)
    heads = ["area", *(title for title, *_ in COLUMNS)]
    rows = [heads, ["---"] * len(heads)]
    for area in areas:
        mine = [mark for mark in marks if mark.area == area]
        rows.append([_subject(area), *(_runs(mine, runner, mode) for _, runner, mode in COLUMNS)])
    lines = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return CAPABILITIES_PAGE.format(table=lines, gaps="\n".join(gaps(marks)) or "None.")


def _subject(area: str) -> str:
    """The first sentence of the docstring of a test file."""
    first = (ROOT / area).read_text().partition('"""')[2].partition("\n")[0].partition('"""')[0]
    return f"{first.rstrip('.')} (`{area.removeprefix('tests/')}`)"


def _runs(marks: Sequence[Marked], runner: str, mode: str) -> str:
    mine = [mark for mark in marks if mark.runner == runner and mark.mode in (mode, "any")]
    missing = len({mark.name for mark in mine if mark.gap})
    if not mine:
        return ""
    return f"all but {missing}" if missing else "yes"


def gaps(marks: Sequence[Marked]) -> Iterable[str]:
    """The tests that do not run on a runner, each with its reason."""
    found = dict.fromkeys((mark.area, mark.name, mark.gap) for mark in marks if mark.gap)
    for area, name, why in found:
        yield f"- `{area}::{name}`: {why}."


CAPABILITIES_PAGE = """# Capabilities

What each runner supports, as the tests state it: one suite runs on both runners, and each row is one of its
files. "Yes" means that all tests of the file run in that mode; an empty cell means that no test has that
mode. Tests that a runner skips, or is expected to fail, are listed below with the reason. `make conformance`
writes this page, and a test compares it with the marks of the tests.

{table}

## Not supported on Spark

{gaps}

A transform, source or sink that a runner does not support is refused while the pipeline is built;
[Differences from Beam](differences.md) lists features that neither runner has yet.
"""
