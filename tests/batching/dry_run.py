"""All tests of a runner, once, only to see their pipelines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pytest
from _pytest.runner import runtestprotocol


def dry_run(items: Sequence[pytest.Item], then: pytest.Item) -> None:
    """Run tests without a word about how they end.

    Args:
        items: the tests.
        then: the test that runs next, so that what it shares with the last of them stays set up.
    """
    then.session._setupstate.teardown_exact(items[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they are told when the test runs for real
        for item, following in zip(items, [*items[1:], then], strict=True):
            runtestprotocol(item, log=False, nextitem=following)
            item._report_sections.clear()
