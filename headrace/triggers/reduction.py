"""WHAT a pane holds, seen from the grouping: contents that merge.

A grouping keeps, per key and window, a *content*: a bag of values, an accumulator, a multiset. It is made
outside (values never pass through the grouping); the grouping merges contents, keeps them, and asks for
their results when a pane goes out. The algebra: contents are a commutative monoid under ``merge``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol, TypeAlias

Content: TypeAlias = Any


class Reduction(Protocol):
    """How contents are made, merged and read. Contents are plain, picklable data."""

    def empty(self) -> Content:
        """Return a content of nothing."""

    def of(self, values: list[Any], diffs: list[int] | None = None) -> Content:
        """Make a content of values; without diffs all are insertions."""

    def merge(self, one: Content, other: Content) -> Content:
        """Merge two contents; either may be reused or changed by it."""

    def compact(self, content: Content) -> Content:
        """Return the content in a smaller form, to be sent to where it is merged."""

    def copy(self, content: Content) -> Content:
        """Return a content that is the same, and does not change when the other does."""

    def is_empty(self, content: Content) -> bool:
        """Tell whether retractions have left nothing in the content."""

    def can_forget(self, content: Content) -> bool:
        """Tell whether the content is surely that of nothing, so that it may be forgotten.

        A content that has vanished may still owe something: a retraction that came before its value.
        """

    @property
    def folds(self) -> bool:
        """Whether contents stay small when they merge, so that it pays to keep sums of them."""

    def result(self, content: Content) -> Any:
        """Return the value of a pane; later merges into the content must not change it."""

    def final(self, content: Content) -> Any:
        """Return the value of a window's only pane, of insertions alone; the content is let go."""

    def deltas(self, content: Content) -> Iterable[tuple[Any, int]]:
        """Return what a discarding pane says: (value, diff) pairs, one in the usual case."""
