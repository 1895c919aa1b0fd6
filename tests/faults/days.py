"""Long tests that take turns in `make test`.

Those with numbered kills run on every second day, so that ten days have all kills; others on every third.
"""

from __future__ import annotations

import os

import pytest

TENTH = int(os.environ.get("HEADRACE_TENTH", "0"))
"""The number of the day, from 0 to 9; each has a tenth of the kills."""


def on_days(first: int, *, every: int) -> pytest.MarkDecorator:
    """The mark `sampled` on each day of this many, from the first of them on; else only `chaos`."""
    assert first in range(every)
    return pytest.mark.sampled if first == TENTH % every else pytest.mark.chaos
