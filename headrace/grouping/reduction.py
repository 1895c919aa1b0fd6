"""WHAT a pane holds, as a grouping sees it: contents that merge.

A grouping keeps a *content* for each key and window: a list of values, an accumulator, or a multiset.
Contents are made before the grouping, which never sees a value. The grouping merges and keeps contents, and
reads their results when a pane is fired. Contents are a commutative monoid under ``merge``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from headrace.grouping.bundle import INSERT
from headrace.windowing.column import mapped

Content: TypeAlias = Any

NoteRow: TypeAlias = Callable[[Exception, int], None]
"""Gets an error with the number of its row."""


class Reduction:
    """How contents are made, merged and read; contents are plain, picklable data.

    The methods that are not abstract are right for contents from which nothing is removed.
    """

    __slots__ = ()

    @abstractmethod
    def empty(self) -> Content:
        """Return an empty content."""

    @abstractmethod
    def of(self, values: list[Any], diffs: list[int] | None = None) -> Content:
        """Make a content of values; without diffs, all values are insertions."""

    @abstractmethod
    def merge(self, one: Any, other: Any) -> Content:
        """Merge two contents; both may be changed and must not be used afterwards."""

    def merge_columns(
        self, one: Sequence[Any], other: Sequence[Any], note: NoteRow
    ) -> list[Content]:
        """Merge two columns of contents row by row, as :meth:`merge` does.

        Args:
            one: contents; at least one.
            other: as many contents.
            note: for errors.
        """
        return mapped(lambda both: self.merge(*both), list(zip(one, other, strict=True)), note)

    def compact(self, content: Any) -> Content:
        """Return the content in a smaller form, which is sent through a shuffle and merged there."""
        return content

    @abstractmethod
    def copy(self, content: Any) -> Content:
        """Return an independent copy of the content."""

    def is_empty(self, content: Any) -> bool:
        """Return whether no value is left in the content."""
        return False

    def can_forget(self, content: Any) -> bool:
        """Return whether the content can be dropped, since it has neither values nor unmatched retractions.

        An empty content may still have an unmatched retraction, which arrived before its value.
        """
        return self.is_empty(content)

    def takes_back(self, dropped: Any, held: Any, change: Any, count: int) -> bool:
        """Return whether a change retracts values that were dropped, and that are not held.

        Args:
            dropped: what was dropped from the window of the change.
            held: what was accepted there.
            change: insertions and retractions.
            count: the number of elements in the change.
        """
        return False

    @property
    def folds(self) -> bool:
        """Whether contents stay small when they merge, so that keeping merged blocks of them saves time."""
        return False

    @abstractmethod
    def result(self, content: Any) -> Any:
        """Return the value of a pane; later merges into the content must not change it."""

    @abstractmethod
    def copy_result(self, value: Any) -> object:
        """Return a copy of the value of a pane, which is kept for its retraction."""

    def final(self, content: Any) -> Any:
        """Return the value of a window's only pane; the content has no retractions, and is not used again."""
        return self.result(content)

    def results(self, contents: Sequence[Any], note: NoteRow) -> list[Any]:
        """Return the values of panes, at least one, as :meth:`result` does."""
        return mapped(self.result, contents, note)

    def finals(self, contents: Sequence[Any], note: NoteRow) -> list[Any]:
        """Return the values of windows' only panes, at least one, as :meth:`final` does."""
        return mapped(self.final, contents, note)

    def deltas(self, content: Any) -> Iterable[tuple[Any, int]]:
        """Return the rows of a discarding pane as (value, diff) pairs, usually one."""
        return ((self.final(content), INSERT),)
