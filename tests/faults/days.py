"""Kill tests that take turns in `make test`: each runs on every second day, and all kills in ten days."""

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
