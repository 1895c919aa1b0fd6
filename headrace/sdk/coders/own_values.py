"""Values of one owner: what a state takes or gives is copied, so that later changes do not reach it.

Immutable values are not copied. Lists, dicts, sets and tuples are copied part by part, other values as
:func:`copy.deepcopy` does, or by a coder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, Final

import attrs

from headrace.errors import ElementError, HeadraceError, shorten
from headrace.sdk.coders.stored.checked_coder import CHECKED, CheckedCoder
from headrace.sdk.elements.immutable import IMMUTABLE, are_immutable, is_immutable

_UNCHECKED: Final[frozenset[type]] = frozenset()


def own(value: object) -> Any:
    """Return a copy of a value that shares nothing with it that can change; an immutable value itself.

    Raises:
        ElementError: the value cannot be copied.

    >>> row = ["a", [1, 2]]
    >>> copied = own(row)
    >>> row[1].append(3)
    >>> copied
    ['a', [1, 2]]
    """
    if is_immutable(value):
        return value
    try:
        return _copied(value, {})
    except HeadraceError:
        raise
    except Exception as error:  # a value can raise anything
        raise ElementError(
            f"{shorten(value)} cannot be copied, so a state cannot keep it: "
            f"{type(error).__name__}: {error}",
            remedy="keep plain data in states; create files, locks, connections and the like in DoFn.setup",
        ) from error


def own_each(values: Iterable[object]) -> Iterator[Any]:
    """Yield a copy of each value before the next is asked for.

    A value that cannot be copied is yielded itself: no state can have it.

    >>> list(own_each([(1, "a"), [2]]))
    [(1, 'a'), [2]]
    """
    for value in values:
        if type(value) is tuple and IMMUTABLE.issuperset(map(type, value)):
            yield value
        else:
            yield own_if_possible(value)


def own_if_possible(value: object) -> Any:
    """Return a copy of a value as :func:`own` does; the value itself if it cannot be copied."""
    try:
        return own(value)
    except ElementError:
        return value


def _copied(value: object, memo: dict[int, object]) -> object:
    """Copy a value.

    Args:
        value: the value.
        memo: copies by the identity of what was copied, as in :func:`copy.deepcopy`.
    """
    kind = type(value)
    copy = _COPIES.get(kind)
    if copy is None:
        return deepcopy(value, memo)
    found = memo.get(id(value))
    return copy(value, memo) if found is None else found


def _part(value: object, memo: dict[int, object]) -> object:
    return value if type(value) in IMMUTABLE else _copied(value, memo)


def _copied_list(values: list[object], memo: dict[int, object]) -> list[object]:
    made: list[Any] = []
    memo[id(values)] = made
    made += values if are_immutable(values) else [_part(value, memo) for value in values]
    return made


def _copied_dict(items: dict[object, object], memo: dict[int, object]) -> dict[object, object]:
    made: dict[object, Any] = {}
    memo[id(items)] = made
    if are_immutable(items) and are_immutable(items.values()):
        made.update(items)
    else:
        made.update((_part(key, memo), _part(value, memo)) for key, value in items.items())
    return made


def _copied_set(values: set[object], memo: dict[int, object]) -> set[object]:
    made: set[Any] = set()
    memo[id(values)] = made
    made.update(_part(value, memo) for value in values)
    return made


def _copied_tuple(values: tuple[object, ...], memo: dict[int, object]) -> tuple[object, ...]:
    return values if is_immutable(values) else tuple([_part(value, memo) for value in values])


_COPIES: Final[dict[type, Callable[[Any, dict[int, Any]], Any]]] = {
    list: _copied_list,
    dict: _copied_dict,
    set: _copied_set,
    tuple: _copied_tuple,
}


@attrs.define(eq=False)
class Copies:
    """The copies that a state without a coder makes.

    Attributes:
        plain: the types of values that it takes as they are.
    """

    plain: frozenset[type] = IMMUTABLE

    def own(self, value: object) -> Any:
        """Return a copy of a value; an immutable value itself.

        Raises:
            ElementError: the value cannot be copied.
        """
        return own(value)


@attrs.define(eq=False)
class Sharing(Copies):
    """No copies: for the states of DoFns that change no value, and whose outputs are copied."""

    def own(self, value: object) -> Any:
        """Return the value."""
        return value


@attrs.define(eq=False)
class CodedCopies(Copies):
    """The copies that a coder makes. It also encodes the first immutable values, to check the coder.

    Attributes:
        coder: the coder.
    """

    coder: CheckedCoder = attrs.field(kw_only=True)
    plain: frozenset[type] = _UNCHECKED
    _left: int = attrs.field(default=CHECKED, init=False)

    def own(self, value: object) -> Any:
        """Return a copy of a value; an immutable value itself.

        Raises:
            ElementError: the coder fails, or does not return the value when it decodes.
        """
        if not is_immutable(value):
            return self.coder.decode(self.coder.encode(value))
        if self._left:
            self.coder.encode(value)
            self._left -= 1
        else:
            self.plain = IMMUTABLE
        return value

    def check(self, value: Callable[[], object]) -> None:
        """Encode a value, if it is one of the first."""
        if self._left:
            self._left -= 1
            self.coder.encode(value())
