"""Splittable DoFns: the restrictions that a DoFn declares, its node, and checks while a pipeline is built.

A splittable DoFn becomes two nodes. The first pairs each element with its restriction, divides that, and
gives each part a key. The second is a keyed operator, whose keys are the restrictions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final
from zlib import crc32

import attrs

from headrace.errors import PipelineError
from headrace.sdk.coders.stored.data import dumps_by_name
from headrace.sdk.pardo.dofn import DoFn, RestrictionParam, WatermarkEstimatorParam
from headrace.sdk.pardo.pardo_node import Each, output_like_input
from headrace.sdk.pardo.side_input_node import names_of, views_of
from headrace.sdk.pardo.side_inputs import AsSideInput, side_inputs_of, with_placeholders
from headrace.sdk.pardo.splittable.restrictions import RestrictionProvider
from headrace.sdk.pardo.splittable.side_values import KeptView, SideValues
from headrace.sdk.pardo.splittable.watermark_estimators import (
    NoWatermarks,
    WatermarkEstimatorProvider,
)
from headrace.sdk.pardo.stateful_dofn import Stateful
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.sdk.pipelines.graph import SplittableParDo
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.typehints.declared import parameters_of

NO_STATE: Final = Stateful({}, {}, {}, "", False)
"""What a splittable DoFn declares as a stateful one: nothing."""

_OTHERS: Final = ("setup", "start_bundle", "finish_bundle", "teardown", "process_batch")
"""The methods that have no restriction."""


@attrs.frozen(eq=False)
class Splittable:
    """Declarations of a splittable DoFn.

    Attributes:
        provider: makes its restrictions and their trackers.
        estimators: makes its watermark estimators.
        unbounded: whether the work for an element may have no end.
    """

    provider: RestrictionProvider
    estimators: WatermarkEstimatorProvider
    unbounded: bool


def splittable(dofn: DoFn) -> Splittable | None:
    """Return what a DoFn declares; None if it is not splittable.

    Raises:
        PipelineError: a provider is missing, or a parameter is where it means nothing.
    """
    name = dofn.default_label()
    _refuse_in_others(dofn, name)
    trackers = _defaults(dofn.process, RestrictionParam, name)
    estimators = _defaults(dofn.process, WatermarkEstimatorParam, name)
    if not trackers:
        _refuse_estimator(estimators, name)
        return None
    for found in (trackers, estimators):
        if len(found) > 1:
            raise PipelineError(
                f"{name}.process asks twice for {found[0]!r}", remedy="remove one of the parameters"
            )
    provider = _provider(dofn, trackers[0].restriction_provider, RestrictionProvider)
    estimating: WatermarkEstimatorProvider = NoWatermarks()
    if estimators:
        given = estimators[0].watermark_estimator_provider
        estimating = _provider(dofn, given, WatermarkEstimatorProvider)
    unbounded = bool(getattr(dofn.process, "unbounded_per_element", False))
    return Splittable(provider, estimating, unbounded)


def _defaults(fn: Callable[..., object], kind: type, name: str) -> list[Any]:
    """Return the default values of a kind; a kind itself as a default value is refused."""
    found = [p.default for p in parameters_of(fn)]
    if any(default is kind for default in found):
        raise PipelineError(
            f"{name} asks for DoFn.{kind.__name__} without parentheses",
            remedy=f"write DoFn.{kind.__name__}(provider), or DoFn.{kind.__name__}() if the DoFn is one",
        )
    return [default for default in found if isinstance(default, kind)]


def _provider(dofn: DoFn, given: Any, kind: type[Any]) -> Any:
    """Return a provider that a parameter gives, or the DoFn."""
    if given is not None:
        return given
    if not isinstance(dofn, kind):
        raise PipelineError(
            f"{dofn.default_label()} has no {kind.__name__}",
            remedy=f"pass one to the parameter, or let the DoFn subclass {kind.__name__} too",
        )
    return dofn


def _refuse_in_others(dofn: DoFn, name: str) -> None:
    for method in _OTHERS:
        for kind in (RestrictionParam, WatermarkEstimatorParam):
            if any(isinstance(p.default, kind) for p in parameters_of(getattr(dofn, method))):
                raise PipelineError(
                    f"{name}.{method} asks for DoFn.{kind.__name__}, but it is not called for a restriction",
                    remedy="use it in process only",
                )


def _refuse_estimator(estimators: list[Any], name: str) -> None:
    if estimators:
        raise PipelineError(
            f"{name}.process asks for a watermark estimator, but not for a restriction",
            remedy="add a parameter with DoFn.RestrictionParam(provider), or remove the estimator",
        )


class SplitRestrictions(DoFn):
    """Pairs each element with the parts of its restriction, and gives each pair a key.

    The key is a checksum of what is sent, so that a task that runs again sends the same.

    Args:
        declared: makes restrictions.
    """

    shares_values = True

    def __init__(self, declared: Splittable) -> None:
        self._declared = declared

    def process(self, element: Any, *sides: SideValues) -> Iterator[tuple[int, Any]]:
        """Yield ``(key, (element, restriction, state of the estimator, values of a side input, …))``."""
        kept = [side.values for side in sides]
        provider = self._declared.provider
        whole = provider.initial_restriction(element)
        state = self._declared.estimators.initial_estimator_state(element, whole)
        for part in _parts(provider, element, whole):
            yield _key((element, part)), (element, part, state, *kept)


def _parts(provider: RestrictionProvider, element: object, whole: object) -> Iterator[object]:
    sized = type(provider).split_and_size is not RestrictionProvider.split_and_size
    if sized:
        return (part for part, _ in provider.split_and_size(element, whole))
    return iter(provider.split(element, whole))


def _key(value: object) -> int:
    return crc32(dumps_by_name(value) or b"")  # in memory a value need not have a name


def splittable_node(
    pcoll: PCollection[object],
    kind: ProcessEach,
    declared: Splittable,
    element_type: object,
    tags: tuple[str, ...],
) -> PCollection[Any]:
    """Add the nodes for a splittable DoFn, and return its main output.

    Args:
        pcoll: the input.
        kind: the DoFn and its arguments.
        declared: its restrictions.
        element_type: the known type of its outputs.
        tags: names of additional outputs.

    Raises:
        PipelineError: the collection can contain retractions, or a side input does not suit it.
    """
    name = kind.dofn.default_label()
    if pcoll.collection.changing:
        raise PipelineError(
            f"the collection can contain retractions, but {name} cannot take back the work of an element",
            remedy="apply hr.ToChangelog() first",
        )
    sides = side_inputs_of(kind)
    kept = tuple(AsSideInput(side.pvalue, KeptView()) for side in sides)
    split = ProcessEach(SplitRestrictions(declared), kept)
    pairs = pcoll | "Split" >> Each(split, tuple[int, tuple[Any, ...]])
    called = with_placeholders(kind, sides)
    bounded = pcoll.collection.bounded and not declared.unbounded
    main = attrs.evolve(output_like_input(pcoll, element_type), bounded=bounded)
    others = [attrs.evolve(main, tag=tag, element_type=Any) for tag in tags]
    pipeline = pcoll.pipeline
    pipeline.add(
        SplittableParDo(
            pipeline.scope,
            (pairs.collection,),
            (main, *others),
            kind.dofn,
            NO_STATE,
            called.args,
            called.kwargs,
            views_of(sides),
            names_of(sides),
            unbounded=declared.unbounded,
        )
    )
    return PCollection(pipeline, main)
