"""A page as what a reader does with it, in order: types Python, writes files, and gives commands.

- A ``python`` block is run, in the namespace of the blocks before it. If a ``text`` block comes next, it
  holds what is printed; if its title says "in any order", the order of the lines is left open.
- A ``python`` block whose title is the name of a file is written to that file, and is there for the other
  pages of the directory, too.
- In a ``console`` block lines after ``$`` are commands, and the lines below what they print.

``...`` stands for whatever is printed there. A page with "on Spark" in the title of a block needs Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

import attrs

from tests.support.repository import ROOT

PAGES = [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted(ROOT.glob("docs/**/*.md"))]

FENCE = re.compile(r"^(`{3,})(\w*)([^\n]*)\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
TITLE = re.compile(r'title="([^"]*)"')
COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n", re.MULTILINE)


@attrs.frozen
class Block:
    """A fenced block: language, title, what it holds, and in which line of the page that starts."""

    language: str
    title: str
    text: str
    line: int


@attrs.frozen
class Printed:
    """What a page says that is printed."""

    text: str
    in_any_order: bool = False


@attrs.frozen
class Python:
    """Python to run, and what it prints, where the page says so."""

    code: str
    line: int
    printed: Printed | None


@attrs.frozen
class File:
    """A file to write."""

    name: str
    text: str


@attrs.frozen
class Command:
    """A command line, and what it prints."""

    line: str
    printed: Printed

    @property
    def is_run(self) -> bool:
        """Whether a test gives the command; others, such as pip and make, are only looked at."""
        return self.line.startswith("python ")


Step = Python | File | Command


def blocks(page: Path) -> list[Block]:
    """Return the fenced blocks of a page."""
    text = page.read_text()
    return [
        Block(found[2], _title(found[3]), found[4], text.count("\n", 0, found.start(4)))
        for found in FENCE.finditer(text)
    ]


def steps(page: Path) -> Iterator[Step]:
    """Yield what the reader of a page does."""
    found = blocks(page)
    block: Block
    for block, after in zip_longest(found, found[1:]):
        if block.language == "python" and block.title.endswith(".py"):
            yield File(block.title, block.text)
        elif block.language == "python":
            yield Python(block.text, block.line, _printed(after))
        elif block.language == "console":
            yield from commands(block)


def commands(block: Block) -> Iterator[Command]:
    """Yield the commands of a console block."""
    _, *found = COMMAND.split(block.text)
    for line, printed in zip(found[::2], found[1::2], strict=True):
        yield Command(line.replace("\\\n", " "), Printed(printed))


def files(page: Path) -> list[File]:
    """Return the files that a page tells to write."""
    return [step for step in steps(page) if isinstance(step, File)]


def needs_spark(page: Path) -> bool:
    """Tell whether a page is only played where Spark is."""
    return any("on Spark" in block.title for block in blocks(page))


def starts_programs(page: Path) -> bool:
    """Tell whether a page starts programs."""
    return any(isinstance(step, Command) and step.is_run for step in steps(page))


def name(page: Path) -> str:
    """Return a page's path in the repository."""
    return str(page.relative_to(ROOT))


def _title(words: str) -> str:
    found = TITLE.search(words)
    return found[1] if found else ""


def _printed(after: Block | None) -> Printed | None:
    if after is None or after.language != "text":
        return None
    return Printed(after.text, "in any order" in after.title)
