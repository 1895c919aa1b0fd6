"""What transforms are applied to and what they give: collections, the pipeline's beginning and its ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from headrace.errors import PipelineError
from headrace.sdk.graph import MAIN, Collection
from headrace.triggers.strategy import WindowingStrategy

if TYPE_CHECKING:
    from headrace.sdk.pipeline import Pipeline

T = TypeVar("T")


class PValue:
    """Something that a transform can be applied to with ``|``.

    Attributes:
        pipeline: the pipeline that it belongs to.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def __or__(self, transform: Any) -> Any:
        """Apply a transform to this."""
        return self.pipeline.apply(transform, self)

    def apply(self, transform: Any, label: str | None = None) -> Any:
        """Apply a transform to this, as ``|`` does."""
        return self.pipeline.apply(transform, self, label)


class PBegin(PValue):
    """The beginning of a pipeline: what sources are applied to."""


class PDone(PValue):
    """The end of a branch of a pipeline: nothing can be applied to it."""


class PCollection(PValue, Generic[T]):
    """A collection of elements, bounded or not; made by applying transforms.

    >>> p = Pipeline()
    >>> p | Create([1, 2]) | "Doubled" >> Map(lambda x: 2 * x)
    PCollection[Doubled]

    Attributes:
        collection: its place in the graph.
        element_type: what is known of its elements' type, ``typing.Any`` if nothing.
        producer: full label of the outermost transform that gave it out.
    """

    def __init__(self, pipeline: Pipeline, collection: Collection) -> None:
        super().__init__(pipeline)
        self.collection = collection
        self.element_type: Any = collection.element_type
        self.producer = collection.node

    @property
    def windowing(self) -> WindowingStrategy:
        """How the next grouping of this collection works."""
        return self.collection.windowing

    @property
    def is_bounded(self) -> bool:
        """Whether the collection ends."""
        return self.collection.bounded

    @property
    def tag(self) -> str | None:
        """Which output of its transform it is; None for the main output."""
        return None if self.collection.tag == MAIN else self.collection.tag

    @property
    def late(self) -> PCollection[Any]:
        """The elements that came too late for the grouping that made this collection.

        They are what the grouping would have taken in, in general pairs, each in the window that had
        expired. Ask for the output first: ``WindowInto(…, late_output_tag="late")``.

        Raises:
            PipelineError: the transform that made this collection has no such output.
        """
        found = self.pipeline.late_outputs(self.producer)
        if len(found) != 1:
            raise PipelineError(
                f"{self.producer} has {len(found) or 'no'} outputs for late elements",
                where=self.producer,
                remedy="window its input with WindowInto(…, late_output_tag='late')"
                if not found
                else "apply the groupings in it one by one",
            )
        return found[0]

    def __getitem__(self, tag: str) -> PCollection[Any]:
        """Return the output for late elements by its tag (see :attr:`late`)."""
        late = self.late
        if late.tag != tag:
            raise PipelineError(
                f"{self.producer} has no output {tag!r}",
                where=self.producer,
                remedy=f"its output for late elements is {late.tag!r}",
            )
        return late

    def __iter__(self) -> Iterator[T]:
        """Refuse: elements exist only while the pipeline runs."""
        raise TypeError(
            f"the elements of {self!r} exist only while the pipeline runs; "
            "apply a transform, or headrace.testing.capture in a test"
        )

    def __repr__(self) -> str:
        """Show where it comes from."""
        tag = "" if self.tag is None else f".{self.tag}"
        return f"PCollection[{self.producer}{tag}]"


class TaggedOutput:
    """A value for another than the main output, given out by a DoFn (Beam's name).

    Args:
        tag: name of the output, as in ``ParDo(…).with_outputs(tag)``.
        value: the value; also a TimestampedValue or WindowedValue.

    >>> TaggedOutput("errors", 7)
    TaggedOutput('errors', 7)
    """

    __slots__ = ("tag", "value")

    def __init__(self, tag: str, value: Any) -> None:
        self.tag = tag
        self.value = value

    def __repr__(self) -> str:
        """Show the expression that makes it."""
        return f"TaggedOutput({self.tag!r}, {self.value!r})"


class DoOutputsTuple:
    """The outputs of a transform with several: by attribute, by index, or unpacked in order.

    Made by ``ParDo(…).with_outputs(…)`` and :class:`~headrace.Partition`.

    >>> split = Map(lambda n: TaggedOutput("odd", n) if n % 2 else n)
    >>> with Pipeline() as p:
    ...     even, odd = p | Create([1, 2]) | split.with_outputs("odd", main="even")
    ...     _ = odd | Map(print)
    1
    """

    def __init__(
        self,
        pipeline: Pipeline,
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

    def __iter__(self) -> Iterator[PCollection[Any]]:
        """Iterate over the main output, if it was named, and the others in order."""
        if self._main_tag is not None:
            yield self[self._main_tag]
        for tag in self._tags:
            yield self[tag]

    def __len__(self) -> int:
        """Return how many outputs iteration gives."""
        return len(self._tags) + (self._main_tag is not None)

    def __getattr__(self, tag: str) -> PCollection[Any]:
        """Return the output with a tag."""
        if tag.startswith("__"):
            raise AttributeError(tag)
        return self[tag]

    def __getitem__(self, tag: str | int | None) -> PCollection[Any]:
        """Return the output with a tag; None is the main one, a number the output of a Partition."""
        if tag is None or tag == self._main_tag:
            return self.pipeline.output(self._label, MAIN)
        name = str(tag)
        if name not in self._tags and not self._dynamic:
            raise PipelineError(
                f"there is no output {name!r}",
                where=self._label,
                remedy=f"take one of {[t for t in (self._main_tag, *self._tags) if t is not None]}, "
                "or name it in with_outputs",
            )
        return self.pipeline.output(self._label, name)

    def __repr__(self) -> str:
        """Show where it comes from."""
        return f"DoOutputsTuple[{self._label}: {', '.join(self._tags) or 'any tag'}]"
