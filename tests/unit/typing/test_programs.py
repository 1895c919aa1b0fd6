"""Types of elements flow through a pipeline, and a wrong function is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.typing.verdicts import PROGRAMS, differences, expected

pytestmark = pytest.mark.xdist_group("typing")  # all write one cache of mypy's

PROGRAM = """\
import headrace as hr

words = hr.Pipeline() | hr.Create(["to", "be"])
{comment}
{line}
"""


@pytest.mark.slow
def test_mypy_says_of_each_program_what_its_comments_say() -> None:
    assert differences(PROGRAMS) == []


def test_there_are_programs_for_both() -> None:
    kinds = [verdict.kind for program in PROGRAMS for verdict in expected(program)]
    assert len(PROGRAMS) >= 30
    assert kinds.count("revealed") >= 100
    assert kinds.count("error") >= 60


@pytest.mark.slow
@pytest.mark.parametrize(
    ("comment", "line", "difference"),
    [
        (
            "# revealed: PCollection[str]",
            "reveal_type(words | hr.Map(len))",
            [
                "program.py:5: mypy says revealed: PCollection[int]",
                "program.py:5: missing revealed: PCollection[str]",
            ],
        ),
        (
            "# error: arg-type",
            "_ = words | hr.Map(len)",
            ["program.py:5: missing error: arg-type"],
        ),
        (
            "#",
            "_ = words | hr.Map(abs)",
            ["program.py:5: mypy says error: arg-type"],
        ),
    ],
)
def test_a_comment_that_is_wrong_is_found(
    tmp_path: Path, comment: str, line: str, difference: list[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(comment=comment, line=line))
    assert differences([program]) == difference
