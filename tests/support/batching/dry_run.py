"""A nested pytest session that runs tests on Spark with the local runner, to collect their pipelines."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.batching.batches import BATCHES, Batches

OPTIONS = (
    *("-p", "no:terminal", "-p", "no:cacheprovider", "-p", "no:xdist", "-p", "no:faulthandler"),
    *("-W", "ignore"),
)
"""The dry run prints nothing: failures and warnings are reported when the test runs for real."""


def dry_run(items: Sequence[pytest.Item], batches: Batches) -> None:
    """Run tests in a nested session; their pipelines go to the batches.

    Args:
        items: the tests, of one session.
        batches: collects the pipelines.

    Raises:
        RuntimeError: the nested session did not run the tests.
    """
    config = items[0].config
    files = dict.fromkeys(str(item.path) for item in items)
    selection = Selection([item.nodeid for item in items], batches)
    options = (*OPTIONS, f"--rootdir={config.rootpath}")
    code = pytest.main([*options, *files], plugins=[selection])
    if code == pytest.ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        raise RuntimeError(f"the dry run of {len(items)} tests ended with {code!r}")


class Selection:
    """A plugin that selects tests by id, and gives the nested session its batches."""

    def __init__(self, test_ids: Sequence[str], batches: Batches) -> None:
        self._test_ids, self._batches = frozenset(test_ids), batches

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[BATCHES] = self._batches

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = [item for item in items if item.nodeid in self._test_ids]
