"""The node of a stateful ParDo, and its checks while a pipeline is built."""

from __future__ import annotations

from typing import Any

import attrs

from headrace.errors import PipelineError
from headrace.sdk.groups.checks import check_retractions
from headrace.sdk.pardo.pardo_node import output_like_input
from headrace.sdk.pardo.side_input_node import names_of, side_panes, views_of
from headrace.sdk.pardo.side_inputs import side_inputs_of, with_placeholders
from headrace.sdk.pardo.stateful_dofn import Stateful
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.pipelines.graph import StatefulParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.element_types import cannot_be_pair
from headrace.windowing.windows import GlobalWindows


def stateful_node(
    pcoll: PCollection[object],
    kind: ProcessEach,
    declared: Stateful,
    element_type: object,
    tags: tuple[str, ...],
) -> PCollection[Any]:
    """Add a node for a stateful DoFn, and return its main output.

    Args:
        pcoll: the input.
        kind: the DoFn and its arguments.
        declared: its states and timers.
        element_type: the known type of its outputs.
        tags: names of additional outputs.

    Raises:
        PipelineError: the input does not suit a stateful DoFn, or a side input does not suit the input.
    """
    if cannot_be_pair(pcoll.element_type):
        raise PipelineError(
            f"Input elements to the transform {pcoll.pipeline.scope} with stateful DoFn must be key-value "
            f"pairs. The elements of {pcoll!r} are of type {pcoll.element_type!r}.",
            remedy="create pairs first, for example with hr.WithKeys or hr.Map",
        )
    _check_windows(pcoll)
    _check_retractions(pcoll, kind, declared)
    main = attrs.evolve(
        output_like_input(pcoll, element_type), changing=False, retraction_lateness=0
    )
    others = [attrs.evolve(main, tag=tag, element_type=Any) for tag in tags]
    pipeline, sides = pcoll.pipeline, side_inputs_of(kind)
    panes, placed = side_panes(pcoll, sides), with_placeholders(kind, sides)
    node = StatefulParDo(
        pipeline.scope,
        (pcoll.collection, *panes),
        (main, *others),
        kind.dofn,
        declared,
        placed.args,
        placed.kwargs,
        views_of(sides),
        names_of(sides),
    )
    pipeline.add(node)
    return PCollection(pipeline, main)


def _check_windows(pcoll: PCollection[object]) -> None:
    window_fn = pcoll.windowing.window_fn
    if window_fn.is_merging():
        raise PipelineError(
            f"the windows of a stateful DoFn cannot merge, but {window_fn!r} merges them: the states of "
            "merged windows would have to become one",
            remedy="apply hr.WindowInto with fixed, sliding or global windows before it; or group the "
            "elements of a session with hr.GroupByKey",
        )


def _check_retractions(pcoll: PCollection[object], kind: ProcessEach, declared: Stateful) -> None:
    if pcoll.collection.changing and not declared.handles_diffs:
        raise PipelineError(
            f"the collection can contain retractions, but {kind.dofn.default_label()} would add them to "
            "its state like values",
            remedy="add a parameter with hr.DoFn.DiffParam to process and remove retracted values from the "
            "state, or apply hr.ToChangelog() first",
        )
    if pcoll.windowing.window_fn != GlobalWindows():  # in which no element is late
        check_retractions(pcoll.collection, kind.dofn.default_label())
