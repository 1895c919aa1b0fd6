"""Cells of a notebook: a cell that is run again replaces the steps that it added to a pipeline before.

A script has no cells, so there a label that is in use is an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from headrace.sdk.pipelines.graph import Node


@attrs.frozen
class CellRun:
    """A run of a cell.

    Attributes:
        cell: what identifies the cell: its id, if the notebook tells it; otherwise its source.
        number: the number of the run, which grows.
    """

    cell: str
    number: int

    def repeats(self, other: CellRun | None) -> bool:
        """Return whether this is a later run of the same cell.

        >>> CellRun("a", 3).repeats(CellRun("a", 1)), CellRun("a", 3).repeats(CellRun("b", 1))
        (True, False)
        """
        return other is not None and self.cell == other.cell and self.number > other.number


def current_cell() -> CellRun | None:
    """Return the run of the cell that is being run; None outside of IPython.

    >>> current_cell()
    """
    module = sys.modules.get("IPython")
    shell: Any = None if module is None else module.get_ipython()
    if shell is None:
        return None
    found = _cell_id(shell) or _source(shell)
    return CellRun(found, shell.execution_count) if found else None


def _cell_id(shell: object) -> str:
    """Return the id that Jupyter and VS Code give to a cell; an edited cell keeps it."""
    request = shell.get_parent() if hasattr(shell, "get_parent") else {}
    return str((request or {}).get("metadata", {}).get("cellId") or "")


def _source(shell: Any) -> str:
    sources: list[str] = shell.user_ns.get("In", [])
    return sources[-1] if sources else ""


def with_readers(steps: Iterable[str], nodes: Iterable[Node], top: Mapping[str, str]) -> set[str]:
    """Return steps, and all that read from them.

    Args:
        steps: labels of applications at the top level.
        nodes: all nodes, each after those that it reads from.
        top: the label of the application at the top level in which a node is, by the label of the node.
    """
    found = set(steps)
    while True:
        more = {
            top[node.label]
            for node in nodes
            if any(top[source.node] in found for source in node.inputs)
        }
        if more <= found:
            return found
        found |= more


def told(replaced: Iterable[str], lost: Iterable[str]) -> str:
    """Return the message about steps of other cells, which were lost.

    >>> told(["Words"], ["Count", "Show"])
    "this cell was run again, so its step 'Words' is replaced, and what reads it is removed; run again the \
cells that apply 'Count', 'Show'"
    """
    names, others = (", ".join(map(repr, some)) for some in (replaced, lost))
    several = "," in names
    return (
        f"this cell was run again, so its step{'s' if several else ''} {names} "
        f"{'are' if several else 'is'} replaced, and what reads {'them' if several else 'it'} is removed; "
        f"run again the cells that apply {others}"
    )
