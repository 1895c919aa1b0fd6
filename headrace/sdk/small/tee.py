"""Tee: a branch off a chain of transforms (Beam's name, after the command of the shell)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import InT
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform, ptransform_fn


class Tee(PTransform[PCollection[InT], PCollection[InT]], Generic[InT]):
    """Applies other transforms to its input, and returns the input.

    The results of the other transforms are not part of the chain; use it to write or print an intermediate
    collection. The branches run at the same time: the chain does not wait for them.

    Args:
        consumers: transforms, or functions of the collection that apply transforms to it.

    Raises:
        PipelineError: there is no consumer, or one is neither a transform nor a function.

    >>> with Pipeline() as p:
    ...     _ = (
    ...         p
    ...         | Create([1, 2])
    ...         | Tee("Log" >> Map(lambda x: print("sees", x)))
    ...         | Map(lambda x: 10 * x)
    ...         | "Show" >> Map(print)
    ...     )
    sees 1
    sees 2
    10
    20
    """

    def __init__(
        self,
        *consumers: PTransform[PCollection[InT], Any] | Callable[[PCollection[InT]], Any],
    ) -> None:
        super().__init__()
        if not consumers:
            raise PipelineError(
                "Tee has no consumer", remedy="pass what reads the input: Tee(hr.Map(print))"
            )
        self._consumers = [_transform(consumer) for consumer in consumers]

    def expand(self, pcoll: PCollection[InT]) -> PCollection[InT]:
        require_collection(pcoll)
        for consumer in self._consumers:
            _ = pcoll | consumer
        return pcoll


def _transform(consumer: object) -> PTransform[Any, Any]:
    if isinstance(consumer, PTransform):
        return consumer
    if not callable(consumer):
        raise PipelineError(
            f"Tee needs transforms or functions of a collection, not {shorten(consumer)}",
            remedy="pass a transform, or a function such as lambda pcoll: pcoll | hr.Map(print)",
        )
    return ptransform_fn(consumer)()
