"""Without Hypothesis all but the laws and strategies works, and these say what to install."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.repository import ROOT

BLOCKED = "import sys; sys.modules['hypothesis'] = None; "


def run(program: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + program]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT)


def test_pipelines_can_be_tested() -> None:
    program = (
        "import headrace as hr; from headrace.testing import *\n"
        "with TestPipeline() as p:\n"
        "    assert_that(p | TestStream().add_elements([1]).advance_watermark_to_infinity(), equal_to([1]))"
    )
    done = run(program)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["strategies", "laws"])
def test_what_needs_it_says_so(module: str) -> None:
    done = run(f"import headrace.testing.{module}")
    assert done.returncode != 0
    assert "what to do: pip install 'headrace[testing]'" in done.stderr
