"""Whether the functions of a pipeline can travel to other processes, told before any data flows.

A runner with workers of its own (one whose ``ships_functions`` is true) sends them what the nodes hold:
DoFns, combine functions, sources, sinks, window functions, predicates. What cannot be pickled, such as a
lambda over an open file, would fail far from the line that wrote it; so each node is tried by itself.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.graph import Graph, Node


def check_shippable(graph: Graph) -> None:
    """Refuse a pipeline whose functions cannot travel to workers.

    Args:
        graph: what is to run.

    Raises:
        PipelineError: a node holds something that cannot be pickled, or there is no cloudpickle.
    """
    try:
        pickler = import_module("cloudpickle")
    except ImportError as error:
        raise PipelineError(
            "functions are sent to workers with cloudpickle, which is not installed",
            remedy="pip install 'headrace[spark]'",
        ) from error
    for node in graph:
        _check_node(node, pickler)


def _check_node(node: Node, pickler: Any) -> None:
    own = {f.name: getattr(node, f.name) for f in attrs.fields(type(node)) if f.name != "inputs"}
    try:
        pickler.dumps(own)
    except Exception as error:
        raise PipelineError(
            f"what this transform holds cannot be sent to workers: {error}",
            where=node.label,
            remedy="open files, locks, connections and the like in DoFn.setup, on the worker, "
            "and let no function refer to them",
        ) from error
