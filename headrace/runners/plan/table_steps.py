"""Which steps of a plan work on the columns of tables, and why others do not.

A source that has tables hands them on if a later step gains from them: a filter, fields that are computed, or a
grouping that combines fields. From the first step that needs elements, elements are made of the rows.
"""

from __future__ import annotations

from typing import Final

import attrs

from headrace.grouping.facts import Needs
from headrace.runners.contents.grouping_paths import CAN_BE_TABLES, Execution
from headrace.runners.plan.planning import KeyedStep, Plan, Reasons
from headrace.runners.precombine.table_keys import assigns_by_time
from headrace.sdk.elements.record_tables import PairRecords
from headrace.sdk.elements.row import Row
from headrace.sdk.pardo.taken_fields import taken_fields
from headrace.sdk.pipelines.elementwise import FieldsEach, MapEach, WhereEach
from headrace.sdk.pipelines.graph import (
    AssignWindows,
    CombinePerKey,
    Graph,
    GroupByKey,
    Node,
    ParDo,
    Read,
)
from headrace.sdk.sources.source import ReadsTables
from headrace.windowing.window_fn import fact

ON_COLUMNS: Final = ""
"""The reason of a step that works on columns: there is none against it."""


def with_tables(planned: Plan, execution: Execution) -> Plan:
    """Return a plan some of whose steps work on columns, for a runner that reads tables.

    Args:
        planned: the plan.
        execution: where and how it runs.
    """
    kinds = _Kinds(planned, execution)
    for node in planned.graph:
        kinds.add(node)
    reasons = kinds.reasons()
    steps = {
        label: attrs.evolve(step, tables=True)
        if isinstance(step, KeyedStep) and reasons.get(label) == ON_COLUMNS
        else step
        for label, step in planned.steps.items()
    }
    return attrs.evolve(planned, steps=steps, tables=reasons)


@attrs.define(eq=False)
class _Kinds:
    """The collections that can be tables, with the kind of their elements: a type, or ``PairRecords``."""

    planned: Plan
    execution: Execution
    _of: dict[tuple[str, str], type] = attrs.field(factory=dict, init=False)
    _reasons: dict[str, str] = attrs.field(factory=dict, init=False)

    def add(self, node: Node) -> None:
        """Note whether a node works on columns, after those that it reads from."""
        kind = self._of.get(node.inputs[0].id) if node.inputs else None
        if kind is None and not isinstance(node, Read):
            if _has_expression(node):
                self._reasons[node.label] = "its input is elements; each bundle becomes a table"
            return
        made = self._made(node, kind)
        if isinstance(made, str):
            self._reasons[node.label] = made
        elif made is not None:
            self._reasons[node.label] = ON_COLUMNS
            self._of[node.outputs[0].id] = made

    def _made(self, node: Node, kind: type | None) -> type | str | None:
        """Return the kind of the elements of a node's output, or why it takes elements."""
        match node:
            case Read(source=source):
                records = source.records if isinstance(source, ReadsTables) else None
                return None if records is None else getattr(records, "kind", None)
            case ParDo(fn=WhereEach()):
                return kind
            case ParDo(fn=FieldsEach()):
                return Row
            case ParDo():
                return _taken(node, kind)
            case AssignWindows():
                windows = repr(node.outputs[0].windowing.window_fn)
                return kind if reassigns_by_time(node) else f"{windows} assigns them to elements"
            case CombinePerKey() if kind is not PairRecords:
                return "its keys and values are not fields of a row"
            case CombinePerKey():
                return self._against(node) or PairRecords
            case GroupByKey():
                return "it lists whole values"
        return "it takes elements"

    def _against(self, node: Node) -> str:
        """Return why a grouping cannot collect columns."""
        step = self.planned.steps[node.label]
        assert isinstance(step, KeyedStep)
        if step.path(self.execution).collect in CAN_BE_TABLES:
            return ON_COLUMNS
        if step.facts.needs is not Needs.VALUES or step.facts.late_output:
            return f"it needs {step.facts.needs.value} of its input"
        return "its windows merge"

    def reasons(self) -> Reasons:
        """Return the reasons of all steps; a step from whose columns no later step gains has one."""
        graph, gains = self.planned.graph, set[str]()
        for node in reversed(graph.nodes):
            readers = (reader for out in node.outputs for reader in graph.consumers(out))
            gain = _has_expression(node) or isinstance(node, CombinePerKey)
            gain = gain or any(reader.label in gains for reader in readers)
            if gain and self._reasons.get(node.label) == ON_COLUMNS:
                gains.add(node.label)
        return {
            label: reason if label in gains else reason or "no later step gains from columns"
            for label, reason in self._reasons.items()
        }


def reassigns_by_time(node: AssignWindows) -> bool:
    """Return whether the windows of whole tables are found by time, and elements had one window before."""
    (before,), (after,) = node.inputs, node.outputs
    return assigns_by_time(after.windowing.window_fn) and bool(
        fact(before.windowing.window_fn, "single")
    )


def _has_expression(node: Node) -> bool:
    return isinstance(node, ParDo) and isinstance(node.fn, (WhereEach, FieldsEach))


def _taken(node: ParDo, kind: type | None) -> type | str:
    """Return the kind of what a function of fields makes, or why it takes elements."""
    taken = taken_fields(node.fn.function) if isinstance(node.fn, MapEach) else None
    if taken is None:
        return "it calls a function of an element"
    if taken.of is not kind:
        return f"its function takes fields of {taken.of.__name__}, not of {_name(kind)}"
    return getattr(taken.records, "kind", PairRecords)


def _name(kind: type | None) -> str:
    return "pairs" if kind is None or kind is PairRecords else kind.__name__
