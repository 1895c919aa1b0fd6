"""Transforms on plain values: ``[1, 2, 3] | Map(fn)`` runs at once on the local runner, and gives a list.

It is for trying out transforms. A list or another iterable becomes a collection; a tuple or dict of them
becomes a tuple or dict of collections.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any, ClassVar

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.pipeline import Pipeline
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PCollection, PValue, outputs_by_tag
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create
from headrace.sdk.sources.sink import Sink, SinkBatch
from headrace.sdk.sources.writing import Write


def run_on_values(transform: PTransform[Any, Any], left: Any) -> Any:
    """Apply a transform to plain values, and return its results.

    Args:
        transform: the transform.
        left: an iterable of elements, or a tuple or dict of iterables.

    Returns:
        A list of elements for each collection of the result, in the same tuple or dict; :class:`OutputLists`
        for a transform with several outputs; None for the end of a branch.

    >>> [1, 2] | Map(lambda x: 10 * x)
    [10, 20]
    >>> {"ages": [("ann", 31)], "towns": [("ann", "Rome")]} | CoGroupByKey()
    [('ann', {'ages': [31], 'towns': ['Rome']})]
    """
    pipeline, numbers = Pipeline("local", PipelineOptions([])), count()
    several = isinstance(left, list) and transform.takes_several

    def created(values: Any) -> object:
        _check_iterable(transform, left, values)
        return pipeline | f"CreatePInput{next(numbers)}" >> Create(values)

    def collected(value: object) -> Any:
        if not isinstance(value, PCollection):
            return None
        sink = Collected()
        _ = value | f"Collected{next(numbers)}" >> Write(sink)
        return sink.values

    results = _each(
        pipeline.apply(transform, _each(tuple(left) if several else left, created)), collected
    )
    pipeline.run().wait_until_finish()
    return results


@attrs.define
class Collected(Sink):
    """Collects the elements of a collection, without those that are retracted."""

    accepts_retractions: ClassVar[bool] = True

    values: list[Any] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        for row in batch.bundle.rows():
            (self.values.append if row.diff > 0 else self.values.remove)(row.value)


class OutputLists:
    """The elements of the outputs of a transform: by attribute, by index, or unpacked in order.

    It is for lists what :class:`~headrace.sdk.pipelines.pvalue.DoOutputsTuple` is for collections.

    Args:
        lists: the elements by tag; None is the tag of a main output without a name.

    >>> split = Map(lambda n: TaggedOutput("odd", n) if n % 2 else n)
    >>> even, odd = [1, 2, 3] | split.with_outputs("odd", main="even")
    >>> even, odd
    ([2], [1, 3])
    """

    def __init__(self, lists: dict[str | None, list[Any]]) -> None:
        self._lists = lists

    def __iter__(self) -> Iterator[list[Any]]:
        """Iterate over the main output, if it has a name, and the other outputs in order."""
        return (values for tag, values in self._lists.items() if tag is not None)

    def __len__(self) -> int:
        """Return the number of outputs that iteration yields."""
        return len(self._lists) - (None in self._lists)

    def __getattr__(self, tag: str) -> list[Any]:
        """Return the output with a tag."""
        if tag.startswith("_") or tag not in self._lists:
            raise AttributeError(tag)
        return self._lists[tag]

    def __getitem__(self, tag: str | int | None) -> list[Any]:
        """Return the output with a tag; None is the main output, a number is the output of a Partition.

        Raises:
            PipelineError: there is no such output.
        """
        name = str(tag) if isinstance(tag, int) else next(iter(self._lists)) if tag is None else tag
        if name in self._lists:
            return self._lists[name]
        tags = [tag for tag in self._lists if tag is not None]
        raise PipelineError(f"there is no output {name!r}", remedy=f"use one of {tags}")

    def __eq__(self, other: object) -> bool:
        """Compare with other outputs, or with lists by tag in a dict."""
        if isinstance(other, OutputLists):
            return self._lists == other._lists
        return self._lists == other if isinstance(other, dict) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # lists can change

    def __repr__(self) -> str:
        """Show the outputs by tag."""
        return repr(self._lists)


def _each(structure: object, change: Callable[[Any], object]) -> Any:
    """Return nested tuples and dicts with each leaf changed."""
    if isinstance(structure, DoOutputsTuple):
        return OutputLists(_each(outputs_by_tag(structure), change))
    if isinstance(structure, tuple):
        return tuple(_each(item, change) for item in structure)
    if isinstance(structure, dict):
        return {key: _each(item, change) for key, item in structure.items()}
    return change(structure)


def _check_iterable(transform: PTransform[Any, Any], left: object, values: object) -> None:
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, PValue)):
        return
    if values is left:
        raise PipelineError(
            f"{shorten(left)} is neither a collection nor an iterable of elements",
            where=transform.label,
            remedy="put a list on the left, or create a collection first: p | hr.Create(values)",
        )
    raise PipelineError(
        f"{shorten(left)} is a {type(left).__name__}, which stands for several collections, but "
        f"{shorten(values)} is not an iterable of elements",
        where=transform.label,
        remedy="put a list on the left: list(values), or list(table.items()) for a dict",
    )
