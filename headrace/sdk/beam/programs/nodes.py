"""The graph that is made of a program: nodes with the labels of Beam, and Beam's windowing for each input."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import attrs

from headrace.errors import HeadraceError
from headrace.sdk.beam.programs.strategies import strategy_of
from headrace.sdk.groups.checks import check_retractions
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.groups.group_by_key import grouped
from headrace.sdk.pardo.flatten import flatten_node, reshuffle_node
from headrace.sdk.pardo.pardo_node import pardo_node
from headrace.sdk.pardo.splittable_dofn import splittable, splittable_node
from headrace.sdk.pardo.stateful_node import stateful_node
from headrace.sdk.pipelines.elementwise import BundleEach, DiffEach, ProcessEach
from headrace.sdk.pipelines.graph import (
    MAIN,
    AssignWindows,
    Collection,
    CombinePerKey,
    GroupByKey,
    Node,
)
from headrace.sdk.pipelines.pipeline import Pipeline
from headrace.sdk.pipelines.pvalue import PBegin, PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import read_node
from headrace.windowing.sessions import Sessions
from headrace.windowing.windows import FixedWindows, GlobalWindows, SlidingWindows

Pcoll = PCollection[Any]


class _Step(PTransform[Any, Any]):
    """Adds nodes under the label of an application."""

    def __init__(self, build: Callable[[], Any]) -> None:
        super().__init__()
        self._build = build

    def expand(self, pcoll: Any) -> Any:
        return self._build()


BY_TIME: Final = (GlobalWindows, FixedWindows, SlidingWindows, Sessions)
"""The window functions that look at no element."""


class Graphs:
    """Makes the nodes of a program.

    Args:
        pipeline: the pipeline that gets them.

    Attributes:
        pipeline: that pipeline.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline
        self._made: dict[Any, Pcoll] = {}

    def within(self, label: str, build: Callable[[], Any]) -> Any:
        """Add nodes under a label, and return what the function returns."""
        return self.pipeline.apply(_Step(build), label=label)

    def set(self, theirs: Any, made: Pcoll) -> None:
        """Let a collection of Beam be a collection of ours."""
        self._made[theirs] = made

    def of(self, theirs: Any) -> Pcoll:
        """Return a collection of Beam as ours, with the windowing that Beam has for it now."""
        made = self._made[theirs].collection
        try:
            windowing = strategy_of(theirs.windowing)
        except HeadraceError as error:
            error.where = error.where or str(theirs)
            raise
        bounded = bool(theirs.is_bounded)
        return PCollection(self.pipeline, attrs.evolve(made, windowing=windowing, bounded=bounded))

    def read(self, source: Any, bounded: bool) -> Pcoll:
        """Add a node that reads a source."""
        return read_node(PBegin(self.pipeline), source, bounded)

    def assign(self, pcoll: Pcoll, theirs: Any) -> Pcoll:
        """Add a node that assigns the windows of a collection of Beam."""
        output = attrs.evolve(self._like(pcoll), windowing=strategy_of(theirs.windowing))
        return self._add(AssignWindows(self.pipeline.scope, (pcoll.collection,), (output,)))

    def before_windows(self, pcoll: Pcoll) -> Pcoll | None:
        """Return a collection before its windows were assigned by times alone; None if they were not."""
        node = self.pipeline.graph_so_far.node(pcoll.collection.node)
        if not isinstance(node, AssignWindows) or type(pcoll.windowing.window_fn) not in BY_TIME:
            return None
        return PCollection(self.pipeline, node.inputs[0])

    def assign_like(self, pcoll: Pcoll, other: Pcoll) -> Pcoll:
        """Add a node that assigns the windows of another collection."""
        output = attrs.evolve(self._like(other), changing=pcoll.collection.changing)
        return self._add(AssignWindows(self.pipeline.scope, (pcoll.collection,), (output,)))

    def reshuffle(self, pcoll: Pcoll) -> Pcoll:
        """Add a node that redistributes a collection."""
        return reshuffle_node(pcoll)

    def flatten(self, pcolls: Sequence[Pcoll]) -> Pcoll:
        """Add a node that merges collections."""
        return flatten_node(pcolls)

    def group(self, pcoll: Pcoll) -> Pcoll:
        """Add a node that groups pairs by key.

        Raises:
            PipelineError: it could drop a retraction as late.
        """
        check_retractions(pcoll.collection)
        outputs = grouped(pcoll, Any, combining=False)
        return self._add(GroupByKey(self.pipeline.scope, (pcoll.collection,), outputs))

    def combine(self, pcoll: Pcoll, fn: CombineFn) -> Pcoll:
        """Add a node that combines pairs by key.

        Raises:
            PipelineError: it could drop a retraction as late.
        """
        check_retractions(pcoll.collection)
        outputs = grouped(pcoll, Any, combining=True)
        return self._add(CombinePerKey(self.pipeline.scope, (pcoll.collection,), outputs, fn))

    def pardo(self, pcoll: Pcoll, kind: BundleEach, tags: tuple[str, ...] = ()) -> Pcoll:
        """Add a node that calls a DoFn on bundles; outputs that nothing reads are dropped."""
        made: Pcoll = pardo_node(pcoll, kind, self._like(pcoll), tags)
        self.pipeline.accept_any_tag(self.pipeline.scope)
        return made

    def changes(self, pcoll: Pcoll) -> Pcoll:
        """Add a node that makes pairs of a diff and a value of values and retractions."""
        like = self._like(pcoll)
        output = attrs.evolve(like, changing=False, retraction_lateness=0)
        made: Pcoll = pardo_node(pcoll, DiffEach(), output)
        return made

    def stateful(
        self, pcoll: Pcoll, kind: ProcessEach, declared: Any, tags: tuple[str, ...]
    ) -> Pcoll:
        """Add a node that calls a stateful DoFn."""
        made: Pcoll = stateful_node(pcoll, kind, declared, Any, tags)
        self.pipeline.accept_any_tag(self.pipeline.scope)
        return made

    def splittable(
        self, pcoll: Pcoll, kind: ProcessEach, unbounded: bool, tags: tuple[str, ...]
    ) -> Pcoll:
        """Add nodes that call a splittable DoFn.

        Args:
            pcoll: the input.
            kind: the DoFn.
            unbounded: whether the work for an element may have no end.
            tags: names of additional outputs.
        """
        declared = splittable(kind.dofn)
        assert declared is not None
        declared = attrs.evolve(declared, unbounded=unbounded)
        made: Pcoll = splittable_node(pcoll, kind, declared, Any, tags)
        self.pipeline.accept_any_tag(self.pipeline.scope)
        return made

    def _like(self, pcoll: Pcoll) -> Collection:
        """Return the main output of the step, with the windowing of its input."""
        return attrs.evolve(pcoll.collection, node=self.pipeline.scope, tag=MAIN, element_type=Any)

    def _add(self, node: Node) -> Pcoll:
        self.pipeline.add(node)
        return PCollection(self.pipeline, node.outputs[0])
