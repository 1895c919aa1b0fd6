"""Plays on every runner."""

from collections.abc import Callable
from functools import partial

import pytest

from tests.model.semantics.scenarios import Played, perform


@pytest.fixture
def play(runner: str) -> Callable[..., Played]:
    """Play events to transforms in a row on a runner."""
    return partial(perform, runner)
