"""State of stateful DoFns: specs, which are class attributes of a DoFn (Beam's names)."""

from __future__ import annotations

from abc import abstractmethod
from copy import copy
from functools import cached_property
from typing import Any, NamedTuple

from headrace.errors import PipelineError, shorten
from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.own_values import CodedCopies, Copies, Sharing
from headrace.sdk.coders.stored.checked_coder import CheckedCoder
from headrace.sdk.groups.combine_fn import CombineFn, SumCombineFn
from headrace.sdk.pardo.state.state_cells import (
    BagState,
    CodedCombiningState,
    CombiningValueState,
    MapState,
    OrderedListState,
    ReadModifyWriteState,
    SetState,
    StateCell,
    SumState,
)
from headrace.windowing.time.timestamps import DurationTypes, duration_micros


class EncodedState(NamedTuple):
    """The value of a state that a coder has encoded.

    Attributes:
        value: what the cell freezes, with encodings in place of its values.
    """

    value: Any


class StateSpec:
    """The declaration of a state; a subclass says what a cell holds.

    Args:
        name: name of the state, unique in its DoFn.
        coder: how values are written in a checkpoint; by default in the format of stored data.
        time_to_live: the processing time after the last write, in seconds, at which the value is removed;
            None for no limit. Not in Beam.

    >>> BagStateSpec("seen", time_to_live=3600)
    BagStateSpec(seen)
    """

    _shares = False

    def __init__(
        self, name: str, coder: Any = None, *, time_to_live: DurationTypes | None = None
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"the name of a state is a string, not {shorten(name)}")
        if coder is not None and not isinstance(coder, Coder):
            raise TypeError(f"the coder of the state {name!r} is not a Coder: {shorten(coder)}")
        self.name = name
        self.coder = coder
        self.time_to_live = None if time_to_live is None else _positive(name, time_to_live)

    def for_worker(self, shares: bool = False) -> StateSpec:
        """Return the spec for one worker, on which :meth:`set_up` and :meth:`tear_down` are called.

        Args:
            shares: whether values are not copied; only for a DoFn of Headrace that changes none of them.
        """
        own = copy(self)
        own._shares = shares
        return own

    def set_up(self) -> None:
        """Prepare a worker; called once, before there are cells."""

    def tear_down(self) -> None:
        """Clean up a worker; called once."""

    @abstractmethod
    def new_cell(self) -> StateCell:
        """Return an empty cell."""

    def freeze(self, cell: StateCell) -> Any:
        """Return the value of a cell as plain data, encoded if the state has a coder."""
        value = cell.freeze()
        if self.coder is None:
            return value
        return EncodedState(cell.converted(value, self._checked.encode))

    def thaw(self, frozen: object) -> StateCell:
        """Return a cell with the value that :meth:`freeze` returned."""
        cell = self.new_cell()
        if isinstance(frozen, EncodedState):
            if self.coder is None:
                raise PipelineError(
                    f"a coder has written the state {self.name!r}, which has no coder now",
                    remedy="give the state its coder again",
                )
            frozen = cell.converted(frozen.value, self._checked.decode)
        cell.thaw(frozen)
        return cell

    @cached_property
    def _checked(self) -> CheckedCoder:
        assert self.coder is not None
        return CheckedCoder(self.coder, f"the state {self.name!r}")

    @cached_property
    def _copies(self) -> Copies:
        """The copies that cells make of values."""
        if self._shares:
            return Sharing()
        return Copies() if self.coder is None else CodedCopies(coder=self._checked)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name})"


def _positive(name: str, given: DurationTypes) -> int:
    length = duration_micros(given)
    if length <= 0:
        raise PipelineError(
            f"the time_to_live of the state {name!r} is {given}",
            remedy="use a number of seconds greater than 0",
        )
    return length


class BagStateSpec(StateSpec):
    """A bag of values: ``add``, ``read``, ``clear``.

    >>> cell = BagStateSpec("lines").new_cell()
    >>> cell.add("a")
    >>> cell.read()
    ['a']
    """

    def new_cell(self) -> BagState[Any]:
        return BagState(self._copies)


class SetStateSpec(StateSpec):
    """A set of values: ``add``, ``read``, ``in``, ``clear``.

    >>> cell = SetStateSpec("users").new_cell()
    >>> cell.add("a")
    >>> "a" in cell, cell.read()
    (True, ['a'])
    """

    def new_cell(self) -> SetState[Any]:
        return SetState(self._copies)


class ReadModifyWriteStateSpec(StateSpec):
    """A single value: ``read`` (None at first), ``write``, ``clear``.

    >>> cell = ReadModifyWriteStateSpec("last").new_cell()
    >>> cell.write(7)
    >>> cell.read()
    7
    """

    def new_cell(self) -> ReadModifyWriteState[Any]:
        return ReadModifyWriteState(self._copies)


class CombiningValueStateSpec(StateSpec):
    """Values that are combined as they are added: ``add``, ``read``, ``clear``.

    Args:
        name: name of the state.
        coder: the coder of accumulators; or the combine function, if that is not given.
        combine_fn: a CombineFn, or a function of an iterable such as ``sum``.
        time_to_live: see :class:`StateSpec`.

    >>> cell = CombiningValueStateSpec("total", sum).new_cell()
    >>> cell.add(3)
    >>> cell.add(4)
    >>> cell.read()
    7
    """

    def __init__(
        self,
        name: str,
        coder: Any = None,
        combine_fn: Any = None,
        *,
        time_to_live: DurationTypes | None = None,
    ) -> None:
        if combine_fn is None:
            coder, combine_fn = None, coder
        if combine_fn is None:
            raise ValueError(f"the state {name!r} needs a combine_fn")
        super().__init__(name, coder, time_to_live=time_to_live)
        self.combine_fn = CombineFn.maybe_from_callable(combine_fn)

    def for_worker(self, shares: bool = False) -> StateSpec:
        own: Any = super().for_worker(shares)
        own.combine_fn = copy(self.combine_fn)
        return own  # type: ignore[no-any-return]  # it is a copy of self

    def set_up(self) -> None:
        self.combine_fn.setup()

    def tear_down(self) -> None:
        self.combine_fn.teardown()

    def new_cell(self) -> CombiningValueState:
        if self.coder is not None:
            return CodedCombiningState(self.combine_fn, self._copies)
        sums = type(self.combine_fn) is SumCombineFn
        return (SumState if sums else CombiningValueState)(self.combine_fn)


class OrderedListStateSpec(StateSpec):
    """Values by timestamp: ``add((timestamp, value))``, ``read``, ``read_range``, ``clear_range``, ``clear``.

    >>> cell = OrderedListStateSpec("prices").new_cell()
    >>> cell.add((2, "b"))
    >>> cell.add((1, "a"))
    >>> [value for _, value in cell.read()], [value for _, value in cell.read_range(0, 2)]
    (['a', 'b'], ['a'])
    """

    def new_cell(self) -> OrderedListState[Any]:
        return OrderedListState(self._copies)


class MapStateSpec(StateSpec):
    """Values by key: ``put``, ``get``, ``remove``, ``keys``, ``values``, ``items``, ``in``, ``clear``.

    Beam's Python SDK does not have it.

    >>> cell = MapStateSpec("counts").new_cell()
    >>> cell.put("a", 1)
    >>> cell.get("a"), cell.get("b", 0)
    (1, 0)
    """

    def new_cell(self) -> MapState[Any, Any]:
        return MapState(self._copies)
