"""The part of Mermaid's flowcharts that plans use."""

from __future__ import annotations

import json
import re
import subprocess
from html import unescape
from pathlib import Path
from shutil import copy, which
from typing import Final

import attrs

HERE: Final = Path(__file__).parent

_SUBGRAPH: Final = re.compile(r'subgraph (\w+) \["([^"]*)"\]')
_NODE: Final = re.compile(r'(\w+)(?:\(\["([^"]*)"\]\)|\[\["([^"]*)"\]\]|\["([^"]*)"\])')
_EDGE: Final = re.compile(r'(\w+) (-->|-\.->)(?:\|"([^"]*)"\|)? (\w+)')


@attrs.frozen
class Flowchart:
    """A flowchart; nodes have the lines of their texts."""

    nodes: dict[str, tuple[str, ...]]
    edges: list[tuple[str, str, str, bool]]
    """From, to, text, and whether the arrow is dashed."""
    subgraphs: dict[str, set[str]]


def parsed(source: str) -> Flowchart:
    """Parse what plans use of Mermaid; any other line is an error."""
    first, *lines = source.splitlines()
    assert first == "flowchart LR"
    found = Flowchart({}, [], {})
    inside: set[str] | None = None
    for line in map(str.strip, lines):
        if subgraph := _SUBGRAPH.fullmatch(line):
            inside = found.subgraphs.setdefault(_text(subgraph[2]), set())
        elif line == "end":
            inside = None
        elif node := _NODE.fullmatch(line):
            assert inside is not None
            inside.add(node[1])
            found.nodes[node[1]] = _lines(node[2] or node[3] or node[4])
        else:
            edge = _EDGE.fullmatch(line)
            assert edge, line
            found.edges.append((edge[1], edge[4], _text(edge[3] or ""), edge[2] == "-.->"))
    return found


def parsed_by_mermaid(source: str, directory: Path) -> Flowchart:
    """Parse with Mermaid's own parser, which npm installs into a directory."""
    for name in ("package.json", "parse.mjs"):
        copy(HERE / name, directory)
    npm = which("npm")
    assert npm
    install = [npm, "install", "--no-audit", "--no-fund", "--silent"]
    subprocess.run(install, cwd=directory, check=True, capture_output=True)
    done = subprocess.run(
        ["node", "parse.mjs"], cwd=directory, input=source, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["type"].startswith("flowchart")
    return Flowchart(
        {key: _html_lines(text) for key, text in found["nodes"]},
        [(start, end, unescape(text), dashed) for start, end, text, dashed in found["edges"]],
        {unescape(title): set(nodes) for title, nodes in found["subgraphs"]},
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(map(_text, text.split("<br>")))


def _html_lines(text: str) -> tuple[str, ...]:
    return tuple(map(unescape, text.split("<br>")))


def _text(text: str) -> str:
    """The text of a quoted string: ``#quot;`` is a quote, and ``#91;`` a bracket."""
    assert not re.search(r"[`<>&;]", re.sub(r"#\w+;", "", text)), text
    as_html = re.sub(r"#(\d+);", r"&#\1;", re.sub(r"#([a-z]+);", r"&\1;", text))
    return unescape(as_html)
