"""The order of arrival on Spark: kept between a source and a stateful DoFn, lost by every other shuffle.

Level 0 numbers what it reads, and a stateful DoFn behind it gets the elements in the order of these numbers
(:meth:`headrace.runners.spark.stage.Stage.in_order`), so those of one partition of a source are in its order.
Elements that come from another level, or that Spark reads itself, have no order. A step that needs one is
refused there.
"""

from __future__ import annotations

from headrace.errors import UnsupportedError
from headrace.runners.plan.planning import Plan
from headrace.runners.spark.sources.native import is_native
from headrace.sdk.pipelines.graph import StatefulParDo


def check_arrival_order(plan: Plan) -> None:
    """Refuse a step that needs the order of arrival where Spark keeps none.

    Raises:
        UnsupportedError: there is such a step.
    """
    for node in plan.graph:
        if isinstance(node, StatefulParDo) and getattr(node.dofn, "needs_arrival_order", False):
            _check(node, plan)


def _check(node: StatefulParDo, plan: Plan) -> None:
    origin = node.inputs[0].node
    if plan.depths[origin]:
        problem = "the elements of a batch come from several tasks here, after a shuffle"
    elif any(is_native(read.source) for read in plan.graph.reads_before(origin)):
        problem = "the elements are read by Spark itself here, in several tasks"
    else:
        return
    raise UnsupportedError(
        f"the step applies the changes of a key in the order of their arrival, and {problem}, in no order",
        where=node.label,
        remedy="give the order of the changes of a key: order_by=…, such as the offset of a record; or "
        "apply the step to what a source of Headrace reads, without a grouping or reshuffle between",
    )
