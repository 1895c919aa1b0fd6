"""Several graphs as one: the nodes side by side, under labels that begin with the name of their graph."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import attrs

from headrace.sdk.graph import Collection, Graph, Node

T = TypeVar("T")


def merged(graphs: Mapping[str, Graph]) -> Graph:
    """Put graphs together under their names."""
    return Graph(tuple(renamed(node, name) for name, graph in graphs.items() for node in graph))


def renamed(node: Node, name: str) -> Node:
    """The node, and all that it reads and makes, as parts of the graph of a name."""
    return attrs.evolve(
        node,
        label=label(name, node.label),
        inputs=_renamed(node.inputs, name),
        outputs=_renamed(node.outputs, name),
    )


def _renamed(collections: Iterable[Collection], name: str) -> tuple[Collection, ...]:
    return tuple(attrs.evolve(each, node=label(name, each.node)) for each in collections)


def label(name: str, of_node: str) -> str:
    """The label of a node of the graph of a name."""
    return f"{name}:{of_node}"


def part(by_label: Mapping[str, T], name: str) -> dict[str, T]:
    """What is known of the nodes of one of the graphs, by their own labels."""
    prefix = label(name, "")
    return {key[len(prefix) :]: at for key, at in by_label.items() if key.startswith(prefix)}


def replaced(graph: Graph, kind: type[Node], change: Any) -> Graph:
    """The graph with all nodes of a kind changed."""
    return Graph(tuple(change(node) if isinstance(node, kind) else node for node in graph))
