"""The cells of states: each holds the value of one spec for one key and window, as plain values.

A cell is what the parameter of a stateful DoFn receives. A cell that is empty takes no space. A cell
shares no value that can change with a function: it takes and gives copies
(:mod:`~headrace.sdk.coders.own_values`).
"""

from __future__ import annotations

from abc import abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable, Hashable, Iterable
from itertools import count
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from headrace.sdk.coders.keys import identity
from headrace.sdk.coders.own_values import Copies, own
from headrace.sdk.elements.immutable import IMMUTABLE, is_immutable
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.windowing.time.timestamps import Timestamp, TimestampTypes, from_micros, micros

T = TypeVar("T")
K = TypeVar("K")

_FIRST = itemgetter(0)

_NUMBERS: Final = IMMUTABLE - {bool}
"""The types of most sums."""

_COPIES: Final = Copies()


class StateCell:
    """The value of one spec for one key and window.

    Args:
        copies: makes the copies of values.

    Attributes:
        written: whether it was written since the flag was last cleared.
    """

    __slots__ = ("_copies", "written")

    def __init__(self, copies: Copies = _COPIES) -> None:
        self.written = False
        self._copies = copies

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the cell takes no space."""

    @abstractmethod
    def clear(self) -> None:
        """Remove the value."""

    @abstractmethod
    def freeze(self) -> Any:
        """Return the value as plain data."""

    @abstractmethod
    def thaw(self, frozen: Any) -> None:
        """Take the value that :meth:`freeze` returned."""

    def converted(self, frozen: object, convert: Callable[[Any], object]) -> Any:
        """Return what :meth:`freeze` returned with its values converted; here there is one value."""
        return convert(frozen)


class BagState(StateCell, Generic[T]):
    """A bag of values."""

    __slots__ = ("_plain", "_values")

    def __init__(self, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._values: list[T] = []
        self._plain: bool | None = True
        """Whether no value can change; None if it is not known."""

    def add(self, value: T) -> None:
        """Add a value."""
        if type(value) not in self._copies.plain:
            given, value = value, self._copies.own(value)
            if value is not given:
                self._plain = False
        self._values.append(value)
        self.written = True

    def read(self) -> list[T]:
        """Return all values, in the order in which they were added."""
        if self._plain is None:
            self._plain = all(map(is_immutable, self._values))
        return self._values.copy() if self._plain else list(map(self._copies.own, self._values))

    def clear(self) -> None:
        self._values, self._plain = [], True
        self.written = True

    @property
    def is_empty(self) -> bool:
        return not self._values

    def freeze(self) -> list[T]:
        return self._values

    def converted(self, frozen: Any, convert: Callable[[Any], object]) -> Any:
        return list(map(convert, frozen))

    def thaw(self, frozen: list[T]) -> None:
        self._values, self._plain = frozen, None


class SetState(StateCell, Generic[T]):
    """A set of values, which are equal if their encodings as keys are equal."""

    __slots__ = ("_values",)

    def __init__(self, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._values: dict[Hashable, T] = {}

    def add(self, value: T) -> None:
        """Add a value, unless the set has it."""
        if type(value) not in self._copies.plain:
            value = self._copies.own(value)
        self._values.setdefault(identity(value), value)
        self.written = True

    def read(self) -> list[T]:
        """Return all values, each once, in the order in which they were first added."""
        return [_given(value, self._copies) for value in self._values.values()]

    def __contains__(self, value: object) -> bool:
        """Return whether the set has a value."""
        return identity(value) in self._values

    def clear(self) -> None:
        self._values = {}
        self.written = True

    @property
    def is_empty(self) -> bool:
        return not self._values

    def freeze(self) -> list[T]:
        return list(self._values.values())

    def converted(self, frozen: Any, convert: Callable[[Any], object]) -> Any:
        return list(map(convert, frozen))

    def thaw(self, frozen: list[T]) -> None:
        self._values = {identity(value): value for value in frozen}


class ReadModifyWriteState(StateCell, Generic[T]):
    """A single value, or None."""

    __slots__ = ("_value",)

    def __init__(self, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._value: T | None = None

    def read(self) -> T | None:
        """Return the value; None if there is none."""
        value = self._value
        return value if type(value) in IMMUTABLE else self._copies.own(value)

    def write(self, value: T) -> None:
        """Replace the value."""
        if type(value) not in self._copies.plain and value is not None:
            value = self._copies.own(value)
        self._value = value
        self.written = True

    def clear(self) -> None:
        self._value = None
        self.written = True

    @property
    def is_empty(self) -> bool:
        return self._value is None

    def freeze(self) -> T | None:
        return self._value

    def thaw(self, frozen: T | None) -> None:
        self._value = frozen


class CombiningValueState(StateCell):
    """Values that are combined as they are added; the state is an accumulator of the CombineFn."""

    __slots__ = ("_accumulator", "_combine_fn", "_some")

    def __init__(self, combine_fn: CombineFn, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._combine_fn = combine_fn
        self._accumulator: Any = None
        self._some = False

    def add(self, value: object) -> None:
        """Add a value to the accumulator."""
        if type(value) not in IMMUTABLE:
            value = own(value)
        accumulator = self._accumulator if self._some else self._combine_fn.create_accumulator()
        self._accumulator = self._combine_fn.add_input(accumulator, value)
        self._some = self.written = True

    def read(self) -> Any:
        """Return the combined value; of no values if nothing was added."""
        content = self._accumulator if self._some else self._combine_fn.create_accumulator()
        output = self._combine_fn.extract_output(content)
        return output if type(output) in IMMUTABLE else own(output)

    def clear(self) -> None:
        self._accumulator, self._some, self.written = None, False, True

    @property
    def is_empty(self) -> bool:
        return not self._some

    def freeze(self) -> Any:
        return self._combine_fn.compact(self._accumulator)

    def thaw(self, frozen: object) -> None:
        self._accumulator, self._some = frozen, True


class CodedCombiningState(CombiningValueState):
    """An accumulator with a coder, which encodes the first accumulators when values are added."""

    __slots__ = ()

    def add(self, value: object) -> None:
        super().add(value)
        copies: Any = self._copies
        copies.check(self.freeze)


class SumState(CombiningValueState):
    """A sum, without a call of its CombineFn for each value.

    The sum of no values is False, which equals 0 and is never the sum of some values.
    """

    __slots__ = ()

    def __init__(self, combine_fn: CombineFn) -> None:
        super().__init__(combine_fn)
        self._accumulator = False

    def add(self, value: object) -> None:
        total = self._accumulator = self._accumulator + value
        if total is value:  # only a value that was added to 0
            self._accumulator = own(value)
        self.written = True

    def read(self) -> Any:
        total = self._accumulator
        if total.__class__ is int or total.__class__ in _NUMBERS:
            return total
        return 0 if total is False else own(total)

    def clear(self) -> None:
        self._accumulator, self.written = False, True

    @property
    def is_empty(self) -> bool:
        return self._accumulator is False


class OrderedListState(StateCell, Generic[T]):
    """Values with timestamps, in the order of the timestamps."""

    __slots__ = ("_rows", "_serial")

    def __init__(self, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._rows: list[tuple[int, int, T]] = []
        self._serial = count()

    def add(self, value: tuple[TimestampTypes, T]) -> None:
        """Add a pair of a timestamp and a value."""
        timestamp, item = value
        if type(item) not in self._copies.plain:
            item = self._copies.own(item)
        insort(self._rows, (micros(timestamp), next(self._serial), item), key=itemgetter(0, 1))
        self.written = True

    def read(self) -> list[tuple[Timestamp, T]]:
        """Return all pairs in the order of their timestamps."""
        return _pairs(self._rows, self._copies)

    def read_range(
        self, min_timestamp: TimestampTypes, limit_timestamp: TimestampTypes
    ) -> list[tuple[Timestamp, T]]:
        """Return the pairs from a timestamp up to, but not including, another one."""
        return _pairs(self._rows[self._range(min_timestamp, limit_timestamp)], self._copies)

    def clear_range(self, min_timestamp: TimestampTypes, limit_timestamp: TimestampTypes) -> None:
        """Remove the pairs from a timestamp up to, but not including, another one."""
        del self._rows[self._range(min_timestamp, limit_timestamp)]
        self.written = True

    def _range(self, start: TimestampTypes, end: TimestampTypes) -> slice:
        return slice(*(bisect_left(self._rows, micros(t), key=_FIRST) for t in (start, end)))

    def clear(self) -> None:
        self._rows, self.written = [], True

    @property
    def is_empty(self) -> bool:
        return not self._rows

    def freeze(self) -> list[tuple[int, T]]:
        return [(timestamp, value) for timestamp, _, value in self._rows]

    def converted(self, frozen: Any, convert: Callable[[Any], object]) -> Any:
        return [(timestamp, convert(value)) for timestamp, value in frozen]

    def thaw(self, frozen: list[tuple[int, T]]) -> None:
        self._rows = [(timestamp, next(self._serial), value) for timestamp, value in frozen]


def _pairs(rows: Iterable[tuple[int, int, T]], copies: Copies) -> list[tuple[Timestamp, T]]:
    return [(from_micros(timestamp), _given(value, copies)) for timestamp, _, value in rows]


def _given(value: T, copies: Copies) -> T:
    """Return a value for a function, or a copy if it can change."""
    given: T = value if type(value) in IMMUTABLE else copies.own(value)
    return given


class MapState(StateCell, Generic[K, T]):
    """Values by key; keys are equal if their encodings are equal."""

    __slots__ = ("_items",)

    def __init__(self, copies: Copies = _COPIES) -> None:
        super().__init__(copies)
        self._items: dict[Hashable, tuple[K, T]] = {}

    def put(self, key: K, value: T) -> None:
        """Set the value of a key."""
        if type(key) not in IMMUTABLE:
            key = own(key)
        if type(value) not in self._copies.plain:
            value = self._copies.own(value)
        self._items[identity(key)] = key, value
        self.written = True

    def get(self, key: K, default: object = None) -> T | Any:
        """Return the value of a key, or a default."""
        found = self._items.get(identity(key))
        return default if found is None else _given(found[1], self._copies)

    def remove(self, key: K) -> None:
        """Remove a key, if the map has it."""
        self._items.pop(identity(key), None)
        self.written = True

    def keys(self) -> list[K]:
        """Return the keys, in the order in which they were added."""
        return [_given(key, _COPIES) for key, _ in self._items.values()]

    def values(self) -> list[T]:
        """Return the values, in the order of the keys."""
        return [_given(value, self._copies) for _, value in self._items.values()]

    def items(self) -> list[tuple[K, T]]:
        """Return keys and values."""
        return list(zip(self.keys(), self.values(), strict=True))

    def __contains__(self, key: object) -> bool:
        """Return whether the map has a key."""
        return identity(key) in self._items

    def clear(self) -> None:
        self._items, self.written = {}, True

    @property
    def is_empty(self) -> bool:
        return not self._items

    def freeze(self) -> list[tuple[K, T]]:
        return list(self._items.values())

    def converted(self, frozen: Any, convert: Callable[[Any], object]) -> Any:
        return [(key, convert(value)) for key, value in frozen]

    def thaw(self, frozen: list[tuple[K, T]]) -> None:
        self._items = {identity(key): (key, value) for key, value in frozen}
