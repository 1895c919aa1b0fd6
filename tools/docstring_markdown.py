"""Turns docstrings into Markdown: sections, doctests, roles and tables.

Docstrings are in Google's style, with roles and tables in the syntax of Sphinx. The result reads the same on
GitHub and on the site.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from inspect import cleandoc
from itertools import pairwise
from textwrap import dedent
from typing import TypeAlias

Link: TypeAlias = Callable[[str], str]
"""Turns the name in a role into Markdown: a link, or the name as code."""

TITLES = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Returns": "Returns",
    "Yields": "Yields",
    "Raises": "Raises",
}
SECTION = re.compile(rf"^({'|'.join(TITLES)}):\n((?:[ \t]+.*\n|\n)+)", re.MULTILINE)
ITEM = re.compile(r"^(\*{0,2}[\w., *]+):\s+(.*)", re.DOTALL)
DOCTEST = re.compile(r"^>>> .*(?:\n(?!\s*$).*)*", re.MULTILINE)
TABLE = re.compile(r"^=+ [= ]*$\n(?:.*\n)*?=+ [= ]*$(?!\n\S)", re.MULTILINE)
ROLE = re.compile(r":(?:class|func|meth|attr|mod|data):`~?([\w.]+)`")
CODE = re.compile(r"``([^`]+)``")


def markdown(docstring: str, link: Link, more_attributes: str = "") -> str:
    """Return a docstring as Markdown, with the example last.

    Args:
        docstring: a docstring in Google's style.
        link: what becomes of the names in roles.
        more_attributes: items, in Markdown, to add to those of the section on attributes.

    >>> print(markdown("Doubles.\\n\\nArgs:\\n    n: a number.", str.upper))
    Doubles.
    <BLANKLINE>
    **Arguments**
    <BLANKLINE>
    - `n`: a number.
    """
    text = cleandoc(docstring) + "\n"
    examples = [f"```pycon\n{found}\n```" for found in DOCTEST.findall(text)]
    text = DOCTEST.sub("", text)
    sections = {found[1]: _items(found[2], link) for found in SECTION.finditer(text)}
    if more_attributes:
        sections["Attributes"] = f"{sections.get('Attributes', '')}\n{more_attributes}".strip()
    described = [f"**{TITLES[name]}**\n\n{items}" for name, items in sections.items()]
    body = inline(TABLE.sub(lambda found: _table(found[0]), SECTION.sub("", text)), link).strip()
    return "\n\n".join(filter(None, [_one_blank_line(body), *described, *examples]))


def without_arguments(docstring: str) -> str:
    """Return a docstring without its section on arguments."""
    text = cleandoc(docstring) + "\n"
    return SECTION.sub(lambda found: "" if found[1] == "Args" else found[0], text)


def summary(docstring: str, link: Link) -> str:
    """Return the first line of a docstring as Markdown."""
    return inline(cleandoc(docstring).partition("\n")[0], link)


def first_paragraph(docstring: str, link: Link) -> str:
    """Return the first paragraph of a docstring as Markdown, in one line."""
    return inline(" ".join(cleandoc(docstring).partition("\n\n")[0].split()), link)


def inline(text: str, link: Link) -> str:
    """Convert the roles and the code within a text."""
    text = ROLE.sub(lambda found: link(found[1]), text)
    return CODE.sub(lambda found: f"`{found[1]}`", text)


def row(cells: list[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def _items(block: str, link: Link) -> str:
    """Return the items of a section as a list, or its text."""
    text = dedent(block).strip()
    items = [" ".join(item.split()) for item in re.split(r"\n(?=\S)", text)]
    found = [ITEM.match(item) for item in items]
    if not all(found):
        return inline(text, link)
    return "\n".join(f"- `{item[1]}`: {inline(item[2], link)}" for item in found if item)


def _one_blank_line(text: str) -> str:
    return re.sub(r"\n{3,}", "\n\n", text)


def _table(text: str) -> str:
    """Convert a simple table of reStructuredText."""
    border, *lines = text.splitlines()
    starts = [found.start() for found in re.finditer("=+", border)]
    bounds = [*pairwise(starts), (starts[-1], None)]
    rows = [[line[start:end].strip() for start, end in bounds] for line in lines]
    has_header = sum(line.startswith("=") for line in lines) > 1
    header = rows[0] if has_header else [""] * len(bounds)
    body = [cells for cells in rows[has_header:] if not cells[0].startswith("=")]
    return "\n".join(map(row, [header, ["---"] * len(bounds), *body]))
