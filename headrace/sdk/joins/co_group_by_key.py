"""CoGroupByKey, which groups several collections by key, and the joins based on it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar, overload

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.taken_fields import TaggedPairs
from headrace.sdk.elements.type_variables import KeyT, LeftT, RightT, T, ValueT
from headrace.sdk.groups.checks import check_pairs
from headrace.sdk.groups.group_by_key import GroupByKey
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.transforms import FlatMap, Map
from headrace.sdk.pipelines.pvalue import PBegin, PCollection, PipelineBuilder, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create

ValueLists: TypeAlias = tuple[list[Any], ...]

Pairs: TypeAlias = PCollection[tuple[KeyT, ValueT]]
"""A collection of (key, value) pairs."""

Both: TypeAlias = tuple[Pairs[KeyT, LeftT], Pairs[KeyT, RightT]]
"""The two sides of a join."""

TagT = TypeVar("TagT")


class CoGroupByKey(PTransform[Any, PCollection[Any]]):
    """Groups the values of several collections of pairs by key.

    Applied to a dict of collections, it emits (key, dict of lists of values); applied to a tuple or list of
    collections, it emits (key, tuple of lists of values).

    Its late output (:attr:`~headrace.PCollection.late`) contains (key, (tag, value)); the tag is the key
    of the collection in the dict, or its index in the tuple or list.

    Args:
        pipeline: the pipeline, required only if there are no collections.

    >>> with Pipeline() as p:
    ...     emails = p | "Emails" >> Create([("amy", "amy@x"), ("bob", "bob@x")])
    ...     phones = p | "Phones" >> Create([("amy", 111)])
    ...     _ = {"emails": emails, "phones": phones} | CoGroupByKey() | Map(print)
    ('amy', {'emails': ['amy@x'], 'phones': [111]})
    ('bob', {'emails': ['bob@x'], 'phones': []})
    """

    takes_several = True

    def __init__(self, *, pipeline: PipelineBuilder | None = None) -> None:
        super().__init__()
        self.pipeline = pipeline

    if TYPE_CHECKING:

        @overload  # type: ignore[override]  # the types of `expand`, by input
        def __ror__(  # type: ignore[overload-overlap]  # a dict's keys are not collections
            self, left: dict[TagT, Pairs[KeyT, Any]]
        ) -> PCollection[tuple[KeyT, dict[TagT, list[Any]]]]: ...
        @overload
        def __ror__(
            self, left: tuple[Pairs[KeyT, LeftT], Pairs[KeyT, RightT]]
        ) -> PCollection[tuple[KeyT, tuple[list[LeftT], list[RightT]]]]: ...
        @overload
        def __ror__(
            self, left: tuple[Pairs[KeyT, LeftT], Pairs[KeyT, RightT], Pairs[KeyT, T]]
        ) -> PCollection[tuple[KeyT, tuple[list[LeftT], list[RightT], list[T]]]]: ...
        @overload
        def __ror__(
            self, left: Iterable[Pairs[KeyT, ValueT]]
        ) -> PCollection[tuple[KeyT, tuple[list[ValueT], ...]]]: ...
        def __ror__(self, left: Any) -> Any: ...

    def expand(
        self, pcoll: dict[Any, PCollection[Any]] | Sequence[PCollection[object]]
    ) -> PCollection[Any]:
        named = isinstance(pcoll, dict)
        tags = tuple(pcoll) if named else tuple(range(len(pcoll)))
        pcolls = list(pcoll.values() if isinstance(pcoll, dict) else pcoll)
        if not pcolls and self.pipeline is not None:
            return PBegin(self.pipeline) | Create([])
        tagged = [
            _require_pairs(each) | f"Tag({tag})" >> Map(_Tag(tag))
            for tag, each in zip(tags, pcolls, strict=True)
        ]
        together = tagged | Flatten() | GroupByKey()
        return together | "Gather" >> Map(_Gather(tags, named))


@attrs.frozen
class _Tag:
    """Adds the tag of the collection to a value."""

    tag: Hashable

    def table_form(self) -> TaggedPairs:
        """Return how it works on tables."""
        return TaggedPairs(self.tag)

    def __call__(self, pair: tuple[object, object]) -> tuple[Any, tuple[Any, Any]]:
        key, value = pair
        return key, (self.tag, value)


@attrs.frozen
class _Gather:
    """Collects tagged values into one list for each collection."""

    tags: tuple[Hashable, ...]
    named: bool

    def __call__(self, group: tuple[object, Iterable[tuple[object, object]]]) -> tuple[Any, Any]:
        key, tagged = group
        sides: dict[Hashable, list[Any]] = {tag: [] for tag in self.tags}
        for tag, value in tagged:
            sides[tag].append(value)
        return key, sides if self.named else tuple(sides.values())


def _require_pairs(pcoll: Any) -> PCollection[Any]:
    require_collection(pcoll)
    check_pairs(pcoll)
    return pcoll  # type: ignore[no-any-return]


class Join(PTransform[Both[Any, Any, Any], PCollection[Any]]):
    """Base class of the joins: applied to a tuple (left, right) of collections of (key, value) pairs.

    Emits (key, (left, right)) for each pair of values of the same key, window and pane.
    """

    takes_several = True

    alone: ClassVar[tuple[bool, bool]]
    """Whether to emit left, and right, values without a match on the other side."""

    def expand(self, pcoll: Both[Any, Any, Any]) -> PCollection[Any]:
        if not isinstance(pcoll, (tuple, list)) or len(pcoll) != 2:
            raise PipelineError(
                f"a join is applied to {shorten(pcoll)}",
                remedy="apply it to a tuple of two collections: (left, right) | hr.InnerJoin()",
            )
        matched = FlatMap(_Match(*self.alone))
        joined: PCollection[object] = pcoll | CoGroupByKey() | "Match" >> matched
        return joined


@attrs.frozen
class _Match:
    """Emits every pair of a left and a right value of a key."""

    left_alone: bool
    right_alone: bool

    def __call__(self, group: tuple[Any, ValueLists]) -> list[tuple[Any, tuple[Any, Any]]]:
        key, (lefts, rights) = group
        if not lefts and self.right_alone:
            lefts = [None]
        if not rights and self.left_alone:
            rights = [None]
        return [(key, (left, right)) for left in lefts for right in rights]


class InnerJoin(Join):
    """Emits keys that are in both collections.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1), ("b", 2)])
    ...     right = p | "Right" >> Create([("a", "x")])
    ...     _ = (left, right) | InnerJoin() | Map(print)
    ('a', (1, 'x'))
    """

    alone = (False, False)

    if TYPE_CHECKING:

        def __ror__(  # type: ignore[override]  # exactly two collections
            self, left: Both[KeyT, LeftT, RightT]
        ) -> PCollection[tuple[KeyT, tuple[LeftT, RightT]]]: ...


class LeftJoin(Join):
    """Emits all values of the left collection, with the values of the right collection or None.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1), ("b", 2)])
    ...     right = p | "Right" >> Create([("a", "x")])
    ...     _ = (left, right) | LeftJoin() | Map(print)
    ('a', (1, 'x'))
    ('b', (2, None))
    """

    alone = (True, False)

    if TYPE_CHECKING:

        def __ror__(  # type: ignore[override]  # exactly two collections
            self, left: Both[KeyT, LeftT, RightT]
        ) -> PCollection[tuple[KeyT, tuple[LeftT, RightT | None]]]: ...


class RightJoin(Join):
    """Emits all values of the right collection, with the values of the left collection or None.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1)])
    ...     right = p | "Right" >> Create([("a", "x"), ("c", "y")])
    ...     _ = (left, right) | RightJoin() | Map(print)
    ('a', (1, 'x'))
    ('c', (None, 'y'))
    """

    alone = (False, True)

    if TYPE_CHECKING:

        def __ror__(  # type: ignore[override]  # exactly two collections
            self, left: Both[KeyT, LeftT, RightT]
        ) -> PCollection[tuple[KeyT, tuple[LeftT | None, RightT]]]: ...


class FullJoin(Join):
    """Emits all values of both collections, with None for missing values.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1)])
    ...     right = p | "Right" >> Create([("c", "y")])
    ...     _ = (left, right) | FullJoin() | Map(print)
    ('a', (1, None))
    ('c', (None, 'y'))
    """

    alone = (True, True)

    if TYPE_CHECKING:

        def __ror__(  # type: ignore[override]  # exactly two collections
            self, left: Both[KeyT, LeftT, RightT]
        ) -> PCollection[tuple[KeyT, tuple[LeftT | None, RightT | None]]]: ...
