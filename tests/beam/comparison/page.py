"""Writes docs/reference/comparison.md, and the table of the README, from the stored answers."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs

from tests.beam.comparison.questions import QUESTIONS, Answer, Change, Question, content, is_right
from tests.support.repository import ROOT

REFERENCE = ROOT / "docs" / "reference"
PAGE = REFERENCE / "comparison.md"
CONFORMANCE = REFERENCE / "conformance.md"
README = ROOT / "README.md"
STORED = Path(__file__).with_name("answers.json")
TABLE_IN_README = re.compile(
    r"(<!-- written by make comparison -->\n).*?(<!-- end of the comparison -->)", re.DOTALL
)

SYSTEMS = ("Headrace", "Beam", "Flink", "Structured Streaming")


@attrs.frozen
class Answers:
    """What a system gave to each question.

    Attributes:
        version: the version of the system that was run.
        by_question: its answers by the name of the question.
    """

    version: str
    by_question: Mapping[str, Answer]


def stored() -> dict[str, Answers]:
    """Return the stored answers of each system."""
    return {name: answers_of(data) for name, data in json.loads(STORED.read_text()).items()}


def answers_of(data: Mapping[str, object]) -> Answers:
    """Return answers from their JSON."""
    found: Mapping[str, Mapping[str, object]] = data["answers"]  # type: ignore[assignment]
    return Answers(str(data["version"]), {name: _answer(answer) for name, answer in found.items()})


def as_data(answers: Answers) -> dict[str, object]:
    """Return answers as JSON."""
    found = {name: attrs.asdict(a, recurse=False) for name, a in answers.by_question.items()}
    return {"version": answers.version, "answers": found}


def store(answers: Mapping[str, Answers]) -> None:
    """Store the answers of each system."""
    data = {name: as_data(answers[name]) for name in SYSTEMS}
    STORED.write_text(json.dumps(data, indent=1) + "\n")


def page(answers: Mapping[str, Answers]) -> str:
    """Return the page."""
    return PAGE_TEXT.format(
        headrace=answers["Headrace"].version,
        beam=answers["Beam"].version,
        flink=answers["Flink"].version,
        spark=answers["Structured Streaming"].version,
        table=table(answers),
        sections="\n".join(section(question, answers) for question in QUESTIONS),
    )


def readme(answers: Mapping[str, Answers]) -> str:
    """Return the README with the current table."""
    rows = table(answers, "docs/reference/")
    return TABLE_IN_README.sub(lambda found: f"{found[1]}{rows}\n{found[2]}", README.read_text())


def table(answers: Mapping[str, Answers], reference: str = "") -> str:
    """Return the table, with links to pages of the reference."""
    versions = [f"{name} {answers[name].version}" for name in SYSTEMS[1:]]
    rows = [["", "Headrace", *versions], ["---"] * (len(SYSTEMS) + 1)]
    page_of_sections = f"{reference}comparison.md" if reference else ""
    for question in QUESTIONS:
        title = f"[{question.title}]({page_of_sections}#{anchor(question)})"
        rows.append([title, *(cell(question, answers[name]) for name in SYSTEMS)])
    rows.append(_figures(reference))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def anchor(question: Question) -> str:
    """Return the name by which the section of a question is reached."""
    return question.title.lower().replace(" ", "-")


def cell(question: Question, answers: Answers) -> str:
    """Return the short answer of a system."""
    answer = answers.by_question[question.name]
    if is_right(question, answer):
        return f"yes, {answer.note}" if answer.note else "yes"
    if answer.stopped:
        return f"no: refused {answer.note}"
    outdated = content(answer.changes).keys() - question.finally_.keys()
    return "no: old results stay" if outdated else "no"


def section(question: Question, answers: Mapping[str, Answers]) -> str:
    """Return what each system printed for a question."""
    lines = [
        f"## {question.title}\n",
        f"{question.text}\n",
        "```text",
        _expected(question),
        "```\n",
    ]
    for name in SYSTEMS:
        lines.append(f"**{name}**: {cell(question, answers[name])}.\n")
        lines.append(f"```text\n{_printed(answers[name].by_question[question.name])}\n```\n")
    return "\n".join(lines)


def _expected(question: Question) -> str:
    arrives = ", ".join(f"{who} {amount} at {second} s" for who, amount, second in question.sales)
    first = [f"first    {key}: {value}" for key, value in question.at_first]
    end = [f"at last  {key}: {value}" for key, value in question.finally_.items()]
    return "\n".join([f"arrives  {arrives}", *first, *end])


def _printed(answer: Answer) -> str:
    return textwrap.fill(answer.stopped, 100) or "\n".join(map(str, answer.changes))


COLUMN = {"Headrace": 1, "Beam": 3, "Prism": 4}
"""Columns of the table of figures on the page of conformance."""


def _figures(reference: str) -> list[str]:
    title = f"[Values of the published figures]({reference}conformance.md)"
    rows = list(_rows_of_figures(CONFORMANCE.read_text()))
    right = {
        name: sum(row[column] in ("right", "values right") for row in rows)
        for name, column in COLUMN.items()
    }
    beam = f"{right['Beam']} of {len(rows)}; {right['Prism']} on Prism"
    return [title, f"{right['Headrace']} of {len(rows)}", beam, "not measured", "not measured"]


def _rows_of_figures(text: str) -> Iterable[list[str]]:
    figures = text.partition("## Figures")[2].partition("\n## ")[0]
    lines = [line for line in figures.splitlines() if line.startswith("| ")]
    return ([cell.strip() for cell in line.strip("| ").split("|")] for line in lines[2:])


def _answer(data: Mapping[str, object]) -> Answer:
    changes: Iterable[tuple[int, str, int]] = data["changes"]  # type: ignore[assignment]
    rows = tuple(Change(*change) for change in changes)
    return Answer(rows, str(data["stopped"]), str(data["note"]))


PAGE_TEXT = """# Comparison

We ran the same questions on four systems. `make comparison FLINK=1` runs them again and writes this page. The
tests run Headrace, Beam and Structured Streaming again and compare the answers. The programs are in
`tests/beam/comparison/`.

- **Headrace** {headrace}: the local runner. The tests check the same on Spark.
- **Beam** {beam}: the Python SDK on its bundle-based local runner.
- **Flink** {flink}: PyFlink with one slot. The programs use the DataStream API where it has the feature,
  otherwise SQL.
- **Structured Streaming** {spark}: PySpark, with one record in each micro-batch. A query runs in update mode
  if a first result is asked for. In append mode it would emit each result once, after the delay of its
  watermark.

An answer is right if the named first results are emitted, and a table that applies all results by key has the
expected content at the end: `+` inserts or replaces, `-` retracts. The programs use the windows, triggers and
aggregations of each system. Functions with state of their own can compute anything and are not compared:
Flink's `ProcessFunction`, the stateful `DoFn` of Beam and Headrace, Spark's `transformWithState`.

{table}

The last row counts the figures of the Dataflow paper and of "Streaming Systems" whose panes have the
published values. [Conformance](conformance.md) shows each of them, and explains the runners of Beam.

{sections}"""
