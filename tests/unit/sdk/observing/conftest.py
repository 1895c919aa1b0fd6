"""Fixtures of the tests of observation: a real browser, and live pages."""

from collections.abc import Iterator

import pytest

from headrace.sdk.observing.live import LivePage
from tests.unit.sdk.observing import chromium
from tests.unit.sdk.observing.served_runs import run, scores, served


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Browser]:
    """A Chromium without a window, for the tests of one module."""
    if chromium.program() is None:
        pytest.skip(chromium.NOT_INSTALLED)
    with chromium.running() as started:
        yield started


@pytest.fixture
def page() -> Iterator[LivePage]:
    """A page of a run that has not begun."""
    with served() as page:
        yield page


@pytest.fixture(scope="module")
def done() -> Iterator[LivePage]:
    """A page of a run that has ended."""
    with served() as page:
        run(page, scores())
        yield page
