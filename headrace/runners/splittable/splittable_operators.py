"""Operators of splittable DoFns: like those of stateful DoFns, with restrictions as keys.

===================  ==========================================================================
operator             used in
===================  ==========================================================================
BatchSplittable      batch mode: each restriction is processed to its end
StreamingSplittable  streaming mode: a store of restrictions; each goes on for a while in a round
===================  ==========================================================================
"""

from __future__ import annotations

import attrs

from headrace.runners.operator import Send
from headrace.runners.plan.planning import StatefulStep
from headrace.runners.splittable.restriction_keys import CLAIMS, RestrictionKeys
from headrace.runners.splittable.side_arguments import SideArguments
from headrace.runners.stateful.stateful_operators import (
    BatchStateful,
    StatefulOperator,
    StreamingStateful,
)
from headrace.sdk.metrics.step_metrics import StepMetrics
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pipelines.graph import SplittableParDo
from headrace.triggers.trigger import NEVER


@attrs.define(eq=False)
class BatchSplittable(BatchStateful):
    """A splittable DoFn in batch mode."""

    def _new_keys(self, dofn: DoFn, checked: str) -> RestrictionKeys:
        return _keys(self.step, dofn, checked, claims=None)


@attrs.define(eq=False)
class StreamingSplittable(StreamingStateful):
    """A splittable DoFn in streaming mode."""

    def _new_keys(self, dofn: DoFn, checked: str) -> RestrictionKeys:
        return _keys(self.step, dofn, checked, CLAIMS)

    def note_drain(self, draining: bool) -> None:
        """Take whether the run is drained."""
        assert isinstance(self.keys, RestrictionKeys)
        self.keys.draining = draining

    @property
    def resumes_at(self) -> int:
        """The processing time at which the next restriction goes on; NEVER if all have ended."""
        return self.store.next_processing_time if self.store.size else NEVER


def _keys(step: StatefulStep, dofn: DoFn, checked: str, claims: int | None) -> RestrictionKeys:
    """Return the keyed operator of a DoFn."""
    node = step.node
    assert isinstance(node, SplittableParDo)
    sides = SideArguments(node) if node.views else None
    return RestrictionKeys(dofn, node.args, node.kwargs, checked, claims, sides)


def splittable_operator(
    step: StatefulStep, send: Send, metrics: StepMetrics, batch: bool
) -> StatefulOperator:
    """Return the operator of a splittable DoFn, with its restrictions in memory.

    Args:
        step: the splittable DoFn.
        send: receives the outputs.
        metrics: the metrics of the step.
        batch: whether there is only one round, at the end of time.
    """
    return (BatchSplittable if batch else StreamingSplittable)(step, send, metrics)
