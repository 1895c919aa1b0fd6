"""The pages docs/reference/conformance.md and capabilities.md, made of answers and marks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import attrs

from tests.conformance.marks import ROOT, Marked
from tests.conformance.programs import beam, pane_programs
from tests.conformance.verdicts import (
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
from tests.figures import cases

REFERENCE = ROOT / "docs" / "reference"
CONFORMANCE = REFERENCE / "conformance.md"
CAPABILITIES = REFERENCE / "capabilities.md"

PRISM = Path(__file__).with_name("prism.json")
"""What Prism said when somebody last ran it; CI has no Prism."""

Answers = Mapping[str, Verdict]
"""Verdicts by the name of a figure or a pane program."""


def answers(runner: Runner) -> Answers:
    """What a runner makes of all figures and pane programs."""
    figures = {case.name: judge(case, runner) for case in cases()}
    return figures | {name: judge_program(name, runner) for name in pane_programs()}


def ask_prism(binary: str) -> None:
    """Run all on Prism, and keep what it says."""
    said = {name: attrs.asdict(verdict) for name, verdict in answers(prism(binary)).items()}
    PRISM.write_text(json.dumps({"version": beam.__version__, "answers": said}, indent=1) + "\n")


def prisms_answers() -> tuple[str, Answers]:
    """Prism's version, and what it said."""
    kept = json.loads(PRISM.read_text())
    read = {n: Verdict(v["word"], tuple(v["why"])) for n, v in kept["answers"].items()}
    return kept["version"], read


# Conformance


def conformance(marks: Sequence[Marked]) -> str:
    """The page that says who gets the figures right."""
    version, prisms = prisms_answers()
    columns = {
        "Headrace, local": answers(LOCAL),
        "Headrace, Spark": on_spark(marks),
        "Beam, bundle-based runner": answers(BUNDLES),
        "Beam, Prism": prisms,
    }
    figures, programs = [case.name for case in cases()], pane_programs()
    beams = {name: columns[name] for name in columns if name.startswith("Beam")}
    return CONFORMANCE_PAGE.format(
        beam=beam.__version__,
        prism=version,
        figures=table("figure", figures, columns),
        programs=table("program", programs, columns),
        misses="\n".join(misses([*figures, *programs], beams)),
    )


FIGURES = ("tests/test_figures.py", "test_each_figure_comes_out_as_published")


def on_spark(marks: Iterable[Marked]) -> Answers:
    """The figures that the suite asks of Spark, and what it expects; nothing is run."""
    asked = {}
    for mark in marks:
        if (mark.area, mark.name) == FIGURES and mark.runner == "spark":
            figure = mark.params.removeprefix("spark-").removesuffix("-spark")
            asked[figure] = Verdict("expected to fail", (mark.gap,)) if mark.gap else Verdict(RIGHT)
    return asked


def table(head: str, names: Sequence[str], columns: Mapping[str, Answers]) -> str:
    """A row for each name, a column for each runner."""
    rows = [[head, *columns], ["---"] * (len(columns) + 1)]
    for name in names:
        rows.append([name, *(_word(said.get(name)) for said in columns.values())])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _word(verdict: Verdict | None) -> str:
    return "not asked" if verdict is None else verdict.word


def misses(names: Sequence[str], columns: Mapping[str, Answers]) -> Iterable[str]:
    """What came out where not all was right."""
    for title, said in columns.items():
        yield f"### {title}\n"
        for name in names:
            verdict = said[name]
            if verdict.word == NOT_EXPRESSIBLE:
                yield f"- **{name}**: needs {verdict.why[0]}"
            elif verdict.word != RIGHT:
                yield f"- **{name}**: {verdict.word}"
                yield from (f"    - {_shown(line)}" for line in verdict.why)
        yield ""


def _shown(line: str) -> str:
    return f"`{line}`"


CONFORMANCE_PAGE = """# Conformance

Who gets the published figures right. The figures are those of the Dataflow paper and of "Streaming
Systems" (`tests/figures/`), and the same programs run on Headrace and, with the import swapped, on
Beam's local runners. `make conformance` writes this page, and a test
compares it with what the programs say today.

- **Headrace, local**: run.
- **Headrace, Spark**: what the suite asks of it (`tests/test_figures.py`), which the tests on Spark
  hold; not run for this page.
- **Beam, bundle-based runner**: `BundleBasedDirectRunner` of apache-beam {beam}, run.
- **Beam, Prism**: Prism {prism}, run by hand with `make conformance PRISM=path/to/prism`.

A program is *right* if each window's panes come in the published order, and each is as published, as
far as the text says: value, retraction, timing, index, first, last. *Values right* says that only such
details differ. *Stopped* is a runner that refused or gave up; below stands what it said, and what came
out until then. Moments of firing are compared in the
suite, for Headrace alone, since Beam does not tell them. *Not expressible* is what Beam's Python has
no word for.

## Figures

{figures}

## Pane programs

Those of `tests/sdk/beam_programs/windows_and_triggers.py`; their own assertions say whether they are
right.

{programs}

## What came out

A pane is written as its value, and in brackets its timing, its index, and whether it was marked as
first or last. What of these the figure does not mention stands there but was not compared.

{misses}"""


# Capabilities

COLUMNS = (
    ("local, batch", "local", "batch"),
    ("local, streaming", "local", "streaming"),
    ("Spark, batch", "spark", "batch"),
    ("Spark, streaming", "spark", "streaming"),
)


def capabilities(marks: Sequence[Marked]) -> str:
    """The page that says which areas run where."""
    areas = dict.fromkeys(mark.area for mark in marks)
    heads = ["area", *(title for title, *_ in COLUMNS)]
    rows = [heads, ["---"] * len(heads)]
    for area in areas:
        mine = [mark for mark in marks if mark.area == area]
        rows.append([_subject(area), *(_runs(mine, runner, mode) for _, runner, mode in COLUMNS)])
    lines = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return CAPABILITIES_PAGE.format(table=lines, gaps="\n".join(gaps(marks)) or "None.")


def _subject(area: str) -> str:
    """The first sentence of a file of tests, which says what it is about."""
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

What runs where, by the marks of the suite: one suite runs on both runners, and each row is a file of
it. "Yes" is where all of its tests in that mode run; a cell is empty where none has that mode. What
is refused while a pipeline is built is in both. A test that a runner does not run, or is expected to
fail, is listed below with its reason. `make conformance` writes this page, and a test compares it
with the marks.

{table}

## What does not run on Spark, and why

{gaps}

Transforms, sources and sinks that a runner does not have at all are refused while the pipeline is
built; [Differences from Beam](differences.md) lists what neither has yet.
"""
