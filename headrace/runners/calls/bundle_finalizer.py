"""Bundle finalizers: functions that are called after the outputs of a bundle have been written."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

_LOG: Final = logging.getLogger(__name__)


class BundleFinalizer:
    """Collects the functions of one step, and calls them when the round is complete.

    It is what a parameter with ``DoFn.BundleFinalizerParam`` receives.
    """

    def __init__(self) -> None:
        self._callbacks: list[Callable[[], object]] = []

    def register(self, callback: Callable[[], object]) -> None:
        """Register a function, which is called once after the outputs of the bundle have been written.

        It may not be called if the run fails or ends first. An error in it is logged.
        """
        self._callbacks.append(callback)

    def finalize_bundle(self) -> None:
        """Call the functions, and forget them."""
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            try:
                callback()
            except Exception:  # the outputs are written, so the run goes on
                _LOG.warning("a function registered with a bundle finalizer failed", exc_info=True)

    def has_callbacks(self) -> bool:
        """Return whether functions are registered."""
        return bool(self._callbacks)

    def reset(self) -> None:
        """Forget all functions."""
        self._callbacks = []
