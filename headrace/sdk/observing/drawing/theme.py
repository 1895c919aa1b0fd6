"""The colours of charts, light and dark.

A chart has light colours. In a dark page or image, style rules replace those that would not be legible;
they find them by their attributes, so that a chart need not be drawn again.
"""

from __future__ import annotations

from typing import Any, Final

INK: Final = "#1c2126"
SOFT: Final = "#5d6670"
GRID: Final = "#e3e6ea"
PAPER: Final = "#ffffff"
DOT: Final = "#dde1e6"
MIDDLE: Final = "#8a8f98"

EARLY: Final = "#c77a00"
ON_TIME: Final = "#00936b"
LATE: Final = "#b5589a"
RETRACTED: Final = "#d64545"
WATERMARK: Final = "#2f7fd1"
"""After the palette of Okabe and Ito, which colour-blind readers can tell apart; for white and black."""

SERIES: Final = (WATERMARK, EARLY, ON_TIME, LATE, RETRACTED, MIDDLE)
"""The colours of series without a meaning of their own."""

DARK: Final = {INK: "#e8eaed", SOFT: "#a9b1ba", GRID: "#2c333b", PAPER: "#14181d", DOT: "#3a424c"}
"""The dark colour for each light one; the others do for both."""

FONT: Final = "system-ui, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


HALO: Final = "halo"
VALUE: Final = "value"
RETRACTED_VALUE: Final = "retracted-value"
CIRCLE: Final = "circle"
"""Styles of marks, which the configuration defines."""


def config(dark: bool = False) -> dict[str, Any]:
    """Return the configuration of Vega-Lite for charts.

    >>> config()["background"], config(dark=True)["background"]
    ('#ffffff', '#14181d')
    """
    ink, soft, grid, paper, dot = (
        DARK[color] if dark else color for color in (INK, SOFT, GRID, PAPER, DOT)
    )
    axis = {
        "domainColor": soft,
        "gridColor": grid,
        "labelColor": soft,
        "labelFontSize": 11,
        "tickColor": soft,
        "titleColor": soft,
        "titleFontSize": 11,
        "titleFontWeight": 400,
    }
    legend = {
        "columns": 4,
        "labelColor": soft,
        "labelFontSize": 11,
        "labelLimit": 280,
        "layout": {"bottom": {"anchor": "start", "direction": "vertical", "margin": 4}},
        "orient": "bottom",
        "title": None,
    }
    styles = {
        HALO: {"color": paper, "stroke": paper, "strokeWidth": 3, "opacity": 0.75},
        VALUE: {"color": ink},
        RETRACTED_VALUE: {"color": RETRACTED},
        CIRCLE: {"color": dot},
    }
    return {
        "axis": axis,
        "background": paper,
        "font": FONT,
        "legend": legend,
        "range": {"category": list(SERIES)},
        "style": styles,
        "text": {"color": ink},
        "title": {"color": ink, "fontSize": 13, "fontWeight": 600, "anchor": "start"},
        "view": {"stroke": None},
    }


def dark_rules(within: str = "") -> str:
    """Return style rules that make charts dark.

    Args:
        within: a selector; the rules hold for what is inside of it.

    >>> print(dark_rules(".dark").splitlines()[0])
    .dark [fill="#1c2126"] {fill: #e8eaed}
    """
    pairs = [(what, *pair) for pair in DARK.items() for what in ("fill", "stroke")]
    rules = (f'{within} [{what}="{old}"] {{{what}: {new}}}' for what, old, new in pairs)
    return "\n".join(rule.strip() for rule in rules)
