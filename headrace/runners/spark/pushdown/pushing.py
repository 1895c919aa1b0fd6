"""Which groupings of a batch Spark's plan does."""

from __future__ import annotations

from typing import Final

import attrs
from pyspark.sql import SparkSession

from headrace.runners.error_context import label_errors
from headrace.runners.plan.planning import Plan, with_pushed
from headrace.runners.plan.table_steps import ON_COLUMNS
from headrace.runners.spark.cluster.error_transport import unwrapping
from headrace.runners.spark.pushdown.chains import chains
from headrace.runners.spark.pushdown.grouped import GroupedFrame, grouped
from headrace.runners.spark.pushdown.required import NEEDS_ELEMENTS
from headrace.runners.spark.pushdown.stays import StaysInPython

IN_SPARK: Final = f"{ON_COLUMNS} of Spark's plan"
"""What a step works on that Spark's plan does."""

_RETRIED: Final = (NEEDS_ELEMENTS, "ARITHMETIC_OVERFLOW")
"""What the error of a run says that can succeed, or has a better error, with elements."""


@attrs.frozen
class Pushed:
    """A plan, and the groupings that Spark's plan does.

    Attributes:
        plan: the plan; what its steps work on says which are done by Spark's plan, and why others are not.
        frames: the groupings as DataFrames.
    """

    plan: Plan
    frames: tuple[GroupedFrame, ...] = ()


def pushed_down(planned: Plan, session: SparkSession) -> Pushed:
    """Return a plan, with the groupings that Spark's plan can do.

    Args:
        planned: the plan of a batch.
        session: the session that runs it.
    """
    frames: list[GroupedFrame] = []
    works_on = dict(planned.works_on)
    for chain in chains(planned):
        with label_errors(chain.read.label), unwrapping():
            try:
                frames.append(grouped(chain, session))
            except StaysInPython as why:
                works_on[chain.step.node.label] = f"{ON_COLUMNS} in Python, because {why}"
            else:
                works_on |= dict.fromkeys(chain.labels, IN_SPARK)
    labels = frozenset(each.chain.step.node.label for each in frames)
    return Pushed(attrs.evolve(with_pushed(planned, labels), works_on=works_on), tuple(frames))


def needs_elements(error: Exception) -> bool:
    """Return whether a run failed because Spark's plan could not hold a value."""
    return any(text in str(error) for text in _RETRIED)
