"""Long tests that take turns in `make test`.

Those with numbered kills run on every second day, so that ten days have all kills; others on every third.
"""

from __future__ import annotations

import os

import pytest

TENTH = int(os.environ.get("HEADRACE_TENTH", "0"))
"""The number of the day, from 0 to 9; each has a tenth of the kills."""


def on_even_days() -> list[pytest.MarkDecorator]:
    """The mark `sampled` on even days."""
    return [pytest.mark.sampled] if TENTH % 2 == 0 else []


def on_odd_days() -> list[pytest.MarkDecorator]:
    """The mark `sampled` on odd days."""
    return [] if on_even_days() else [pytest.mark.sampled]


def on_third_days(turn: int) -> pytest.MarkDecorator:
    """The mark `sampled` on every third day, from day 0, 1 or 2 on; on other days only `chaos`."""
    return pytest.mark.sampled if turn == TENTH % 3 else pytest.mark.chaos
