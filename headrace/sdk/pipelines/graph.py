"""The graph of a pipeline: frozen nodes of a few kinds, and the collections between them.

A pipeline is a tuple of nodes in the order in which they were applied, so each node comes after its inputs. A
runner is a table from the kind of a node to a function.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import attrs

from headrace.sdk.elements.type_variables import UNKNOWN_TYPE, TypeHint
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.watermarks.policies import WatermarkPolicy

if TYPE_CHECKING:  # a graph names the types of what it holds, and imports none of their modules
    from headrace.sdk.groups.combine_fn import CombineFn
    from headrace.sdk.pardo.dofn import DoFn
    from headrace.sdk.pardo.side_inputs import View
    from headrace.sdk.pardo.stateful_dofn import Stateful
    from headrace.sdk.pipelines.elementwise import Elementwise
    from headrace.sdk.sources.delivery import Delivery
    from headrace.sdk.sources.scripted_stream import TestStream
    from headrace.sdk.sources.sink import Sink
    from headrace.sdk.sources.source import BoundedSource, UnboundedSource

Source: TypeAlias = "BoundedSource[object] | UnboundedSource[object] | TestStream"
"""What a Read reads."""

MAIN = "main"
"""The tag of a transform's main output."""


@attrs.frozen
class Collection:
    """A collection in the graph.

    Attributes:
        node: full label of the node that produces it.
        tag: tag of the node's output.
        windowing: windowing strategy of its next grouping.
        bounded: whether it is bounded.
        changing: whether it can contain retractions.
        accumulated: whether it can contain accumulating panes, which repeat earlier results.
        retraction_lateness: allowed lateness, in microseconds, of the groupings whose retractions it can
            contain; a grouping with a smaller lateness could drop a retraction without its replacement.
        element_type: the known type of its elements; ``typing.Any`` if unknown.
    """

    node: str
    tag: str
    windowing: WindowingStrategy
    bounded: bool
    changing: bool = False
    accumulated: bool = False
    retraction_lateness: int = 0
    element_type: TypeHint = UNKNOWN_TYPE

    @property
    def id(self) -> tuple[str, str]:
        """The identity of the collection in its graph."""
        return self.node, self.tag


@attrs.frozen
class Node:
    """A step of the graph: inputs, outputs by tag, and the full label, which is its name.

    The subclasses are the kinds of nodes.
    """

    label: str
    inputs: tuple[Collection, ...]
    outputs: tuple[Collection, ...]

    @property
    def main_inputs(self) -> int | None:
        """How many inputs, from the first, determine the watermark; None for all."""
        return None


@attrs.frozen
class Read(Node):
    """Elements from outside: a bounded or unbounded source, or a test stream."""

    source: Source
    watermark: WatermarkPolicy | None = None
    """The watermark policy in streaming mode."""


@attrs.frozen
class ParDo(Node):
    """A function or DoFn for each element; ``fn`` is one of :mod:`headrace.sdk.pipelines.elementwise`."""

    fn: Elementwise
    any_tag: bool = False
    """Whether outputs with a tag that is not declared are dropped; otherwise they are an error."""


@attrs.frozen
class StatefulParDo(Node):
    """A stateful DoFn for each pair, with states and timers per key and window.

    The inputs after the first are the panes of side inputs, as in :class:`ParDoWithSideInputs`.
    """

    dofn: DoFn
    declared: Stateful
    """Its states and timers (:class:`headrace.sdk.pardo.stateful_dofn.Stateful`)."""
    args: tuple[object, ...] = ()
    """Additional arguments of ``process``, with a placeholder for each side input."""
    kwargs: Mapping[str, object] = attrs.field(factory=dict)
    views: tuple[View, ...] = ()
    """How the values of each side input become an argument (:mod:`headrace.sdk.pardo.side_inputs`)."""
    names: tuple[str, ...] = ()
    """The name of each side input, for errors."""
    any_tag: bool = False

    @property
    def main_inputs(self) -> int:
        """Only the first: side inputs hold back only the elements that wait for them."""
        return 1


@attrs.frozen
class SplittableParDo(StatefulParDo):
    """A splittable DoFn for each restriction: ``(key, (element, restriction, state of the estimator))``.

    It declares no states and no timers. The values of side inputs come with each restriction, after the state
    of the estimator.
    """

    unbounded: bool = False
    """Whether the work for an element may have no end."""


@attrs.frozen
class ParDoWithSideInputs(Node):
    """A function or DoFn for each element of the first input, with the panes of the others as arguments."""

    fn: Elementwise
    """One of :mod:`headrace.sdk.pipelines.elementwise`, with a placeholder for each side input."""
    views: tuple[View, ...]
    """How the values of each side input become an argument (:mod:`headrace.sdk.pardo.side_inputs`)."""
    names: tuple[str, ...]
    """The name of each side input, for errors."""
    any_tag: bool = False

    @property
    def main_inputs(self) -> int:
        """Only the first: side inputs hold back only the elements that wait for them."""
        return 1


@attrs.frozen
class AssignWindows(Node):
    """The window function of the output's strategy, applied to each element."""


@attrs.frozen
class GroupByKey(Node):
    """Groups pairs into (key, list of values) per window; can have an output for late elements."""


@attrs.frozen
class CombinePerKey(Node):
    """Combines pairs into (key, combined value) per window; can have an output for late elements."""

    combine_fn: CombineFn


@attrs.frozen
class Flatten(Node):
    """Merges several collections."""


@attrs.frozen
class Reshuffle(Node):
    """Redistributes elements over the workers."""


@attrs.frozen
class Write(Node):
    """Writes elements to a sink, with their batch number."""

    sink: Sink
    delivery: Delivery
    """How often elements are written if a run fails and resumes."""


@attrs.frozen
class Graph:
    """All nodes of a pipeline, each after its inputs."""

    nodes: tuple[Node, ...] = ()

    def __iter__(self) -> Iterator[Node]:
        """Iterate over the nodes, inputs first."""
        return iter(self.nodes)

    def node(self, label: str) -> Node:
        """Return a node by its label."""
        return self._by_label[label]

    def consumers(self, collection: Collection) -> Sequence[Node]:
        """Return the nodes that read a collection."""
        return self._consumers.get(collection.id, ())

    @cached_property
    def _by_label(self) -> Mapping[str, Node]:
        return {node.label: node for node in self.nodes}

    @cached_property
    def _consumers(self) -> Mapping[tuple[str, str], Sequence[Node]]:
        """The nodes that read a collection, by its identity."""
        found: dict[tuple[str, str], list[Node]] = {}
        for node in self.nodes:
            for read in {collection.id for collection in node.inputs}:
                found.setdefault(read, []).append(node)
        return found

    def upstream(self, label: str, *, until: tuple[type[Node], ...] = ()) -> Iterator[Node]:
        """Iterate over a node and all nodes that it depends on.

        Args:
            label: label of the node.
            until: kinds of nodes that are left out, with what only they depend on.
        """
        found, rest = set[str](), [label]
        while rest:
            node = self.node(rest.pop())
            if node.label not in found and not isinstance(node, until):
                found.add(node.label)
                yield node
                rest += [collection.node for collection in node.inputs]

    def reads_before(self, label: str) -> Iterator[Read]:
        """Iterate over the reads before a node, and the node if it is one, up to the groupings before it."""
        before = self.upstream(label, until=(GroupByKey, CombinePerKey))
        return (node for node in before if isinstance(node, Read))
