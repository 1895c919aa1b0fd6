"""The base class of operators: nodes at work in one process."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import TypeAlias

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.metrics.cells import MetricsContainer
from headrace.sdk.pipelines.graph import MAIN, Collection, Node
from headrace.triggers.trigger import NEVER, Clock

Send: TypeAlias = Callable[[Collection, Bundle], None]
"""Passes a bundle to all operators that read a collection."""


def send_outputs(node: Node, made: Mapping[str, Bundle], send: Send) -> None:
    """Send the outputs of a node that were made, by tag.

    Raises:
        ElementError: an output has a tag that is not declared.
    """
    outputs = [output for output in node.outputs if output.tag in made]
    if len(outputs) < len(made):
        refuse_tags(node, made)
    for output in outputs:
        send(output, made[output.tag])


def refuse_tags(node: Node, made: Mapping[str, Bundle]) -> None:
    """Refuse outputs with a tag that is not declared, unless the node has outputs for any tag.

    Raises:
        ElementError: there is one.
    """
    declared = [output.tag for output in node.outputs]
    others = [tag for tag in made if tag not in declared]
    if not others or getattr(node, "any_tag", False):
        return
    tag, known = others[0], [repr(tag) for tag in declared if tag != MAIN]
    near = get_close_matches(tag, declared, 1)
    value = shorten(made[tag].values[0])
    there = f"the declared tags are {', '.join(known)}" if known else "no tag is declared"
    raise ElementError(
        f"the value {value} has the output tag {tag!r}, which is not declared; {there}",
        where=node.label,
        remedy=f"write TaggedOutput({near[0]!r}, value)"
        if near
        else f"declare it: .with_outputs({', '.join([*known, repr(tag)])}), or with_outputs() for any tags",
    )


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

    def note_drain(self, draining: bool) -> None:
        """Take whether the run is drained, before the round ends: then only work with an end goes on."""

    @property
    def resumes_at(self) -> int:
        """The processing time at which a restriction goes on, in microseconds; NEVER if all have ended."""
        return NEVER

    def finalize(self) -> None:
        """Take note that the outputs of the rounds so far have been written."""

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
