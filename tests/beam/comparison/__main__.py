"""Asks all systems and writes the comparison. Flink needs a Python of its own, else its last answers stay."""

from __future__ import annotations

import argparse
import json
import subprocess

from tests.beam.comparison import page
from tests.beam.comparison.in_headrace_and_beam import answers_of_beam, answers_of_headrace
from tests.beam.comparison.in_structured_streaming import answers_of_structured_streaming
from tests.support.repository import ROOT


def main() -> None:
    """Store the answers, and write the page and the table of the README."""
    parser = argparse.ArgumentParser(prog="python -m tests.beam.comparison", description=__doc__)
    parser.add_argument("--flink", metavar="PYTHON", help="a Python that has apache-flink")
    python = parser.parse_args().flink
    answers = page.stored() if page.STORED.exists() else {}
    answers["Headrace"] = answers_of_headrace()
    answers["Beam"] = answers_of_beam()
    answers["Structured Streaming"] = answers_of_structured_streaming()
    if python:
        answers["Flink"] = answers_of_flink(python)
    page.store(answers)
    page.PAGE.write_text(page.page(answers))
    page.README.write_text(page.readme(answers))


def answers_of_flink(python: str) -> page.Answers:
    """Run the programs in Flink, in another environment, since apache-flink needs an old apache-beam."""
    command = [python, "-m", "tests.beam.comparison.in_flink"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return page.answers_of(json.loads(done.stdout))


if __name__ == "__main__":
    main()
