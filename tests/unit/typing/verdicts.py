"""What mypy says of programs, and what comments in them say that it will say.

A comment stands above the line that it is about: ``# revealed: PCollection[int]`` above a
``reveal_type``, or ``# error: arg-type``, with the code of the error. What stands in no comment is not
expected, so a program fails whether mypy says too much or too little.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import attrs
from mypy import api

from tests.support.repository import ROOT

PROGRAMS = sorted((ROOT / "tests/unit/typing/programs").glob("*.py"))

FLAGS = (
    f"--config-file={ROOT / 'pyproject.toml'}",
    f"--cache-dir={ROOT / '.mypy_cache'}",
    "--no-error-summary",
    "--show-absolute-path",
)
"""The settings are those of `make check`, so that both use what mypy stored about Headrace."""

_COMMENT = re.compile(r"\s*# (revealed|error): (.*)")
_MESSAGE = re.compile(r"(.*?):(\d+): (error|note): (.*)")
_REVEALED = re.compile(r'Revealed type is "(.*)"')
_CODE = re.compile(r".*\[([\w-]+)\]$")
_MODULE = re.compile(r"\b(?:[a-z_]\w*\.)+(?=\w)")


@attrs.frozen(order=True)
class Verdict:
    """What is said of a line.

    Attributes:
        program: name of the file.
        line: number of the line.
        kind: "revealed" or "error".
        text: the type, without the modules of its names, or the code of the error.
    """

    program: str
    line: int
    kind: str
    text: str


def expected(program: Path) -> Iterator[Verdict]:
    """Yield what the comments of a program say."""
    waiting: list[tuple[str, str]] = []
    for number, line in enumerate(program.read_text().splitlines(), 1):
        comment = _COMMENT.fullmatch(line)
        if comment:
            waiting.append((comment[1], comment[2]))
            continue
        yield from (Verdict(program.name, number, kind, text) for kind, text in waiting)
        waiting.clear()


def said(programs: Iterable[Path]) -> set[Verdict]:
    """Return what mypy says of programs, in one run."""
    output, problems, _ = api.run([*FLAGS, *map(str, programs)])
    assert not problems, problems
    messages = map(_MESSAGE.fullmatch, output.splitlines())
    verdicts = (_verdict(*m.groups()) for m in messages if m is not None)
    return {verdict for verdict in verdicts if verdict is not None}


def differences(programs: list[Path]) -> list[str]:
    """Return what is said and not expected, and what is expected and not said, line by line."""
    wanted = {verdict for program in programs for verdict in expected(program)}
    found = said(programs)
    return [
        *(f"{v.program}:{v.line}: mypy says {v.kind}: {v.text}" for v in sorted(found - wanted)),
        *(f"{v.program}:{v.line}: missing {v.kind}: {v.text}" for v in sorted(wanted - found)),
    ]


def _verdict(path: str, line: str, kind: str, text: str) -> Verdict | None:
    name, number = Path(path).name, int(line)
    if kind == "error":
        code = _CODE.fullmatch(text)
        return Verdict(name, number, "error", code[1] if code else text)
    revealed = _REVEALED.fullmatch(text)
    return Verdict(name, number, "revealed", _MODULE.sub("", revealed[1])) if revealed else None
