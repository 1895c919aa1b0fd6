"""Which steps of a plan work on the columns of tables, and why others do not.

A source that has tables hands them on if a later step gains from them: a filter, fields that are taken or
computed, or a grouping that combines fields. From the first step that needs elements, elements are made of
the rows.
"""

from __future__ import annotations

from typing import Final

import attrs

from headrace.grouping.facts import Needs, WindowMerging
from headrace.runners.contents.grouping_paths import CAN_BE_TABLES, Collect, Execution
from headrace.runners.plan.planning import KeyedStep, Plan, WorksOn
from headrace.runners.plan.table_fields import table_sources
from headrace.runners.precombine.table_keys import assigns_by_time
from headrace.sdk.elements.record_tables import PairRecords
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.table_form import CALLS_FUNCTION, WITHOUT_NAMES, name_of
from headrace.sdk.elements.taken_fields import TakenFields, TakenValue
from headrace.sdk.pipelines.elementwise import FieldsEach, WhereEach, table_form_of
from headrace.sdk.pipelines.graph import (
    AssignWindows,
    CombinePerKey,
    Flatten,
    GroupByKey,
    Node,
    ParDo,
    Read,
)
from headrace.sdk.sources.source import ReadsTables
from headrace.windowing.window_fn import fact

ON_COLUMNS: Final = "columns"
"""What a step works on that takes tables."""

_GROUPINGS: Final = (CombinePerKey, GroupByKey)


def reads_tables(planned: Plan, read: Read) -> bool:
    """Return whether a source is read as tables, because the next steps work on columns."""
    return planned.works_on.get(read.label) == ON_COLUMNS


def tables_read(planned: Plan) -> frozenset[str]:
    """Return the labels of the sources that are read as tables."""
    return frozenset(
        n.label for n in planned.graph if isinstance(n, Read) and reads_tables(planned, n)
    )


def with_tables(planned: Plan, execution: Execution) -> Plan:
    """Return a plan some of whose steps work on columns, for a runner that reads tables.

    Args:
        planned: the plan.
        execution: where and how it runs.
    """
    kinds = _Kinds(planned, execution)
    for node in planned.graph:
        kinds.add(node)
    found = kinds.useful()
    steps = {
        label: attrs.evolve(step, tables=True)
        if isinstance(step, KeyedStep) and found.get(label) == ON_COLUMNS
        else step
        for label, step in planned.steps.items()
    }
    on_columns = {label for label, on in found.items() if on == ON_COLUMNS}
    sources = table_sources(planned.graph, on_columns)
    return attrs.evolve(planned, steps=steps, works_on=found, table_sources=sources)


@attrs.define(eq=False)
class _Kinds:
    """The collections that can be tables, with the kind of their elements: a type, or ``PairRecords``."""

    planned: Plan
    execution: Execution
    _of: dict[tuple[str, str], type] = attrs.field(factory=dict, init=False)
    _found: dict[str, str] = attrs.field(factory=dict, init=False)

    def add(self, node: Node) -> None:
        """Note whether a node works on columns, after those that it reads from."""
        kind = self._kind_before(node)
        if kind is None and not isinstance(node, Read):
            if _has_expression(node):
                self._found[node.label] = "columns that are made of the elements of each bundle"
            return
        made = self._made(node, kind)
        if isinstance(made, str):
            self._found[node.label] = f"elements, because {made}"
        elif made is not None:
            self._found[node.label] = ON_COLUMNS
            if not isinstance(node, _GROUPINGS):  # panes are elements
                self._of[node.outputs[0].id] = made

    def _kind_before(self, node: Node) -> type | None:
        """Return the kind of the elements of a node's input; None if they are not those of tables."""
        kinds = {self._of.get(each.id) for each in node.inputs}
        alike = len(kinds) == 1 or not isinstance(node, Flatten)
        return self._of.get(node.inputs[0].id) if node.inputs and alike else None

    def _made(self, node: Node, kind: type | None) -> type | str | None:
        """Return the kind of the elements of a node's output, or why it takes elements."""
        match node:
            case Read(source=source):
                readers = self.planned.graph.consumers(node.outputs[0])
                return _of_source(source, any(map(self._wants_fields, readers)))
            case ParDo():
                return _of_pardo(node, kind)
            case AssignWindows():
                windows = repr(node.outputs[0].windowing.window_fn)
                return kind if reassigns_by_time(node) else f"{windows} needs them one by one"
            case Flatten():
                return kind
            case CombinePerKey() | GroupByKey():
                return self._against(node, kind) or PairRecords
        return "it takes elements"

    def _wants_fields(self, node: Node) -> bool:
        """Return whether a step has an expression, or takes values of pairs for a step that has one."""
        if _has_expression(node) or not _takes_value(node):
            return _has_expression(node)
        return any(map(_has_expression, self.planned.graph.consumers(node.outputs[0])))

    def _against(self, node: Node, kind: type | None) -> str:
        """Return why a grouping cannot collect columns."""
        if kind is not PairRecords:
            return "its keys and values are not fields of a row"
        step = self.planned.steps[node.label]
        assert isinstance(step, KeyedStep)
        collect = step.path(self.execution).collect
        if collect is Collect.VALUES and step.facts.windows is not WindowMerging.ALIGNED:
            return "its windows merge after its input is collected"
        if collect in CAN_BE_TABLES:
            return ""
        if step.facts.needs is Needs.VALUES:
            return "its late output has elements"
        return f"it needs {step.facts.needs.value} of its input"

    def useful(self) -> WorksOn:
        """Return what steps work on; not on columns, if no later step gains from them."""
        graph, gains = self.planned.graph, set[str]()
        for node in reversed(graph.nodes):
            readers = (reader for out in node.outputs for reader in graph.consumers(out))
            gain = _gains(node) or any(reader.label in gains for reader in readers)
            if gain and self._found.get(node.label) == ON_COLUMNS:
                gains.add(node.label)
        without = "elements, because no later step gains from columns"
        return {
            label: without if found == ON_COLUMNS and label not in gains else found
            for label, found in self._found.items()
        }


def reassigns_by_time(node: AssignWindows) -> bool:
    """Return whether the windows of whole tables are found by time, and elements had one window before."""
    (before,), (after,) = node.inputs, node.outputs
    return assigns_by_time(after.windowing.window_fn) and bool(
        fact(before.windowing.window_fn, "single")
    )


def _gains(node: Node) -> bool:
    """Return whether a step itself is faster on columns, or needs only some of them."""
    takes = isinstance(node, ParDo) and isinstance(table_form_of(node.fn), TakenFields)
    return takes or _has_expression(node) or isinstance(node, _GROUPINGS)


def _has_expression(node: Node) -> bool:
    return isinstance(node, ParDo) and isinstance(node.fn, (WhereEach, FieldsEach))


def _takes_value(node: Node) -> bool:
    return isinstance(node, ParDo) and isinstance(table_form_of(node.fn), TakenValue)


def _of_source(source: object, are_wanted: bool) -> type | str | None:
    """Return the kind of the elements of a source's tables; if it has none but they are wanted, why."""
    if not isinstance(source, ReadsTables):
        return None
    kind: type | None = getattr(source.records, "kind", None)
    why = source.why_elements if are_wanted else ""
    return kind or why or None


def _of_pardo(node: ParDo, kind: type | None) -> type | str | None:
    """Return the kind of the outputs of a step, or why it takes elements."""
    if _has_expression(node):
        if kind is None or issubclass(kind, WITHOUT_NAMES):
            return f"its input is {name_of(kind)}, which have no named fields"
        return kind if isinstance(node.fn, WhereEach) else Row
    form = table_form_of(node.fn)
    return CALLS_FUNCTION if form is None else form.made_of(kind)
