"""Pairs split into keys and values, and an index of keys by identity."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns, columns_in
from headrace.runners.error_context import note_combined
from headrace.runners.precombine.protocol import Arrivals
from headrace.sdk.coders.keys import identities
from headrace.triggers.trigger import Arrived
from headrace.windowing.column import mapped
from headrace.windowing.window import BoundedWindow

T = TypeVar("T")


@attrs.define
class KeyIndex:
    """Keys by identity; a key that is its own identity is not stored."""

    names: dict[Hashable, Any] = attrs.field(factory=dict)

    def identify(self, keys: list[Any]) -> Sequence[Hashable]:
        found = identities(keys)
        if found is not keys:
            self.names.update(zip(found, keys, strict=True))
        return found

    def named(self, found: Iterable[Hashable]) -> list[Any]:
        """Return the keys with these identities."""
        return list(map(self.__getitem__, found) if self.names else found)

    def combine(
        self, of: Callable[[list[Any]], object], groups: Mapping[Hashable, list[object]]
    ) -> list[Any]:
        """Return the contents of groups of values by key identity; an error names the element or key."""

        def note(error: Exception, row: int) -> None:
            failed = list(groups)[row]
            note_combined(error, of, self[failed], groups[failed])

        return mapped(of, groups.values(), note)

    def __getitem__(self, identity: Hashable) -> object:
        return self.names.get(identity, identity)


def arrivals_of(columns: ArrivalColumns) -> Iterator[tuple[Hashable, Any, Arrival]]:
    """Yield the arrivals of columns in one window, each with the identity of its key, and the key."""
    (window,), last = next(iter(columns.windows)), next(iter(columns.lasts))
    keys, elements = columns.keys, columns.elements or [()] * len(columns.keys)
    rows = zip(identities(keys), keys, columns.contents, columns.counts, elements, strict=True)
    for identity, key, content, count, own in rows:
        yield identity, key, Arrival(window, content, Arrived(count), last, last, own)


def arrivals_by_key(windows: Iterable[ArrivalColumns]) -> Arrivals:
    """Yield each key with one arrival per window, given the arrivals of one window at a time."""
    found: dict[Hashable, tuple[object, list[Arrival]]] = {}
    for columns in windows:
        for identity, key, arrival in arrivals_of(columns):
            found.setdefault(identity, (key, []))[1].append(arrival)
    for identity, (key, arrivals) in found.items():
        yield identity, key, arrivals


def with_late(
    found: Iterable[tuple[Hashable, Any, Sequence[T]]], late: Arrivals
) -> Iterator[tuple[Hashable, Any, Sequence[T], Sequence[Arrival]]]:
    """Yield keys with what was found of each, and the late arrivals of these and of other keys."""
    others = {identity: (key, own) for identity, key, own in late}
    for identity, key, some in found:
        own = others.pop(identity, (None, ()))[1] if others else ()
        yield identity, key, some, own
    for identity, (key, own) in others.items():
        yield identity, key, [], own


def arrivals_by_window(arrivals: Arrivals) -> Iterator[ArrivalColumns]:
    """Yield the arrivals of one window at a time, given those of each key."""
    found: dict[BoundedWindow, list[tuple[Any, Arrival]]] = defaultdict(list)
    for _, key, some in arrivals:
        for arrival in some:
            found[arrival.window].append((key, arrival))
    for window, rows in found.items():
        yield columns_in(
            window,
            keys=[key for key, _ in rows],
            contents=[arrival.content for _, arrival in rows],
            counts=[arrival.arrived.count for _, arrival in rows],
            elements=[arrival.elements for _, arrival in rows],
        )


def pairs(bundle: Bundle, label: str) -> tuple[list[Any], list[Any]]:
    """Split the values of a bundle into keys and values.

    Raises:
        ElementError: a value is not a pair.
    """
    if not bundle.values:
        return [], []
    if set(map(type, bundle.values)) != {tuple}:
        _require_pairs(bundle.values, label)
    try:
        return [key for key, _ in bundle.values], [value for _, value in bundle.values]
    except ValueError:
        _require_pairs(bundle.values, label)
        raise


def _require_pairs(values: Iterable[object], label: str) -> None:
    for value in values:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ElementError(
                f"the element {shorten(value)} is not a (key, value) pair",
                where=label,
                remedy="make pairs before the grouping, for example with WithKeys",
            )
