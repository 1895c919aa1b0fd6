"""Regex: elements of text, matched with a regular expression (Beam's name)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from headrace.errors import PipelineError, shorten
from headrace.sdk.pardo.transforms import FlatMap, Map


class Regex:
    r"""Transforms that match strings with a regular expression.

    ``matches`` and its relatives match at the beginning of a string, as :func:`re.match` does; ``find`` and
    its relatives match anywhere, as :func:`re.search` does. An element that does not match gives no output.
    The regular expression is a string or a compiled pattern. A group is a number or a name; group 0 is the
    whole match. A group that has no part in the match is ``None``. Arguments have Beam's names.

    Each method raises :class:`~headrace.errors.PipelineError` if the regular expression is malformed, or does
    not have the group.

    >>> with Pipeline() as p:
    ...     lines = p | Create(["rye 12", "oats 7", "closed"])
    ...     _ = lines | Regex.matches_kv(r"(\w+) (\d+)", 1, 2) | Map(print)
    ('rye', '12')
    ('oats', '7')
    """

    ALL: Final = "__regex_all_groups"
    """As the group of :meth:`find_all`: all groups of each match."""

    @staticmethod
    def matches(regex: str | re.Pattern[str], group: int | str = 0) -> FlatMap[str, str]:
        """Return a transform that emits a group of the match at the beginning of each string.

        Args:
            regex: the regular expression; let it end with ``$`` to match the whole string.
            group: the group.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["x1", "ax2"]) | Regex.matches("x([0-9])", 1) | Map(print)
        1
        """
        pattern = _compiled(regex, group)

        def first(element: str) -> Iterator[str]:
            match = pattern.match(element)
            if match:
                yield match.group(group)

        return _flat_map("matches", pattern, first, str)

    @staticmethod
    def all_matches(regex: str | re.Pattern[str]) -> FlatMap[str, list[str]]:
        """Return a transform that emits a list for each string that matches: the match and all its groups.

        Args:
            regex: the regular expression.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["a=1"]) | Regex.all_matches("(.)=(.)") | Map(print)
        ['a=1', 'a', '1']
        """
        pattern = _compiled(regex)

        def groups(element: str) -> Iterator[list[str]]:
            match = pattern.match(element)
            if match:
                yield [match.group(), *match.groups()]

        return _flat_map("all_matches", pattern, groups, list[str])

    @staticmethod
    def matches_kv(
        regex: str | re.Pattern[str],
        keyGroup: int | str,
        valueGroup: int | str = 0,
    ) -> FlatMap[str, tuple[str, str]]:
        """Return a transform that emits two groups of the match at the beginning of each string as a pair.

        Args:
            regex: the regular expression.
            keyGroup: the group that is the key.
            valueGroup: the group that is the value.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["a=1"]) | Regex.matches_kv("(.)=(.)", 1) | Map(print)
        ('a', 'a=1')
        """
        pattern = _compiled(regex, keyGroup, valueGroup)

        def pair(element: str) -> Iterator[tuple[str, str]]:
            match = pattern.match(element)
            if match:
                yield match.group(keyGroup), match.group(valueGroup)

        return _flat_map("matches_kv", pattern, pair, tuple[str, str])

    @staticmethod
    def find(regex: str | re.Pattern[str], group: int | str = 0) -> FlatMap[str, str]:
        """Return a transform that emits a group of the first match in each string.

        Args:
            regex: the regular expression.
            group: the group.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["no 7", "none"]) | Regex.find("[0-9]") | Map(print)
        7
        """
        pattern = _compiled(regex, group)

        def first(element: str) -> Iterator[str]:
            match = pattern.search(element)
            if match:
                yield match.group(group)

        return _flat_map("find", pattern, first, str)

    @staticmethod
    def find_all(
        regex: str | re.Pattern[str], group: int | str = 0, outputEmpty: bool = True
    ) -> FlatMap[str, list[Any]]:
        """Return a transform that emits a list for each string, with a group of each match in it.

        A string without a match gives an empty list.

        Args:
            regex: the regular expression.
            group: the group; or :attr:`ALL`, for tuples of the match and all its groups.
            outputEmpty: whether the list has empty groups; with :attr:`ALL`, matches whose groups are all
                empty.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["a=1, b=2"]) | Regex.find_all("(.)=(.)", Regex.ALL) | Map(print)
        [('a=1', 'a', '1'), ('b=2', 'b', '2')]
        """
        every = group == Regex.ALL
        pattern = _compiled(regex) if every else _compiled(regex, group)
        found = _all_groups if every else _one_group(group)

        def groups(element: str) -> list[list[object]]:
            pairs = map(found, pattern.finditer(element))
            return [[value for value, is_empty in pairs if outputEmpty or not is_empty]]

        return _flat_map("find_all", pattern, groups, list)

    @staticmethod
    def find_kv(
        regex: str | re.Pattern[str],
        keyGroup: int | str,
        valueGroup: int | str = 0,
    ) -> FlatMap[str, tuple[str, str]]:
        """Return a transform that emits two groups of each match in a string as a pair.

        Args:
            regex: the regular expression.
            keyGroup: the group that is the key.
            valueGroup: the group that is the value.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["a=1, b=2"]) | Regex.find_kv("(.)=(.)", 1, 2) | Map(print)
        ('a', '1')
        ('b', '2')
        """
        pattern = _compiled(regex, keyGroup, valueGroup)

        def pairs(element: str) -> Iterator[tuple[str, str]]:
            for match in pattern.finditer(element):
                yield match.group(keyGroup), match.group(valueGroup)

        return _flat_map("find_kv", pattern, pairs, tuple[str, str])

    @staticmethod
    def replace_all(regex: str | re.Pattern[str], replacement: str) -> Map[str, str]:
        r"""Return a transform that replaces all matches in each string.

        Args:
            regex: the regular expression.
            replacement: the replacement; ``\1`` in it is group 1, as in :func:`re.sub`.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["1 sack, 2 kg"]) | Regex.replace_all("[0-9]", "#") | Map(print)
        # sack, # kg
        """
        return _replacing("replace_all", _compiled(regex), replacement, count=0)

    @staticmethod
    def replace_first(regex: str | re.Pattern[str], replacement: str) -> Map[str, str]:
        r"""Return a transform that replaces the first match in each string.

        Args:
            regex: the regular expression.
            replacement: the replacement; ``\1`` in it is group 1, as in :func:`re.sub`.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["1 sack, 2 kg"]) | Regex.replace_first("[0-9]", "#") | Map(print)
        # sack, 2 kg
        """
        return _replacing("replace_first", _compiled(regex), replacement, count=1)

    @staticmethod
    def split(regex: str | re.Pattern[str], outputEmpty: bool = False) -> Map[str, list[str]]:
        """Return a transform that splits each string at all matches, into a list.

        Args:
            regex: the regular expression; groups in it are items of the list, as in :func:`re.split`.
            outputEmpty: whether the list has empty strings.

        >>> with Pipeline() as p:
        ...     _ = p | Create(["to be,, or"]) | Regex.split("[ ,]") | Map(print)
        ['to', 'be', 'or']
        """
        pattern = _compiled(regex)

        def parts(element: str) -> list[str]:
            return [part for part in pattern.split(element) if part or outputEmpty]

        return _map("split", pattern, parts, list[str])


def _compiled(regex: str | re.Pattern[str], *groups: int | str) -> re.Pattern[str]:
    """Return the pattern, if it has these groups."""
    try:
        pattern = re.compile(regex)
    except (re.error, TypeError) as error:
        raise PipelineError(
            f"{shorten(regex)} is not a regular expression: {error}",
            remedy="pass a string in the syntax of Python's module re, or a compiled pattern",
        ) from error
    for group in groups:
        if group not in pattern.groupindex and group not in range(pattern.groups + 1):
            names = "".join(f", {name!r}" for name in pattern.groupindex)
            raise PipelineError(
                f"the regular expression {shorten(pattern.pattern)} has no group {group!r}",
                remedy=f"use a number from 0 to {pattern.groups}{names}",
            )
    return pattern


def _all_groups(match: re.Match[str]) -> tuple[object, bool]:
    """Return the match with all its groups, and whether all of these are empty."""
    values = (match.group(), *match.groups())
    return values, not any(match.groups() or values)


def _one_group(group: int | str) -> Callable[[re.Match[str]], tuple[object, bool]]:
    def found(match: re.Match[str]) -> tuple[Any, bool]:
        return match.group(group), not match.group(group)

    return found


def _replacing(name: str, pattern: re.Pattern[str], replacement: str, count: int) -> Map[str, str]:
    def replaced(element: str) -> str:
        return pattern.sub(replacement, element, count)

    return _map(name, pattern, replaced, str)


def _flat_map(
    name: str, pattern: re.Pattern[str], fn: Any, output_type: object
) -> FlatMap[str, Any]:
    transform: FlatMap[str, Any] = FlatMap(fn)
    transform.label = f"{name}({pattern.pattern})"
    return transform.with_output_types(output_type)


def _map(name: str, pattern: re.Pattern[str], fn: Any, output_type: object) -> Map[str, Any]:
    transform: Map[str, Any] = Map(fn)
    transform.label = f"{name}({pattern.pattern})"
    return transform.with_output_types(output_type)
