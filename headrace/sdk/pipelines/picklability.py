"""Checks that the functions of a pipeline can be pickled, before any data flows.

A runner with separate workers (one whose ``ships_functions`` is true) sends them the contents of the nodes:
DoFns, combine functions, sources, sinks, window functions, predicates. An object that cannot be pickled, such
as a lambda that uses an open file, would fail far from its definition; so each node is checked separately.
"""

from __future__ import annotations

import sys
from io import BytesIO, TextIOWrapper
from typing import Any

import attrs

from headrace.errors import PipelineError, require_extra, shorten
from headrace.sdk.pipelines.graph import Graph, Node
from headrace.sdk.pipelines.pvalue import PCollection


def check_picklable(graph: Graph) -> None:
    """Check that the functions of a graph can be pickled.

    Args:
        graph: the graph.

    Raises:
        PipelineError: a node cannot be pickled, or cloudpickle is not installed.
    """
    use = "functions are sent to workers with cloudpickle"
    pickler = require_extra("cloudpickle", "spark", use)
    refusing = _refusing_files(pickler.Pickler)
    for node in graph:
        _check_node(node, refusing)


def _refusing_files(pickler: Any) -> object:
    """Return a pickler that refuses open files; cloudpickle would send their contents."""

    class Refusing(pickler):  # type: ignore[misc]  # its class is not known
        def reducer_override(self, obj: object) -> object:
            standard = sys.stdin, sys.stdout, sys.stderr
            if isinstance(obj, TextIOWrapper) and not any(obj is stream for stream in standard):
                raise TypeError(f"cannot pickle the open file {obj.name!r}")
            if isinstance(obj, PCollection):
                raise TypeError(f"cannot pickle {shorten(obj)}, which has no elements on a worker")
            return super().reducer_override(obj)

    return Refusing


def _check_node(node: Node, pickler: Any) -> None:
    own = {f.name: getattr(node, f.name) for f in attrs.fields(type(node)) if f.name != "inputs"}
    try:
        pickler(BytesIO()).dump(own)
    except Exception as error:
        raise PipelineError(
            f"the transform cannot be sent to workers: {error}",
            where=node.label,
            remedy="create files, locks, connections and the like in DoFn.setup, on the worker, and do not "
            "refer to them in functions",
        ) from error
