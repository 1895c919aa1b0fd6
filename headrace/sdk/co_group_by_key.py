"""Collections brought together by key: CoGroupByKey, and the joins that are built on it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, TypeAlias

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.flatten import Flatten
from headrace.sdk.group_by_key import GroupByKey, check_pairs
from headrace.sdk.pardo import FlatMap, Map, require_collection
from headrace.sdk.pvalue import PBegin, PCollection
from headrace.sdk.reading import Create
from headrace.sdk.transform import PTransform

Sides: TypeAlias = tuple[list[Any], ...]


class CoGroupByKey(PTransform[Any, Any]):
    """Brings together the values that several collections of pairs hold for the same key.

    Applied to a dict of collections it gives (key, dict of lists of values); applied to a tuple or list
    of collections, (key, tuple of lists of values).

    Args:
        pipeline: the pipeline, which is needed only if there are no collections at all.

    >>> with Pipeline() as p:
    ...     emails = p | "Emails" >> Create([("amy", "amy@x"), ("bob", "bob@x")])
    ...     phones = p | "Phones" >> Create([("amy", 111)])
    ...     _ = {"emails": emails, "phones": phones} | CoGroupByKey() | Map(print)
    ('amy', {'emails': ['amy@x'], 'phones': [111]})
    ('bob', {'emails': ['bob@x'], 'phones': []})
    """

    def __init__(self, *, pipeline: Any = None) -> None:
        super().__init__()
        self.pipeline = pipeline

    def expand(self, pcoll: Any) -> PCollection[Any]:
        named = isinstance(pcoll, dict)
        tags = tuple(pcoll) if named else tuple(range(len(pcoll)))
        pcolls = list(pcoll.values()) if named else list(pcoll)
        if not pcolls and self.pipeline is not None:
            empty: PCollection[Any] = PBegin(self.pipeline) | Create([])
            return empty
        tagged = [
            _require_pairs(each) | f"Tag({tag})" >> Map(_Tag(side))
            for side, (tag, each) in enumerate(zip(tags, pcolls, strict=True))
        ]
        together = tagged | Flatten() | GroupByKey()
        gathered: PCollection[Any] = together | "Gather" >> Map(_Gather(tags, named))
        return gathered


@attrs.frozen
class _Tag:
    """Marks a value with the number of the collection that it comes from."""

    side: int

    def __call__(self, pair: tuple[Any, Any]) -> tuple[Any, tuple[int, Any]]:
        key, value = pair
        return key, (self.side, value)


@attrs.frozen
class _Gather:
    """Puts marked values into one list for each collection."""

    tags: tuple[Hashable, ...]
    named: bool

    def __call__(self, group: tuple[Any, Iterable[tuple[int, Any]]]) -> tuple[Any, Any]:
        key, marked = group
        sides: Sides = tuple([] for _ in self.tags)
        for side, value in marked:
            sides[side].append(value)
        return key, dict(zip(self.tags, sides, strict=True)) if self.named else sides


def _require_pairs(pcoll: Any) -> PCollection[Any]:
    require_collection(pcoll)
    check_pairs(pcoll)
    return pcoll  # type: ignore[no-any-return]


class Join(PTransform[Any, Any]):
    """Base of the joins: applied to a tuple (left, right) of collections of (key, value) pairs.

    Each pair of values of the same key, in the same window and pane, gives (key, (left, right)).
    """

    alone: ClassVar[tuple[bool, bool]]
    """Whether values of the left, and of the right, stay where the other side has none."""

    def expand(self, pcoll: Any) -> PCollection[Any]:
        if not isinstance(pcoll, (tuple, list)) or len(pcoll) != 2:
            raise PipelineError(
                f"a join is applied to {shorten(pcoll)}",
                remedy="apply it to two collections: (left, right) | hr.InnerJoin()",
            )
        matched = FlatMap(_Match(*self.alone))
        joined: PCollection[Any] = pcoll | CoGroupByKey() | "Match" >> matched
        return joined


@attrs.frozen
class _Match:
    """Gives out every pair of a left and a right value of a key."""

    left_alone: bool
    right_alone: bool

    def __call__(self, group: tuple[Any, Sides]) -> list[tuple[Any, tuple[Any, Any]]]:
        key, (lefts, rights) = group
        if not lefts and self.right_alone:
            lefts = [None]
        if not rights and self.left_alone:
            rights = [None]
        return [(key, (left, right)) for left in lefts for right in rights]


class InnerJoin(Join):
    """Joins what both sides have.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1), ("b", 2)])
    ...     right = p | "Right" >> Create([("a", "x")])
    ...     _ = (left, right) | InnerJoin() | Map(print)
    ('a', (1, 'x'))
    """

    alone = (False, False)


class LeftJoin(Join):
    """Joins everything of the left side with what the right side has, or None.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1), ("b", 2)])
    ...     right = p | "Right" >> Create([("a", "x")])
    ...     _ = (left, right) | LeftJoin() | Map(print)
    ('a', (1, 'x'))
    ('b', (2, None))
    """

    alone = (True, False)


class RightJoin(Join):
    """Joins everything of the right side with what the left side has, or None.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1)])
    ...     right = p | "Right" >> Create([("a", "x"), ("c", "y")])
    ...     _ = (left, right) | RightJoin() | Map(print)
    ('a', (1, 'x'))
    ('c', (None, 'y'))
    """

    alone = (False, True)


class FullJoin(Join):
    """Joins everything of both sides, with None where the other side has nothing.

    >>> with Pipeline() as p:
    ...     left = p | "Left" >> Create([("a", 1)])
    ...     right = p | "Right" >> Create([("c", "y")])
    ...     _ = (left, right) | FullJoin() | Map(print)
    ('a', (1, None))
    ('c', (None, 'y'))
    """

    alone = (True, True)
