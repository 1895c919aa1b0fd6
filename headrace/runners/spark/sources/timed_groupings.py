"""Which groupings know the watermark where their input is collected (see ``watermarks_before``)."""

from __future__ import annotations

import attrs

from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import KeyedStep, Plan, StepWithState
from headrace.runners.spark.sources.native import native_labels
from headrace.sdk.pipelines.graph import Read


def with_timed_groupings(planned: Plan) -> Plan:
    """Return a plan whose groupings know the sources by whose watermarks elements are late, if they can."""
    natives = {*native_labels(planned)}

    def timed(label: str, step: StepWithState) -> StepWithState:
        if not isinstance(step, KeyedStep) or planned.depths[label] != 1:
            return step
        reads = {node.label for node in planned.graph.upstream(label) if isinstance(node, Read)}
        return step if reads & natives else attrs.evolve(step, timed_by=tuple(sorted(reads)))

    steps = {label: timed(label, step) for label, step in planned.steps.items()}
    return attrs.evolve(planned, steps=steps)


def untimed(step: KeyedStep) -> KeyedStep:
    """Return a step that does not know which elements are late.

    It takes elements if it collects them in another way; if its source reads tables, they are made of rows.
    """
    found = attrs.evolve(step, timed_by=())
    alike = found.path(Execution.SHUFFLED) == step.path(Execution.SHUFFLED)
    return attrs.evolve(found, tables=step.tables and alike)
