"""The base class of operators: nodes at work in one process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from headrace.sdk.graph import Collection, Node
from headrace.sdk.metrics import MetricsContainer
from headrace.triggers.bundle import Bundle
from headrace.triggers.trigger import Clock

Send: TypeAlias = Callable[[Collection, Bundle], None]
"""Passes a bundle to all operators that read a collection."""


def send_outputs(node: Node, made: Mapping[str, Bundle], send: Send) -> None:
    """Send the outputs of a node that were made, by tag."""
    for output in node.outputs:
        if output.tag in made:
            send(output, made[output.tag])


class Operator:
    """A node at work; most nodes need only :meth:`push`."""

    @abstractmethod
    def push(self, bundle: Bundle) -> None:
        """Take a bundle."""

    def receiver(self, number: int) -> Callable[[Bundle], None]:
        """Return what takes the bundles of an input; most operators treat all inputs alike.

        Args:
            number: number of the input.
        """
        return self.push

    @property
    def state_size(self) -> int | None:
        """The number of stored states; None if the operator has no state."""
        return None

    def note_watermarks(self, watermarks: Sequence[int]) -> None:
        """Take the watermark of each input, before the round ends."""

    def end_round(self, clock: Clock) -> int:
        """Take the input watermark and the clock, and return the output watermark."""
        return clock.watermark

    def open(self) -> None:
        """Prepare; called once before the first bundle."""

    def finish(self) -> None:
        """Complete external effects; called once, after a run that did not fail."""

    def release(self) -> None:
        """Release resources; called once after every run, even if it failed."""

    @property
    def counted(self) -> MetricsContainer:
        """The metrics that the user's functions recorded."""
        return MetricsContainer()
