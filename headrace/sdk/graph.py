"""The graph of a pipeline: frozen nodes of few kinds, and the collections between them.

A pipeline is a tuple of nodes in the order in which they were applied, so every node comes after those
that it reads from. A runner is a table from node kind to function.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import attrs

from headrace.triggers.strategy import WindowingStrategy

MAIN = "main"
"""The tag of a transform's main output."""


@attrs.frozen
class Collection:
    """A collection of the graph.

    Attributes:
        node: full label of the node that makes it.
        tag: which of the node's outputs it is.
        windowing: how its next grouping works.
        bounded: whether it ends.
        changing: whether it can hold retractions.
        accumulated: whether it can hold panes that repeat what earlier panes of their window said.
        retraction_lateness: allowed lateness, in microseconds, of the groupings whose retractions it can
            hold; a grouping that allows less could drop a retraction apart from its replacement.
        element_type: what is known of its elements' type, ``typing.Any`` if nothing.
    """

    node: str
    tag: str
    windowing: WindowingStrategy
    bounded: bool
    changing: bool = False
    accumulated: bool = False
    retraction_lateness: int = 0
    element_type: Any = Any

    @property
    def id(self) -> tuple[str, str]:
        """What tells the collection from all others of its graph."""
        return self.node, self.tag


@attrs.frozen
class Node:
    """A step of the graph: inputs, outputs by tag, and the full label, which is its name.

    Subclasses are the kinds; there are no others.
    """

    label: str
    inputs: tuple[Collection, ...]
    outputs: tuple[Collection, ...]


@attrs.frozen
class Read(Node):
    """Elements from outside: a bounded or unbounded source, or a script of a test stream."""

    source: Any
    watermark: Any = None
    """The watermark policy, for sources that run in streaming mode."""


@attrs.frozen
class ParDo(Node):
    """A function or DoFn on every element; ``fn`` is one of :mod:`headrace.sdk.elementwise`."""

    fn: Any


@attrs.frozen
class AssignWindows(Node):
    """The window function of the output's strategy on every element."""


@attrs.frozen
class GroupByKey(Node):
    """Pairs into (key, list of values) per window; an output tagged late may exist beside the main one."""


@attrs.frozen
class CombinePerKey(Node):
    """Pairs into (key, combined value) per window; an output tagged late may exist beside the main one."""

    combine_fn: Any


@attrs.frozen
class Flatten(Node):
    """Several collections as one."""


@attrs.frozen
class Reshuffle(Node):
    """The same elements, spread anew over the workers."""


@attrs.frozen
class Write(Node):
    """Elements to the outside, with their batch id."""

    sink: Any


@attrs.frozen
class Graph:
    """All nodes of a pipeline, each after those that it reads from."""

    nodes: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """Iterate in an order in which inputs come first."""
        return iter(self.nodes)

    def consumers(self, collection: Collection) -> list[Node]:
        """Return the nodes that read a collection."""
        return [n for n in self.nodes if any(c.id == collection.id for c in n.inputs)]
