"""The legend of a picture: the name of each kind of mark, and its meaning where there is room for it."""

from __future__ import annotations

import json
from typing import Any, Final

from headrace.sdk.observing.drawing.marks import (
    ELEMENT,
    LATE_ELEMENT,
    PANE_KINDS,
    RETRACTED_ELEMENT,
    RETRACTION,
)

ACTUAL: Final = "watermark"
IDEAL: Final = "ideal watermark"
WINDOW_MARK: Final = "window"

MEANINGS: Final = {
    WINDOW_MARK: "window, from its first result to its last",
    PANE_KINDS["EARLY"]: "early: before the window is complete",
    PANE_KINDS["ON_TIME"]: "on time: the watermark says it is complete",
    PANE_KINDS["LATE"]: "late: after a late element",
    PANE_KINDS["UNKNOWN"]: "result of a window",
    RETRACTION: "retracted: no longer valid",
    ACTUAL: "watermark: data is complete up to here",
    IDEAL: "ideal watermark: no element is delayed",
    ELEMENT: "element",
    LATE_ELEMENT: "late element: behind the watermark",
    RETRACTED_ELEMENT: "retracted element",
}
"""The meaning of each kind of mark, for readers who see a picture for the first time."""

EXPLAINED_WIDTH: Final = 560
"""Minimum width of a picture whose legend has meanings, in pixels."""

_LABEL: Final = f"width < {EXPLAINED_WIDTH} ? datum.label : {json.dumps(MEANINGS)}[datum.label]"
_COLUMNS: Final = f"width < {EXPLAINED_WIDTH} ? max(1, floor(width / 150)) : 2"
"""Expressions of Vega; the width of a picture on a page is known only there."""


def legend(alt: Any, **symbols: object) -> Any:
    """Return a legend.

    Args:
        alt: the module Altair, which is optional.
        symbols: properties of the symbols beside the labels.
    """
    return alt.Legend(title=None, labelExpr=_LABEL, columns=alt.ExprRef(expr=_COLUMNS), **symbols)
