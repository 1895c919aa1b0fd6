"""The nodes of transforms with side inputs, and their checks while a pipeline is built.

Each side input is grouped under one key, with its own windows and trigger. So it has panes, and the node
sees when the content of a window is complete, and how it changes.
"""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError, warn
from headrace.grouping.facts import Firing, panes_of
from headrace.sdk.groups.checks import check_retractions
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.pardo.side_inputs import AsSideInput, with_placeholders
from headrace.sdk.pipelines.elementwise import Elementwise, Function, KeyEach
from headrace.sdk.pipelines.graph import MAIN, Collection, ParDo, ParDoWithSideInputs, Read
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.source import BoundedSource
from headrace.windowing.windows import GlobalWindows


def side_input_node(
    pcoll: PCollection[object],
    kind: Elementwise,
    sides: list[AsSideInput],
    outputs: tuple[Collection, ...],
) -> None:
    """Add a node for an operation with side inputs.

    Args:
        pcoll: the main input.
        kind: the operation.
        sides: its side inputs.
        outputs: the outputs of the node.

    Raises:
        PipelineError: a side input does not suit the main input.
    """
    panes = side_panes(pcoll, sides)
    node = ParDoWithSideInputs(
        pcoll.pipeline.scope,
        (pcoll.collection, *panes),
        outputs,
        with_placeholders(kind, sides),
        views_of(sides),
        names_of(sides),
    )
    pcoll.pipeline.add(node)


def side_panes(pcoll: PCollection[object], sides: list[AsSideInput]) -> tuple[Collection, ...]:
    """Group side inputs by window, and return their panes.

    Args:
        pcoll: the main input.
        sides: its side inputs.

    Raises:
        PipelineError: a side input does not suit the main input.
    """
    for side in sides:
        _check(pcoll, side)
    panes = [side.pvalue | f"Side{n}" >> _Grouped() for n, side in enumerate(sides)]
    return tuple(pane.collection for pane in panes)


def views_of(sides: list[AsSideInput]) -> tuple[Any, ...]:
    """Return how the values of each side input become an argument."""
    return tuple(side.view for side in sides)


def names_of(sides: list[AsSideInput]) -> tuple[str, ...]:
    """Return the name of each side input."""
    return tuple(repr(side.pvalue) for side in sides)


class _Grouped(PTransform[Any, Any]):
    """Groups a whole collection by window."""

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        return pcoll | _KeyWithVoid() | GroupByKey()


class _KeyWithVoid(PTransform[Any, Any]):
    """Gives all elements the same key; drops the output for late elements, which nothing can read."""

    def default_label(self) -> str:
        return "KeyWithVoid"

    def expand(self, pcoll: PCollection[object]) -> PCollection[Any]:
        pipeline = pcoll.pipeline
        windowing = attrs.evolve(pcoll.windowing, late_tag=None)
        output = attrs.evolve(
            pcoll.collection,
            node=pipeline.scope,
            tag=MAIN,
            windowing=windowing,
            bounded=pcoll.is_bounded or windowing.waits_for_end_of_time,  # which it has: see _check
            element_type=Any,
        )
        pipeline.add(
            ParDo(pipeline.scope, (pcoll.collection,), (output,), KeyEach(Function(_void)))
        )
        return PCollection(pipeline, output)


def _void(value: object) -> None:
    return None


def _check(pcoll: PCollection[object], side: AsSideInput) -> None:
    """Refuse a side input that cannot work, and warn of one that is ready only at the end of time."""
    given = side.pvalue
    if given.pipeline is not pcoll.pipeline:
        raise PipelineError(
            f"the side input {given!r} belongs to another pipeline",
            remedy="read it in this pipeline; pipelines cannot share collections",
        )
    if given.windowing.window_fn.is_merging():
        raise PipelineError(
            f"the windows of the side input {given!r} merge ({given.windowing.window_fn!r}), so no window "
            "of the main input has a fixed window there",
            remedy="apply hr.WindowInto with fixed, sliding or global windows to the side input",
        )
    if given.windowing.waits_for_end_of_time and not _ends(given):
        raise PipelineError(
            f"the side input {given!r} is unbounded, in the global window with the default trigger, so its "
            "content would never be complete",
            remedy="window it with hr.WindowInto(FixedWindows(60)), or set a trigger",
        )
    _check_global(pcoll, given)
    _check_retractions(pcoll, given)


def _ends(pcoll: PCollection[object]) -> bool:
    """Return whether a collection has an end; a test stream is unbounded, but can have one."""
    upstream = pcoll.pipeline.graph.upstream(pcoll.collection.node)
    sources = [node.source for node in upstream if isinstance(node, Read)]
    return all(
        getattr(source, "always_ends", isinstance(source, BoundedSource)) for source in sources
    )


def _check_global(pcoll: PCollection[object], side: PCollection[object]) -> None:
    everything = GlobalWindows()
    if pcoll.windowing.window_fn == everything != side.windowing.window_fn:
        warn(
            f"the main input is in the global window, so its elements use the window of {side!r} at the end "
            "of time, which is usually empty",
            where=pcoll.pipeline.scope,
            remedy="window the main input with hr.WindowInto, or the side input with GlobalWindows()",
        )


def _check_retractions(pcoll: PCollection[object], side: PCollection[object]) -> None:
    if not pcoll.collection.changing:
        return
    check_retractions(pcoll.collection)
    if panes_of(side.windowing, side.collection.changing) is not Firing.ONE:
        raise PipelineError(
            f"the main input can contain retractions, and the side input {side!r} can have several panes: "
            "after a change, the output for a retraction would not match the output for its value",
            remedy="let the side input fire once, with the default trigger and no allowed lateness; or "
            "apply hr.ToChangelog() to the main input first",
        )
