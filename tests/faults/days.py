"""Long tests that take turns in `make test`, and the numbers of their kills.

HEADRACE_KILLS is the number of kills, 50 by default, and HEADRACE_FIRST_KILL the number of the first, 0 by
default. `make test` has a tenth of them. In it, long tests run on every tenth day; if they have kills of
their own, 50 days have all of these.
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

EVERY: Final = 10
"""In how many days `make test` runs each long test once."""

TURN: Final = DAY // EVERY
"""How many times a long test has had its turn."""


def on_days(first: int) -> pytest.MarkDecorator:
    """The mark `sampled` on every tenth day, from the first of them on; else only `chaos`."""
    assert first in range(EVERY)
    return pytest.mark.sampled if first == DAY % EVERY else pytest.mark.chaos


def by_day(first: int) -> pytest.MarkDecorator:
    """The mark `chaos` in `make test`, except on every tenth day, from the first of them on; else `slow`.

    It is for long tests that share a Spark session with others; tests that are `sampled` start their own.
    """
    assert first in range(EVERY)
    today = "HEADRACE_DAY" not in os.environ or first == DAY % EVERY
    return pytest.mark.slow if today else pytest.mark.chaos


def in_turns(number: int) -> list[pytest.MarkDecorator]:
    """The marks of one of many long tests of a kind, of which each day has a tenth."""
    return [pytest.mark.slow, pytest.mark.chaos, on_days(number % EVERY)]


def own_kills(*, of_ten: int) -> range:
    """The numbers of the kills of a test that has this many for ten of HEADRACE_KILLS, or for fewer."""
    first = TURN % 5 if KILLS <= SAMPLE else FIRST // 10
    return range(first * of_ten, first * of_ten + max(of_ten, KILLS * of_ten // 10))
