"""Lists that spill to disk when they become too large for memory."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from tempfile import TemporaryFile
from typing import IO, Any, ClassVar, Final, overload

from headrace.runners.spark.shuffle.wire import dumps, loads

SPILLED_PIECE: Final = 1 << 10
"""Number of values that are written and read at a time."""


class SpillFile:
    """A temporary file of pieces of lists; deleted when it is no longer referenced."""

    def __init__(self) -> None:
        self._file: IO[bytes] = TemporaryFile(prefix="headrace-spill-")  # noqa: SIM115 (open as long as its lists)
        weakref.finalize(self, self._file.close)
        self._end = 0

    def write(self, values: list[Any]) -> tuple[int, int, int]:
        """Write a piece, and return its location: offset, bytes and number of values."""
        data = dumps(values)
        self._file.seek(self._end)
        self._file.write(data)
        location = self._end, len(data), len(values)
        self._end += len(data)
        return location

    def read(self, location: tuple[int, int, int]) -> list[Any]:
        """Read a piece."""
        offset, size, _ = location
        self._file.seek(offset)
        values: list[Any] = loads(self._file.read(size))
        return values


class SpilledList(Sequence[Any]):
    """A list whose older values are in a file; it grows at both ends, and can be read many times.

    >>> spilled = SpilledList(SpillFile())
    >>> spilled.extend(["a", "b"])
    >>> spilled.spill()
    >>> spilled.extend(["c"])
    >>> list(spilled), len(spilled), spilled[1]
    (['a', 'b', 'c'], 3, 'b')
    """

    gives_copies: ClassVar[bool] = True
    """Whether its values are copies, so that a function cannot change them for others."""

    def __init__(self, file: SpillFile) -> None:
        self._file = file
        self._locations: list[tuple[int, int, int]] = []
        self._tail: list[object] = []

    def extend(self, values: Iterable[object]) -> None:
        """Add values at the end, in memory."""
        self._tail.extend(values)

    def spill(self) -> None:
        """Write the values in memory to the file."""
        tail, self._tail = self._tail, []
        self._locations += self._written(tail)

    def __setitem__(self, index: slice, values: Iterable[object]) -> None:
        """Insert values before all others, which are written to the file: ``spilled[:0] = values``."""
        if index != slice(0):
            raise TypeError("values can only be inserted at the beginning")
        self._locations[:0] = self._written(list(values))

    def _written(self, values: list[object]) -> list[tuple[int, int, int]]:
        """Write values to the file, and return the locations of their pieces."""
        starts = range(0, len(values), SPILLED_PIECE)
        return [self._file.write(values[start : start + SPILLED_PIECE]) for start in starts]

    def copy(self) -> SpilledList:
        """Return an independent copy that shares the file."""
        other = SpilledList(self._file)
        other._locations, other._tail = self._locations.copy(), self._tail.copy()
        return other

    def __iter__(self) -> Iterator[Any]:
        """Read from the beginning, one piece at a time."""
        pieces = map(self._file.read, self._locations)
        return chain(chain.from_iterable(pieces), self._tail)

    def __len__(self) -> int:
        """Return the number of values."""
        return sum(number for *_, number in self._locations) + len(self._tail)

    @overload
    def __getitem__(self, index: int) -> Any: ...

    @overload
    def __getitem__(self, index: slice) -> list[Any]: ...

    def __getitem__(self, index: int | slice) -> object:
        """Return a value, or a list of values; reads from the beginning."""
        if isinstance(index, slice):
            return list(self)[index]
        position = range(len(self))[index]
        return next(islice(self, position, None))

    def __eq__(self, other: object) -> bool:
        """Compare like lists."""
        return isinstance(other, (list, SpilledList)) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]  # like a list

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a list in memory."""
        return list, (list(self),)
