"""Lists, dicts and sets of side inputs: a function may change them, and the next call does not see it.

All calls get the same object until one of them changes it. Before the change, a new object is made for the
calls that follow. So reading costs what it costs with a plain list, and a call that changes something costs a
copy. Containers in containers are protected, too; objects of other classes are shared by all calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from operator import itemgetter
from typing import Any, ClassVar, Final, NoReturn

import attrs

from headrace.errors import shorten
from headrace.sdk.elements.immutable import are_immutable


@attrs.define(eq=False)
class PerCall:
    """An argument that each call gets as if no other call had changed it.

    Attributes:
        make: makes the argument, given the guard of its containers.
        current: the argument of the next call, as a list of one item.
    """

    make: Callable[[Guard], Any]
    current: list[Any] = attrs.field(factory=list)

    def __attrs_post_init__(self) -> None:
        """Make the argument of the first call."""
        self.current.append(self.make(Guard(self)))

    def column(self) -> Iterator[Any]:
        """Return an endless iterator over the arguments of calls; each is taken before its call."""
        return map(itemgetter(0), repeat(self.current))


@attrs.define(eq=False)
class Guard:
    """Is told before containers of an argument change.

    Attributes:
        argument: the argument; None if it has changed already.
    """

    argument: PerCall | None

    def before_change(self) -> None:
        """Make another argument for the calls that follow."""
        argument, self.argument = self.argument, None
        if argument is not None:
            argument.current[0] = argument.make(Guard(argument))


def argument_of_calls(make: Callable[[], object]) -> Any:
    """Return an argument as calls get it: as it is, or a :class:`PerCall` if calls can change it.

    Args:
        make: makes the argument; its containers are not changed.
    """
    argument = PerCall(lambda guard: guarded(make(), guard))
    (current,) = argument.current
    return argument if _can_be_guarded(current) else current


def _can_be_guarded(value: object) -> bool:
    if type(value) is tuple:
        return any(map(_can_be_guarded, value))
    return isinstance(value, (SideList, SideSet, GuardedDict))


def guarded(value: object, guard: Guard) -> Any:
    """Return a value with guarded containers in place of its lists, dicts and sets."""
    guard_kind = _GUARDED.get(type(value))
    return value if guard_kind is None else guard_kind(value, guard)


def _guarded_list(values: list[object], guard: Guard) -> SideList:
    made = SideList(values if are_immutable(values) else [guarded(v, guard) for v in values])
    made._guard = guard
    return made


def _guarded_set(values: set[object], guard: Guard) -> SideSet:
    made = SideSet(values)
    made._guard = guard
    return made


def _guarded_dict(items: dict[Any, Any], guard: Guard) -> object:
    return _guarded_view(SideDict(items), guard)


def _guarded_view(items: Any, guard: Guard) -> object:
    """Guard a new dict."""
    if not are_immutable(items.values()):
        for key, value in items.items():
            dict.__setitem__(items, key, guarded(value, guard))
    items._guard = guard
    return items


def _guarded_tuple(values: tuple[object, ...], guard: Guard) -> tuple[object, ...]:
    return values if are_immutable(values) else tuple([guarded(v, guard) for v in values])


def _guarding(base: type, names: str) -> Callable[[type], type]:
    """Return a decorator that lets methods of a container tell the guard before they change it."""

    def decorate(kind: type) -> type:
        for name in names.split():
            setattr(kind, name, _telling(getattr(base, name)))
        return kind

    return decorate


def _telling(method: Callable[..., Any]) -> Callable[..., object]:
    def change(self: Any, *args: object, **kwargs: object) -> Any:
        if self._guard is not None:
            self._guard.before_change()
        return method(self, *args, **kwargs)

    change.__name__, change.__doc__ = method.__name__, method.__doc__
    return change


@_guarding(
    list,
    "__setitem__ __delitem__ __iadd__ __imul__ append clear extend insert pop remove reverse sort",
)
class SideList(list[Any]):
    """A list that a call may change for itself."""

    _guard: Guard | None = None

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickle a plain list."""
        return list, (list(self),)


@_guarding(
    set,
    "__iand__ __ior__ __isub__ __ixor__ add clear difference_update discard intersection_update pop remove "
    "symmetric_difference_update update",
)
class SideSet(set[Any]):
    """A set that a call may change for itself."""

    _guard: Guard | None = None

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickle a plain set."""
        return set, (list(self),)

    def __repr__(self) -> str:
        """Show a plain set."""
        return repr(set(self))


@_guarding(dict, "__setitem__ __delitem__ __ior__ clear pop popitem setdefault update")
class GuardedDict(dict[Any, Any]):
    """A dict that a call may change for itself."""

    _guard: Guard | None = None

    def __reduce_ex__(self, protocol: object) -> Any:
        """Pickle a plain dict."""
        return dict, (dict(self),)


class SideDict(GuardedDict):
    """A dict whose error for a missing key says which side input has no such key."""

    _name: ClassVar[str] = ""

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = (), name: str = "") -> None:
        super().__init__(pairs)
        if name:
            vars(self)["_name"] = name

    def __missing__(self, key: object) -> NoReturn:
        """Raise an error for a missing key."""
        error = KeyError(key)
        if self._name:
            error.add_note(f"the side input {self._name} has no key {shorten(key)} in this window")
            error.add_note("  what to do: look it up with get(key, default)")
        raise error


class MultiMap(GuardedDict):
    """A dict from keys to lists, which are empty for missing keys.

    >>> from headrace.sdk.elements.side_containers import MultiMap
    >>> MultiMap({"a": [1, 2]})["b"]
    []
    """

    def __missing__(self, key: object) -> list[Any]:
        """Return an empty list."""
        return []


_GUARDED: Final[dict[type, Callable[[Any, Guard], Any]]] = {
    list: _guarded_list,
    set: _guarded_set,
    dict: _guarded_dict,
    tuple: _guarded_tuple,
    SideDict: _guarded_view,
    MultiMap: _guarded_view,
}
"""Functions that guard values, by type; views have made their dicts for this."""
