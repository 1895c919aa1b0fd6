"""Merges graphs into one: their nodes side by side, with labels that are prefixed with the graph's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import attrs

from headrace.sdk.pipelines.graph import Collection, Graph, Node

T = TypeVar("T")


def merge_graphs(graphs: Mapping[str, Graph]) -> Graph:
    """Merge graphs, by name."""
    return Graph(tuple(prefixed(node, name) for name, graph in graphs.items() for node in graph))


def prefixed(node: Node, name: str) -> Node:
    """A copy of the node with a prefix in its label and in those of its inputs and outputs."""
    return attrs.evolve(
        node,
        label=prefixed_label(name, node.label),
        inputs=_prefixed(node.inputs, name),
        outputs=_prefixed(node.outputs, name),
    )


def _prefixed(collections: Iterable[Collection], name: str) -> tuple[Collection, ...]:
    return tuple(attrs.evolve(each, node=prefixed_label(name, each.node)) for each in collections)


def prefixed_label(name: str, label: str) -> str:
    """The label, in the merged graph, of a node of the graph with this name."""
    return f"{name}:{label}"


def select_graph(by_label: Mapping[str, T], name: str) -> dict[str, T]:
    """The entries of one of the merged graphs, by their labels without the prefix."""
    prefix = prefixed_label(name, "")
    return {key[len(prefix) :]: at for key, at in by_label.items() if key.startswith(prefix)}


def map_nodes(graph: Graph, kind: type[Node], change: Any) -> Graph:
    """A copy of the graph with all nodes of a kind changed."""
    return Graph(tuple(change(node) if isinstance(node, kind) else node for node in graph))
