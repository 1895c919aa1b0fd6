"""Checks that the functions of a pipeline can be pickled, before any data flows.

A runner with separate workers (one whose ``ships_functions`` is true) sends them the contents of the nodes:
DoFns, combine functions, sources, sinks, window functions, predicates. An object that cannot be pickled, such
as a lambda that uses an open file, would fail far from its definition; so each node is checked separately.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.graph import Graph, Node


def check_picklable(graph: Graph) -> None:
    """Check that the functions of a graph can be pickled.

    Args:
        graph: the graph.

    Raises:
        PipelineError: a node cannot be pickled, or cloudpickle is not installed.
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
            f"the transform cannot be sent to workers: {error}",
            where=node.label,
            remedy="create files, locks, connections and the like in DoFn.setup, on the worker, and do not "
            "refer to them in functions",
        ) from error
