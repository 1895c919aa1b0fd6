"""States and timers of Beam's DoFns as ours: specs, and what methods receive for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from apache_beam.coders import coders
from apache_beam.transforms import userstate
from apache_beam.transforms.timeutil import TimeDomain as BeamDomain
from apache_beam.utils.timestamp import Timestamp as BeamTimestamp

from headrace.errors import UnsupportedError
from headrace.sdk.beam.programs.combine import own_combine_fn
from headrace.sdk.coders.base import Coder
from headrace.sdk.pardo.state.specs import (
    BagStateSpec,
    CombiningValueStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
    StateSpec,
)
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec
from headrace.windowing.time.timestamps import Timestamp

_STORED_ALIKE: Final = (
    coders.StrUtf8Coder,
    coders.BytesCoder,
    coders.VarIntCoder,
    coders.VarInt32Coder,
    coders.FloatCoder,
    coders.BooleanCoder,
    coders.FastPrimitivesCoder,
    coders.PickleCoder,
)
"""The coders of values that the format of stored data has, too."""


class BeamCoder(Coder):
    """A coder of Beam's program, for values in state."""

    def __init__(self, coder: Any) -> None:
        self._coder = coder

    def encode(self, value: Any) -> bytes:
        return bytes(self._coder.encode(value))

    def decode(self, encoded: bytes) -> Any:
        return self._coder.decode(encoded)

    def is_deterministic(self) -> bool:
        return bool(self._coder.is_deterministic())


def _coder(spec: Any) -> BeamCoder | None:
    return None if type(spec.coder) in _STORED_ALIKE else BeamCoder(spec.coder)


_SPECS: Final[dict[type, Callable[[Any], StateSpec]]] = {
    userstate.BagStateSpec: lambda spec: BagStateSpec(spec.name, _coder(spec)),
    userstate.SetStateSpec: lambda spec: SetStateSpec(spec.name, _coder(spec)),
    userstate.ReadModifyWriteStateSpec: lambda s: ReadModifyWriteStateSpec(s.name, _coder(s)),
    userstate.OrderedListStateSpec: lambda s: OrderedListStateSpec(s.name, _coder(s)),
    userstate.CombiningValueStateSpec: lambda spec: CombiningValueStateSpec(
        spec.name, combine_fn=own_combine_fn(spec.combine_fn)
    ),
}


def own_state(spec: Any) -> StateSpec:
    """Return the spec of a state of Beam as ours.

    Raises:
        UnsupportedError: it is of another kind.
    """
    make = _SPECS.get(type(spec))
    if make is None:
        raise UnsupportedError(f"the state {spec!r} is of a kind that Headrace does not have")
    return make(spec)


def own_timer(spec: Any) -> TimerSpec:
    """Return the spec of a timer of Beam as ours."""
    in_event_time = spec.time_domain == BeamDomain.WATERMARK
    return TimerSpec(spec.name, TimeDomain.WATERMARK if in_event_time else TimeDomain.REAL_TIME)


class BeamTimer(userstate.BaseTimer):
    """A timer as the methods of Beam's DoFns receive it.

    Args:
        spec: our spec of the timer.
        call: the call that receives it.
    """

    def __init__(self, spec: TimerSpec, call: Any) -> None:
        self._spec = spec
        self._call = call

    def set(self, timestamp: Any, dynamic_timer_tag: str = "") -> None:
        """Set the timer."""
        moment = Timestamp(micros=BeamTimestamp.of(timestamp).micros)
        self._call.timer(self._spec).set(moment, dynamic_timer_tag)

    def clear(self, dynamic_timer_tag: str = "") -> None:
        """Remove the timer."""
        self._call.timer(self._spec).clear(dynamic_timer_tag)


class _Wrapped:
    """A state whose values are not the same in Beam."""

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def clear(self) -> None:
        """Remove all values."""
        self._cell.clear()


class BeamSetState(_Wrapped):
    """A set as the methods of Beam's DoFns receive it: it is read as a set."""

    def add(self, value: Any) -> None:
        """Add a value."""
        self._cell.add(value)

    def read(self) -> set[Any]:
        """Return the values."""
        return set(self._cell.read())


class BeamOrderedListState(_Wrapped):
    """An ordered list as the methods of Beam's DoFns receive it: timestamps are Beam's."""

    def add(self, value: tuple[Any, Any]) -> None:
        """Add a value with its timestamp."""
        at, item = value
        self._cell.add((_own(at), item))

    def read(self) -> Iterable[tuple[Any, Any]]:
        """Return all values in order."""
        return _theirs(self._cell.read())

    def read_range(self, min_time_stamp: Any, limit_time_stamp: Any) -> Iterable[tuple[Any, Any]]:
        """Return the values in a range."""
        return _theirs(self._cell.read_range(_own(min_time_stamp), _own(limit_time_stamp)))

    def clear_range(self, min_time_stamp: Any, limit_time_stamp: Any) -> None:
        """Remove the values in a range."""
        self._cell.clear_range(_own(min_time_stamp), _own(limit_time_stamp))


def _own(at: Any) -> Timestamp:
    return Timestamp(micros=BeamTimestamp.of(at).micros)


def _theirs(values: Iterable[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    return [(BeamTimestamp(micros=at.micros), item) for at, item in values]


_RECEIVED: Final[dict[type, Callable[[Any], Any]]] = {
    userstate.SetStateSpec: BeamSetState,
    userstate.OrderedListStateSpec: BeamOrderedListState,
}


def state_of(spec: Any, states: Mapping[str, StateSpec]) -> Callable[[Any], Any]:
    """Return what gives a state of Beam, given something that has the cells of a key, and a window.

    Args:
        spec: Beam's spec of the state.
        states: our specs, by name.
    """
    own = states[spec.name]
    received = _RECEIVED.get(type(spec))
    if received is None:
        return lambda place: place.cells.cell(place.window, own)
    return lambda place: received(place.cells.cell(place.window, own))
