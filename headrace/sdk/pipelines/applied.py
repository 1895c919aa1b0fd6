"""The transforms of a pipeline as they were applied, composites too, for visitors (Beam's names).

The graph has the primitive steps only. This tree has each application of a transform below the one in whose
``expand`` it happened. It refers to collections weakly, so that it does not keep a pipeline alive.
"""

from __future__ import annotations

import weakref
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from headrace.sdk.pipelines.graph import Collection
from headrace.sdk.pipelines.pvalue import PCollection, PipelineBuilder
from headrace.sdk.pipelines.transform import PTransform, pvalues_in


class AppliedPTransform:
    """An application of a transform.

    Args:
        parent: the application in whose ``expand`` it happened; None for the root, which is the pipeline.
        transform: the transform; None for the root.
        full_label: full label; empty for the root.

    Attributes:
        parts: the applications in its ``expand``, in order.

    >>> p = Pipeline()
    >>> _ = p | "In" >> Create([1]) | "Out" >> Map(print)
    >>> [part.full_label for part in p.applied.parts]
    ['In', 'Out']
    >>> p.applied.parts[1].inputs
    (PCollection[In],)
    """

    def __init__(
        self,
        parent: AppliedPTransform | None,
        transform: PTransform[Any, Any] | None,
        full_label: str,
    ) -> None:
        self._parent = None if parent is None else weakref.ref(parent)
        self.transform = transform
        self.full_label = full_label
        self.parts: list[AppliedPTransform] = []
        self._inputs: list[_Value] = []
        self._outputs: list[_Value] = []

    @property
    def parent(self) -> AppliedPTransform | None:
        """The application in whose ``expand`` it happened."""
        return None if self._parent is None else self._parent()

    @property
    def inputs(self) -> tuple[PCollection[Any], ...]:
        """The collections to which it is applied, without side inputs."""
        return tuple(value.get() for value in self._inputs)

    @property
    def outputs(self) -> dict[str | None, PCollection[Any]]:
        """The collections that it returns, by tag; None is the tag of a main output without a name.

        If several have the same tag, the keys are the labels of their steps.
        """
        values = [value.get() for value in self._outputs]
        tags = {value.tag for value in values}
        by_tag = len(tags) == len(values)
        return {(value.tag if by_tag else value.collection.node): value for value in values}

    def is_composite(self) -> bool:
        """Return whether it applies other transforms, or returns its input."""
        own = {value.id for value in self._outputs} - {value.id for value in self._inputs}
        return bool(self.parts) or self.parent is None or not own

    def take(self, pvalueish: object) -> None:
        """Note the input."""
        self._inputs = _values(pvalueish)

    def give(self, result: object) -> None:
        """Note the result."""
        self._outputs = _values(result)

    def __repr__(self) -> str:
        """Show label and transform."""
        return f"AppliedPTransform({self.full_label}, {type(self.transform).__name__})"


class PipelineVisitor:
    """Told of each application of a transform by ``Pipeline.visit``; override what you need.

    >>> class Labels(PipelineVisitor):
    ...     def visit_transform(self, transform_node):
    ...         print(transform_node.full_label)
    >>> p = Pipeline()
    >>> _ = p | "In" >> Create([1]) | "Total" >> CombineGlobally(sum)
    >>> p.visit(Labels())
    In
    Total/...
    """

    def visit_value(self, value: PCollection[Any], producer_node: AppliedPTransform) -> None:
        """Be told of a collection, after the transform without parts that returns it."""

    def visit_transform(self, transform_node: AppliedPTransform) -> None:
        """Be told of a transform without parts."""

    def enter_composite_transform(self, transform_node: AppliedPTransform) -> None:
        """Be told of a composite transform, before its parts; the first one is the pipeline."""

    def leave_composite_transform(self, transform_node: AppliedPTransform) -> None:
        """Be told of a composite transform, after its parts."""


class Applications:
    """The tree, while the pipeline is built."""

    def __init__(self) -> None:
        self.root = AppliedPTransform(None, None, "")
        self._open = [self.root]

    @contextmanager
    def applying(
        self, label: str, transform: PTransform[Any, Any], pvalueish: object
    ) -> Iterator[AppliedPTransform]:
        """Add an application; what is applied in the body is below it. Remove it if the body fails."""
        parent = self._open[-1]
        applied = AppliedPTransform(parent, transform, label)
        applied.take(pvalueish)
        parent.parts.append(applied)
        self._open.append(applied)
        try:
            yield applied
        except BaseException:
            parent.parts.pop()
            raise
        finally:
            self._open.pop()

    def remove(self, labels: Container[str]) -> None:
        """Remove applications at the top level by their labels."""
        self.root.parts = [part for part in self.root.parts if part.full_label not in labels]


def visit(applied: AppliedPTransform, visitor: PipelineVisitor) -> None:
    """Tell a visitor of an application and of its parts; of each collection once, after its inputs."""
    _visit(applied, visitor, set())


def _visit(applied: AppliedPTransform, visitor: PipelineVisitor, seen: set[object]) -> None:
    if not applied.is_composite():
        visitor.visit_transform(applied)
        _visit_values(applied, visitor, seen)
        return
    visitor.enter_composite_transform(applied)
    for part in applied.parts:
        _visit(part, visitor, seen)
    visitor.leave_composite_transform(applied)


def _visit_values(applied: AppliedPTransform, visitor: PipelineVisitor, seen: set[object]) -> None:
    for value in applied.outputs.values():
        if value.collection.id not in seen:
            seen.add(value.collection.id)
            visitor.visit_value(value, applied)


class _Value:
    """A collection, which is created again if the program does not use it any more."""

    def __init__(self, value: PCollection[Any]) -> None:
        self._value = weakref.ref(value)
        self._pipeline: weakref.ref[PipelineBuilder] = weakref.ref(value.pipeline)
        self._collection: Collection = value.collection
        self._producer, self._type = value.producer, value.element_type

    @property
    def id(self) -> tuple[str, str]:
        return self._collection.id

    def get(self) -> PCollection[Any]:
        value, pipeline = self._value(), self._pipeline()
        if value is None:
            assert pipeline is not None, "the tree belongs to the pipeline"
            value = PCollection(pipeline, self._collection)
            value.producer, value.element_type = self._producer, self._type
            self._value = weakref.ref(value)
        return value


def _values(pvalueish: object) -> list[_Value]:
    values: Iterable[Any] = pvalues_in(pvalueish)
    return [_Value(value) for value in values if isinstance(value, PCollection)]
