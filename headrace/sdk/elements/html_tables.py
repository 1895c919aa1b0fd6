"""Tables in HTML for notebooks and pages: no scripts, nothing from the network, dark and light.

A fragment takes the colors of the text around it, so it suits a notebook in a dark theme. A page sets its own
colors, by the preference of the reader.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

STYLE: Final = """
.headrace { font: 13px/1.45 system-ui, sans-serif; color: inherit; overflow-x: auto; }
.headrace table { border-collapse: collapse; margin: .3em 0 .9em; font: inherit; color: inherit; }
.headrace caption { text-align: left; font-weight: 600; padding: .2em 0; }
.headrace th, .headrace td { border: 1px solid rgba(128, 128, 128, .45); padding: .25em .6em;
  text-align: left; vertical-align: top; background: transparent; white-space: pre-wrap; }
.headrace th { background: rgba(128, 128, 128, .15); font-weight: 600; }
.headrace td.number { text-align: right; font-variant-numeric: tabular-nums; }
.headrace small, .headrace p { opacity: .75; }
.headrace p { margin: .3em 0; }
"""
"""The style of a fragment; grays are half transparent, so they can be seen on dark and on light."""

PAGE_STYLE: Final = """
:root { color-scheme: light dark; }
body { margin: 1.5em; color: #1f2328; background: #ffffff; }
@media (prefers-color-scheme: dark) { body { color: #e6edf3; background: #0d1117; } }
"""


def fragment(*parts: str) -> str:
    """Return parts as a fragment of HTML with its own style."""
    return f'<div class="headrace"><style>{STYLE}</style>\n{"".join(parts)}</div>'


def page(title: str, body: str) -> str:
    """Return a page with a fragment as its body."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{PAGE_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    caption: str = "",
    numbers: Iterable[int] = (),
) -> str:
    """Return a table.

    Args:
        header: the names of the columns, as text.
        rows: the cells of each row, as HTML.
        caption: the caption, as text.
        numbers: the columns of numbers, from 0.
    """
    right = frozenset(numbers)
    classes = [' class="number"' if column in right else "" for column in range(len(header))]
    lines = [
        f"<caption>{escape(caption)}</caption>" if caption else "",
        f"<tr>{''.join(f'<th>{escape(name)}</th>' for name in header)}</tr>",
    ]
    for row in rows:
        cells = zip(classes, row, strict=True)
        lines.append(f"<tr>{''.join(f'<td{kind}>{cell}</td>' for kind, cell in cells)}</tr>")
    return "<table>" + "\n".join(lines) + "</table>\n"


def facts(pairs: Iterable[tuple[str, str]], caption: str = "") -> str:
    """Return a table of names and values, both as text."""
    rows = "\n".join(
        f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in pairs
    )
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{title}{rows}</table>\n"


def paragraph(text: str) -> str:
    """Return text as a paragraph."""
    return f"<p>{escape(text)}</p>\n"
