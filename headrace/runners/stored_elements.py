"""Checks in memory of what a cluster would write: the local runner sends and keeps elements as they are.

So a pipeline whose coders are wrong, or that needs pickle with ``--no-pickle``, fails here, too.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from typing import Final

import attrs

from headrace.runners.error_context import label_errors
from headrace.runners.stored_types import STORING
from headrace.sdk.graph import Node
from headrace.sdk.serialization.data import dumps_by_name
from headrace.sdk.serialization.registered import has_coders
from headrace.sdk.serialization.stable import without_pickle
from headrace.triggers.bundle import Bundle

FIRST: Final = 100
"""Number of elements of a node that are written to check their coders."""

Receive = Callable[[Bundle], None]


def checked(node: Node, receive: Receive, no_pickle: bool) -> Receive:
    """Return what takes the bundles of an input of a node, and checks them if there is something to check."""
    if isinstance(node, STORING) and (no_pickle or has_coders()):
        return partial(_StoredElements(node.label, no_pickle).take, receive)
    return receive


@attrs.define(eq=False)
class _StoredElements:
    """The elements of a node: with ``--no-pickle`` all of them are written, else the first."""

    label: str
    no_pickle: bool
    _left: int = FIRST

    def take(self, receive: Receive, bundle: Bundle) -> None:
        """Check a bundle, and pass it on."""
        if self._left:
            values = bundle.values if self.no_pickle else bundle.values[: self._left]
            self._left -= 0 if self.no_pickle else len(values)
            with label_errors(self.label):
                self._write(values)
        receive(bundle)

    def _write(self, values: list[object]) -> None:
        with without_pickle() if self.no_pickle else nullcontext():
            dumps_by_name(values)
