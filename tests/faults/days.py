"""Long tests that take turns in `make test`, and the numbers of their kills.

HEADRACE_KILLS is the number of kills, 50 by default, and HEADRACE_FIRST_KILL the number of the first, 0 by
default. `make test` has a tenth of them. In it, tests with kills of their own run on every fifth day, so that
25 days have all of these; others on every third.
"""

from __future__ import annotations

import os
from typing import Final

import pytest

KILLS: Final = int(os.environ.get("HEADRACE_KILLS", "50"))
FIRST: Final = int(os.environ.get("HEADRACE_FIRST_KILL", "0"))

SAMPLE: Final = 5
"""HEADRACE_KILLS in `make test`."""

DAY: Final = int(os.environ.get("HEADRACE_DAY", "0"))
"""The day of the year in `make test`; else 0."""

TURN: Final = DAY // 5
"""How many times a test that runs on every fifth day has had its turn."""


def on_days(first: int, *, every: int) -> pytest.MarkDecorator:
    """The mark `sampled` on each day of this many, from the first of them on; else only `chaos`."""
    assert first in range(every)
    return pytest.mark.sampled if first == DAY % every else pytest.mark.chaos


def in_turns(number: int) -> list[pytest.MarkDecorator]:
    """The marks of one of many long tests of a kind, of which each day has a third."""
    return [pytest.mark.slow, pytest.mark.chaos, on_days(number % 3, every=3)]


def own_kills(*, of_ten: int) -> range:
    """The numbers of the kills of a test that has this many for ten of HEADRACE_KILLS, or for fewer."""
    first = TURN % 5 if KILLS <= SAMPLE else FIRST // 10
    return range(first * of_ten, first * of_ten + max(of_ten, KILLS * of_ten // 10))
