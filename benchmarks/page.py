"""The page ``docs/reference/benchmarks.md``: each benchmark writes its own section, and leaves the others."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "benchmarks.md"


def machine() -> str:
    """Sentences about this machine, its load and the day."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    day = datetime.now(tz=UTC).date()
    return (
        f"Measured on {day} with {os.cpu_count()} cores, {memory:.0f} GiB of memory and"
        f" Python {platform.python_version()}. The load average was {os.getloadavg()[2]:.1f}, with"
        " all that ran on the machine."
    )


def markdown_table(header: list[str], rows: list[list[str]]) -> str:
    """A table of the page; the first column is left-aligned, the others right-aligned.

    >>> print(markdown_table(["query", "events/s"], [["q1", "40,000"]]))
    | query | events/s |
    |---|---:|
    | q1 | 40,000 |
    """
    rule = "|" + "|".join(["---", *(["---:"] * (len(header) - 1))]) + "|"
    lines = [f"| {' | '.join(cells)} |" for cells in [header, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def write_section(name: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between the marks of a section.

    Args:
        name: of the section, as in ``<!-- nexmark -->``.
        text: Markdown, without the heading.
        page: the file.

    Raises:
        ValueError: if the page has no such section.
    """
    before = page.read_text()
    marks = f"<!-- {name} -->", f"<!-- end of {name} -->"
    pattern = re.compile(f"(?<={re.escape(marks[0])}\n).*?(?={re.escape(marks[1])})", re.DOTALL)
    if not pattern.search(before):
        raise ValueError(f"{page} has no lines {marks[0]} and {marks[1]}")
    page.write_text(pattern.sub(lambda _: f"\n{text.strip()}\n\n", before))
