"""ToString: elements as text (Beam's name)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.sdk.pardo.transforms import Map


class ToString:
    """Transforms that turn elements into text.

    >>> with Pipeline() as p:
    ...     _ = p | Create([("a", 1), ("b", 2)]) | ToString.Kvs(": ") | Map(print)
    a: 1
    b: 2
    """

    @staticmethod
    def Element() -> Map[Any, str]:
        """Return a transform that turns each element into its ``str``.

        >>> with Pipeline() as p:
        ...     _ = p | Create([1.5]) | ToString.Element() | Map(repr) | "Show" >> Map(print)
        '1.5'
        """
        return _labelled("ElementToString", Map(str))

    @staticmethod
    def Iterables(delimiter: str | None = None) -> Map[Iterable[Any], str]:
        """Return a transform that joins the items of each element, an iterable, to one string.

        Args:
            delimiter: between two items; by default a comma.

        >>> with Pipeline() as p:
        ...     _ = p | Create([("to", "be", 2)]) | ToString.Iterables() | Map(print)
        to,be,2
        """
        return _joining("," if delimiter is None else delimiter)

    @staticmethod
    def Kvs(delimiter: str | None = None) -> Map[Iterable[Any], str]:
        """Return a transform that joins the key and the value of each pair, as :meth:`Iterables` does.

        Args:
            delimiter: between key and value; by default a comma.
        """
        return _joining("," if delimiter is None else delimiter)


def _joining(delimiter: str) -> Map[Iterable[Any], str]:
    def joined(items: Iterable[object]) -> str:
        return delimiter.join(map(str, items))

    return _labelled("IterablesToString", Map(joined))


def _labelled(label: str, transform: Map[Any, str]) -> Map[Any, str]:
    transform.label = label
    return transform.with_output_types(str)
