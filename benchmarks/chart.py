"""Pictures of benchmarks for docs/pictures, in the colours of Headrace's charts, light and dark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import vl_convert

from headrace.sdk.observing.drawing.theme import config, dark_rules

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"


def save(path: Path, chart: Any) -> None:
    """Write a chart of altair as an SVG file."""
    svg = vl_convert.vegalite_to_svg({**chart.to_dict(), "config": config()})
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{dark_rules()}\n}}</style>"
    opening, rest = svg.split(">", 1)
    rest = re.sub(r' aria-[a-z]+="[^"]*"', "", rest)
    path.write_text(f"{opening}>{style}{rest}\n")
