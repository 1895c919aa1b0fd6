"""From bundles to arrivals: elements put together by key and window before they reach the grouping.

Combining in front of the grouping ("lifting") happens here: what a grouping gets is one content for each
key and window of all that arrived together, however many elements that was. A gathering takes any number
of bundles and is then drained; which kind serves depends on what the grouping needs to know.

==================  =====================================================================
kind                for
==================  =====================================================================
PlainGathering      windows that do not merge, where nothing counts but values and windows
SessionGathering    the same, for windows that merge when they overlap
ElementGathering    all else: timestamps of panes, retractions, predicates, late outputs
==================  =====================================================================
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, ClassVar, Protocol

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.encoding import encode_value, identities
from headrace.triggers.bundle import Bundle, Element, Windows
from headrace.triggers.panes import Arrival
from headrace.triggers.reduction import Reduction
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Arrived
from headrace.windowing.column import Column
from headrace.windowing.sessions import Sessions
from headrace.windowing.time import MAX_MICROS, Duration
from headrace.windowing.timestamp_combiner import TimestampCombiner
from headrace.windowing.window import BoundedWindow, interval

Arrivals = Iterator[tuple[Hashable, Any, Sequence[Arrival]]]
"""For each key: its identity, the key itself, and what arrived for it, one a window."""

FOLD_AT = 1 << 20
"""So many rows may wait as values; then they are folded into contents."""


class Gathering(Protocol):
    """Collects bundles, then gives out arrivals by key."""

    @property
    def settled(self) -> bool:
        """Whether windows that can merge among each other have done so in what is given out."""

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; they must be pairs."""

    def drain(self) -> Arrivals:
        """Give out all that was collected, and be empty again."""


@attrs.frozen
class Input:
    """What comes to a gathering.

    Attributes:
        label: the grouping's label, for errors.
        strategy: the strategy by which it is grouped.
        changing: whether it can hold retractions.
        assigns: whether it is left to the gathering to put elements into windows.
    """

    label: str
    strategy: WindowingStrategy
    changing: bool
    assigns: bool

    def windows(self, bundle: Bundle) -> Column[Windows]:
        """Return the windows of the elements of a bundle."""
        if not self.assigns:
            return bundle.windows
        assign = self.strategy.window_fn.assign_column
        return assign(bundle.values, bundle.timestamps, bundle.windows)


def gathering_for(input_: Input, reduction: Reduction) -> Gathering:
    """Return the cheapest gathering that tells a grouping all that it needs to know."""
    strategy = input_.strategy
    plain = not (
        input_.changing
        or strategy.late_tag
        or not strategy.trigger.needs_only_counts
        or strategy.timestamp_combiner is not TimestampCombiner.OUTPUT_AT_EOW
    )
    if plain and not strategy.window_fn.is_merging():
        return PlainGathering(input_, reduction)
    if plain and type(strategy.window_fn).merge is Sessions.merge:
        return SessionGathering(input_, reduction)
    return ElementGathering(input_, reduction)


@attrs.define
class _Keys:
    """The keys by their identities; an identity that is the key itself need not be remembered."""

    names: dict[Hashable, Any] = attrs.field(factory=dict)

    def identify(self, keys: list[Any]) -> Sequence[Hashable]:
        found = identities(keys)
        if found is not keys:
            self.names.update(zip(found, keys, strict=True))
        return found

    def __getitem__(self, identity: Hashable) -> Any:
        return self.names.get(identity, identity)


@attrs.define
class PlainGathering:
    """Values by windows and key, for windows that do not merge."""

    input: Input
    reduction: Reduction
    settled: ClassVar[bool] = True
    _keys: _Keys = attrs.field(factory=_Keys, init=False)
    _waiting: dict[Windows, dict[Hashable, list[Any]]] = attrs.field(init=False)
    _rows: int = attrs.field(default=0, init=False)
    _folded: dict[BoundedWindow, dict[Hashable, tuple[Any, int]]] = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        """Start empty."""
        self._clear()
        self._folded = defaultdict(dict)

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        waiting = self._waiting
        column = self.input.windows(bundle)
        if isinstance(column, repeat):
            group = waiting[next(column)]
            for key, value in zip(found, values, strict=True):
                group[key].append(value)
        else:
            for key, value, windows in zip(found, values, column, strict=True):
                waiting[windows][key].append(value)
        self._rows += len(values)
        if self._rows >= FOLD_AT:
            self._fold()

    def drain(self) -> Arrivals:
        """Give out each key with one arrival a window."""
        by_key: dict[Hashable, list[Arrival]] = defaultdict(list)
        for key, arrival in self._arrivals():
            by_key[key].append(arrival)
        keys, self._keys = self._keys, _Keys()
        for key, arrivals in by_key.items():
            yield key, keys[key], arrivals

    def _arrivals(self) -> Iterator[tuple[Hashable, Arrival]]:
        """Give out each arrival with the identity of its key, window by window, and be empty again."""
        if self._folded or any(len(windows) != 1 for windows in self._waiting):
            self._fold()
        content_of = self.reduction.of
        for (window,), group in self._waiting.items():
            last = window.last
            for key, values in group.items():
                content, arrived = content_of(values), Arrived(len(values))
                yield key, Arrival(window, content, arrived, last, last)
        for window, folded in self._folded.items():
            last = window.last
            for key, (content, count) in folded.items():
                yield key, Arrival(window, content, Arrived(count), last, last)
        self._clear()
        self._folded = defaultdict(dict)

    def _fold(self) -> None:
        """Turn the values that wait into contents; an element of several windows goes into each."""
        for windows, group in self._waiting.items():
            for window in windows:
                self._fold_into(self._folded[window], group)
        self._clear()

    def _fold_into(
        self, folded: dict[Hashable, tuple[Any, int]], group: dict[Hashable, list[Any]]
    ) -> None:
        reduction = self.reduction
        for key, values in group.items():
            content = reduction.of(values.copy())
            if key in folded:
                before, count = folded[key]
                folded[key] = reduction.merge(before, content), count + len(values)
            else:
                folded[key] = content, len(values)

    def _clear(self) -> None:
        self._waiting = defaultdict(lambda: defaultdict(list))
        self._rows = 0


@attrs.define
class SessionGathering:
    """Values by key and session: what overlaps is put together before anything else sees it.

    Each key has one session open, into which most elements fall; those that do not open another.
    """

    input: Input
    reduction: Reduction
    settled: ClassVar[bool] = True
    _keys: _Keys = attrs.field(factory=_Keys, init=False)
    _open: dict[Hashable, Session] = attrs.field(factory=dict, init=False)
    _closed: dict[Hashable, list[Session]] = attrs.field(
        factory=lambda: defaultdict(list), init=False
    )

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle; each lies in one window."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        opened = self._open.get
        for key, value, (start, end) in zip(found, values, self._bounds(bundle), strict=False):
            session = opened(key)
            if session is not None and session[0] <= start < session[1]:
                session[2].append(value)
                if end > session[1]:
                    session[1] = end
            else:
                self._open_session(key, start, end, value)

    def drain(self) -> Arrivals:
        """Give out each key with its sessions in order."""
        opened, self._open = self._open, {}
        closed, self._closed = self._closed, defaultdict(list)
        keys, self._keys = self._keys, _Keys()
        for key, session in opened.items():
            sessions = [*closed.get(key, ()), session]
            yield key, keys[key], list(map(self._arrival, _united(sessions)))

    def _bounds(self, bundle: Bundle) -> Iterable[tuple[int, int]]:
        """Return where the window of each element starts and ends."""
        gap = getattr(self.input.strategy.window_fn, "gap_size", None)
        times = bundle.timestamps
        if not self.input.assigns or isinstance(times, repeat) or not isinstance(gap, Duration):
            return (window for (window,) in self.input.windows(bundle))
        if max(times) > MAX_MICROS - gap.micros:
            return (window for (window,) in self.input.windows(bundle))
        return zip(times, [instant + gap.micros for instant in times], strict=True)

    def _open_session(self, key: Hashable, start: int, end: int, value: Any) -> None:
        before = self._open.get(key)
        if before is not None:
            self._closed[key].append(before)
        self._open[key] = [start, end, [value]]

    def _arrival(self, session: Session) -> Arrival:
        start, end, values = session
        content = self.reduction.of(values)
        return Arrival(interval(start, end), content, Arrived(len(values)), end - 1, end - 1)


Session = list[Any]
"""Start, end, and values."""


def _united(sessions: list[Session]) -> list[Session]:
    """Put sessions in order, and those that overlap together."""
    if len(sessions) == 1:
        return sessions
    sessions.sort(key=itemgetter(0))
    united = [sessions[0]]
    for session in sessions[1:]:
        last = united[-1]
        if session[0] < last[1]:
            last[1] = max(last[1], session[1])
            last[2].extend(session[2])
        else:
            united.append(session)
    return united


@attrs.define
class ElementGathering:
    """Whole elements by key and window, for groupings that look at more than values and windows."""

    input: Input
    reduction: Reduction
    settled: bool = attrs.field(init=False)
    _only_counts: bool = attrs.field(init=False)
    _keys: _Keys = attrs.field(factory=_Keys, init=False)
    _waiting: dict[Hashable, dict[BoundedWindow, list[Element]]] = attrs.field(
        factory=lambda: defaultdict(lambda: defaultdict(list)), init=False
    )

    def __attrs_post_init__(self) -> None:
        """Note whether the windows still have to merge, and what the trigger asks of elements."""
        self.settled = not self.input.strategy.window_fn.is_merging()
        self._only_counts = self.input.strategy.trigger.needs_only_counts

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        keys, values = pairs(bundle, self.input.label)
        found = self._keys.identify(keys)
        placed = attrs.evolve(bundle, windows=self.input.windows(bundle))
        for key, element in zip(found, placed.with_values(values).rows(), strict=True):
            windows = self._waiting[key]
            for window in element.windows:
                windows[window].append(element)

    def drain(self) -> Arrivals:
        """Give out each key with one arrival a window."""
        waiting, self._waiting = self._waiting, defaultdict(lambda: defaultdict(list))
        keys, self._keys = self._keys, _Keys()
        for key, windows in waiting.items():
            yield key, keys[key], [self._arrival(*entry) for entry in windows.items()]

    def _arrival(self, window: BoundedWindow, elements: list[Element]) -> Arrival:
        values, timestamps, _, _, diffs = map(list, zip(*elements, strict=True))
        return Arrival(
            window=window,
            content=self.reduction.of(values, diffs if self.input.changing else None),
            arrived=self._arrived(values),
            earliest=min(timestamps),
            latest=max(timestamps),
            elements=elements if self.input.strategy.late_tag else (),
        )

    def _arrived(self, values: list[Any]) -> Arrived:
        if self._only_counts:
            return Arrived(len(values))
        trigger = self.input.strategy.trigger
        size = sum(len(encode_value(value)) for value in values) if trigger.wants_size else 0
        marks = (p for p in trigger.predicates if any(map(p, values)))
        return Arrived(len(values), size, frozenset(marks))


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


def _require_pairs(values: Iterable[Any], label: str) -> None:
    for value in values:
        if not isinstance(value, tuple) or len(value) != 2:
            raise ElementError(
                f"the element {shorten(value)} is not a (key, value) pair",
                where=label,
                remedy="make pairs in front of the grouping, for example with WithKeys",
            )
