"""Inputs and outputs of transforms: collections, and the beginnings and ends of pipelines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import (
    InputT,
    OutputT,
    OutT,
    ResultT,
    T_co,
    TypeHint,
    U_co,
)
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import MAIN, Collection, Graph, Node
from headrace.sdk.pipelines.result import PipelineResult
from headrace.triggers.strategy import WindowingStrategy

PValueT = TypeVar("PValueT", bound="PValue")


class Applicable(Protocol[InputT, OutputT]):
    """A transform for ``|``: a :class:`~headrace.PTransform`, typed by its ``expand``."""

    def expand(self, pcoll: InputT, /) -> OutputT:
        """Apply other transforms to the input and return the result."""


class PipelineBuilder(Protocol):
    """The pipeline interface for collections and transforms; :class:`~headrace.Pipeline` implements it."""

    options: PipelineOptions

    @property
    def graph(self) -> Graph:
        """The graph so far."""

    @property
    def scope(self) -> str:
        """Full label of the transform that is being applied."""

    @property
    def type_checks(self) -> bool:
        """Whether types are checked while the pipeline is built."""

    @property
    def allow_unsafe_triggers(self) -> bool:
        """Whether triggers that may lose data are allowed."""

    def __or__(self, transform: Applicable[PBegin, ResultT]) -> ResultT:
        """Apply a transform to the beginning of the pipeline."""

    def apply(
        self, transform: Applicable[Any, ResultT], pvalueish: Any = None, label: str | None = None
    ) -> ResultT:
        """Apply a transform, as ``pvalueish | label >> transform`` does."""

    def add(self, node: Node) -> None:
        """Add a node to the graph."""

    def free_node(self, label: str) -> str:
        """Return an unused label of a node."""

    def free_label(self, label: str) -> str:
        """Return an unused top-level label."""

    def output(self, label: str, tag: str) -> PCollection[Any]:
        """Return an output of a node."""

    def accept_any_tag(self, label: str) -> None:
        """Let a node drop outputs with tags that are not declared."""

    def late_outputs(self, label: str) -> list[PCollection[Any]]:
        """Return the outputs for late elements of all groupings in a transform."""

    def _html_of(self, pcoll: PCollection[Any]) -> str:
        """Return what is known of a collection as a fragment of HTML, for notebooks."""

    def run(self) -> PipelineResult:
        """Run the pipeline."""


class PValue:
    """An object to which a transform can be applied with ``|``.

    Attributes:
        pipeline: its pipeline.
    """

    def __init__(self, pipeline: PipelineBuilder) -> None:
        self.pipeline = pipeline

    def __or__(self: PValueT, transform: Applicable[PValueT, ResultT]) -> ResultT:
        """Apply a transform to this."""
        return self.pipeline.apply(transform, self)

    def apply(
        self: PValueT, transform: Applicable[PValueT, ResultT], label: str | None = None
    ) -> ResultT:
        """Apply a transform to this, as ``|`` does."""
        return self.pipeline.apply(transform, self, label)


class PBegin(PValue):
    """The beginning of a pipeline, to which sources are applied."""

    def __repr__(self) -> str:
        """Say what it is, for errors."""
        return "the beginning of the pipeline"


class PDone(PValue):
    """The end of a branch of a pipeline, to which nothing can be applied."""


class Elements(Generic[T_co, U_co]):
    """Two types for the elements of a collection, for transforms that accept more types than they return.

    ``Filter(len)`` accepts any type with a length, and keeps strings as strings: its input is
    ``Elements[T, Sized]``, for any T with a length.
    """


class PCollection(PValue, Elements[T_co, T_co]):
    """A collection of elements, bounded or unbounded; the result of applying a transform.

    >>> p = Pipeline()
    >>> p | Create([1, 2]) | "Doubled" >> Map(lambda x: 2 * x)
    PCollection[Doubled]

    Attributes:
        collection: the collection in the graph.
        element_type: the known type of its elements; ``typing.Any`` if unknown.
        producer: full label of the outermost transform that returned it.
    """

    def __init__(self, pipeline: PipelineBuilder, collection: Collection) -> None:
        super().__init__(pipeline)
        self.collection = collection
        self.element_type: TypeHint = collection.element_type
        self.producer = collection.node

    if TYPE_CHECKING:  # the same with the type written out, from which checkers infer more

        def __or__(self, transform: Applicable[PCollection[T_co], ResultT]) -> ResultT: ...

    @property
    def windowing(self) -> WindowingStrategy:
        """The windowing strategy of the next grouping of this collection."""
        return self.collection.windowing

    @property
    def is_bounded(self) -> bool:
        """Whether the collection is bounded."""
        return self.collection.bounded

    @property
    def tag(self) -> str | None:
        """The tag of its transform's output; None for the main output."""
        return None if self.collection.tag == MAIN else self.collection.tag

    @property
    def late(self) -> PCollection[Any]:
        """The elements that were too late for the grouping that produced this collection.

        These are inputs of the grouping, usually pairs, each in the window that had expired. Request this
        output with ``WindowInto(…, late_output_tag="late")``.

        Raises:
            PipelineError: the transform that produced this collection has no such output.
        """
        found = self.pipeline.late_outputs(self.producer)
        if len(found) != 1:
            raise PipelineError(
                f"{self.producer} has {len(found) or 'no'} outputs for late elements",
                where=self.producer,
                remedy="window its input with WindowInto(…, late_output_tag='late')"
                if not found
                else "apply its groupings separately",
            )
        return found[0]

    def __getitem__(self, tag: str) -> PCollection[Any]:
        """Return the output for late elements by its tag (see :attr:`late`)."""
        late = self.late
        if late.tag != tag:
            raise PipelineError(
                f"{self.producer} has no output {tag!r}",
                where=self.producer,
                remedy=f"use {late.tag!r}, its output for late elements",
            )
        return late

    def __iter__(self) -> Iterator[T_co]:
        """Raise an error: elements exist only while the pipeline runs."""
        raise TypeError(
            f"the elements of {self!r} exist only while the pipeline runs; "
            "apply a transform, or headrace.testing.capture in a test"
        )

    def __repr__(self) -> str:
        """Show the producer."""
        tag = "" if self.tag is None else f".{self.tag}"
        return f"PCollection[{self.producer}{tag}]"

    def _repr_html_(self) -> str:
        """Show in a notebook what is known of the elements."""
        return self.pipeline._html_of(self)


def require_collection(pcoll: object) -> None:
    """Check that an input is a collection.

    Raises:
        PipelineError: the transform was applied to something else, such as the pipeline itself.
    """
    if not isinstance(pcoll, PCollection):
        raise PipelineError(
            f"the input is not a collection but {shorten(pcoll)}",
            remedy="apply a source to the pipeline first, such as p | hr.Create(values)",
        )


class DoOutputsTuple(Generic[OutT]):
    """The outputs of a transform: by attribute, by index, or unpacked in order.

    Returned by ``ParDo(…).with_outputs(…)`` and :class:`~headrace.Partition`.

    >>> split = Map(lambda n: TaggedOutput("odd", n) if n % 2 else n)
    >>> with Pipeline() as p:
    ...     even, odd = p | Create([1, 2]) | split.with_outputs("odd", main="even")
    ...     _ = odd | Map(print)
    1
    """

    def __init__(
        self,
        pipeline: PipelineBuilder,
        label: str,
        tags: tuple[str, ...],
        main_tag: str | None,
        dynamic: bool,
    ) -> None:
        self.pipeline = pipeline
        self._label = label
        self._tags = tags
        self._main_tag = main_tag
        self._dynamic = dynamic

    def __iter__(self) -> Iterator[PCollection[OutT]]:
        """Iterate over the main output, if it has a name, and the other outputs in order."""
        if self._main_tag is not None:
            yield self[self._main_tag]
        for tag in self._tags:
            yield self[tag]

    def __len__(self) -> int:
        """Return the number of outputs that iteration yields."""
        return len(self._tags) + (self._main_tag is not None)

    def __getattr__(self, tag: str) -> PCollection[OutT]:
        """Return the output with a tag."""
        if tag.startswith(("__", "_repr_", "_ipython_")):  # a notebook asks for them
            raise AttributeError(tag)
        return self[tag]

    def __getitem__(self, tag: str | int | None) -> PCollection[OutT]:
        """Return the output with a tag; None is the main output, a number is the output of a Partition."""
        if tag is None or tag == self._main_tag:
            return self.pipeline.output(self._label, MAIN)
        name = str(tag)
        if name not in self._tags and not self._dynamic:
            raise PipelineError(
                f"there is no output {name!r}",
                where=self._label,
                remedy=f"use one of {[t for t in (self._main_tag, *self._tags) if t is not None]}, "
                "or name it in with_outputs",
            )
        return self.pipeline.output(self._label, name)

    def __repr__(self) -> str:
        """Show the producer."""
        return f"DoOutputsTuple[{self._label}: {', '.join(self._tags) or 'any tag'}]"


def outputs_by_tag(outputs: DoOutputsTuple[Any]) -> dict[str | None, PCollection[Any]]:
    """Return the outputs of a transform by tag, the main output first; None if it has no tag.

    It is not a method, because the attributes of the outputs are tags.
    """
    tags = (outputs._main_tag, *outputs._tags)
    return {tag: outputs[tag] for tag in tags}
