"""Checks in memory of what a cluster would write: the local runner sends and keeps elements as they are.

So a pipeline whose coders are wrong, or that needs pickle with ``--no-pickle``, fails here, too. In a test
all elements are written, so that one that cannot be pickled is found.
"""

from __future__ import annotations

from functools import partial
from typing import Final

import attrs

from headrace.grouping.bundle import Bundle
from headrace.runners.checks.stored_types import STORING
from headrace.runners.checks.stored_values import check_stored
from headrace.runners.engine.executor import Receive
from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan
from headrace.sdk.coders.stored.registered import has_coders
from headrace.sdk.pipelines.graph import CombinePerKey, Node, ParDoWithSideInputs

CHECKED_ELEMENTS: Final = 100
"""Number of elements of a node that are written to check their coders."""


def checked(node: Node, number: int, receive: Receive, planned: Plan, batch: bool) -> Receive:
    """Return what takes the bundles of an input of a node, and checks them if there is something to check.

    Args:
        node: the node.
        number: the number of the input.
        receive: takes the bundles.
        planned: the plan, which says what is checked.
        batch: whether the pipeline runs in batch mode.
    """
    if not isinstance(node, STORING):
        return receive
    whole = planned.no_pickle or has_coders()
    if planned.check_mutation and not (batch and _stays(node, number)):
        keys_only = isinstance(node, CombinePerKey) and not whole
        return partial(_take_all, node.label, planned.no_pickle, keys_only, receive)
    if whole:
        return partial(_StoredElements(node.label, planned.no_pickle).take, receive)
    return receive


def _stays(node: Node, number: int) -> bool:
    """Return whether the elements of an input stay on their worker in a batch, to which side inputs come."""
    return isinstance(node, ParDoWithSideInputs) and number == 0


def _take_all(
    label: str, no_pickle: bool, keys_only: bool, receive: Receive, bundle: Bundle
) -> None:
    """Check all elements of a bundle, and pass it on; of combined elements only accumulators are sent."""
    values = bundle.values
    with label_errors(label):
        check_stored(_keys(values) if keys_only else values, no_pickle)
    receive(bundle)


def _keys(values: list[object]) -> list[object]:
    return [value[0] for value in values if isinstance(value, tuple)]


@attrs.define(eq=False)
class _StoredElements:
    """The elements of a node: with ``--no-pickle`` all of them are written, else the first."""

    label: str
    no_pickle: bool
    _left: int = CHECKED_ELEMENTS

    def take(self, receive: Receive, bundle: Bundle) -> None:
        """Check a bundle, and pass it on."""
        if self._left:
            values = bundle.values if self.no_pickle else bundle.values[: self._left]
            self._left -= 0 if self.no_pickle else len(values)
            with label_errors(self.label):
                check_stored(values, self.no_pickle)
        receive(bundle)
