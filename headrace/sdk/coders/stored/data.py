"""``dumps`` and ``loads``: values as bytes, in the shuffle and in checkpoints.

The format is pickle's protocol 5 (PEP 307, 3154 and 574), which later Pythons read, with rules for classes
(docs/reference/stored-data.md): classes with fields have names with their fields, and classes with a
coder are written by it. Only a value that has none of these is pickled as its
class says. In a context :func:`~.stable.without_pickle` it is refused.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

from headrace.errors import ElementError, HeadraceError, PipelineError, shorten
from headrace.sdk.coders.stored.fields import fields_of, is_positional, record_values
from headrace.sdk.coders.stored.names import OWN_NAMES, can_be_found, name_of
from headrace.sdk.coders.stored.registered import coder_of, is_registered, reducers
from headrace.sdk.coders.stored.restoring import decoded, stored_class, stored_record
from headrace.sdk.coders.stored.stable import (
    REGISTER_REMEDY,
    STANDARD,
    is_own,
    is_stable,
    is_written_by_name,
    pickle_is_refused,
)
from headrace.stored_formats import DATA
from headrace.windowing.window import IntervalWindow, interval

FORMAT: Final = DATA
"""The number of the format."""

Reduce = Callable[[Any], Any]


def dumps(value: object) -> bytes:
    """Return a value as bytes.

    Raises:
        ElementError: a coder fails; or the value would be pickled, which is refused.
        pickle.PicklingError, AttributeError, TypeError: a class cannot be found by its name.

    >>> loads(dumps({"a": (1, 2.5, None)}))
    {'a': (1, 2.5, None)}
    """
    stream = io.BytesIO()
    (StrictPickler if pickle_is_refused() else Pickler)(stream, 5).dump(value)
    return stream.getvalue()


def dumps_by_name(value: object) -> bytes | None:
    """Return a value as bytes; None if a class cannot be found by its name, but pickled by value.

    Raises:
        ElementError: a coder fails; or the value would be pickled, which is refused.
    """
    try:
        return dumps(value)
    except HeadraceError:
        raise
    except (pickle.PicklingError, AttributeError, TypeError):
        if pickle_is_refused():
            raise
        return None


def loads(data: bytes) -> Any:
    """Return the value that :func:`dumps` was given.

    Raises:
        PipelineError: a class is missing or has changed too much; or the data needs pickle, which is refused.
    """
    return _StrictUnpickler(io.BytesIO(data)).load() if pickle_is_refused() else pickle.loads(data)


class Pickler(pickle.Pickler):
    """Writes values by the rules for classes."""

    def reducer_override(self, value: object) -> Any:
        """Return how a value is written that is not of a built-in type."""
        return reduced(value)


def reduced(value: object) -> Any:
    """Return how a value is written, as ``__reduce__`` would; NotImplemented if the rules say nothing."""
    kind: Any = type(value)
    reduce = reducers.get(kind, _NEW)
    if reduce is _NEW:
        reduce = reducers[kind] = _reducer(kind)
    return NotImplemented if reduce is None else reduce(value)


_NEW: Final = object()


def _reducer(kind: Any) -> Reduce | None:
    if issubclass(kind, type):
        return _reduced_class
    if kind is IntervalWindow:
        return _reduced_interval
    coder = coder_of(kind)
    if coder is not None:
        name, encode = name_of(kind), coder.encode
        return lambda value: (decoded, (name, encode(value)))
    if fields_of(kind) is not None and is_positional(kind) and can_be_found(kind):
        return lambda value: (stored_record, (kind, record_values(value)))
    return None


def _reduced_interval(window: IntervalWindow) -> object:
    return interval, tuple(window)


def _reduced_class(kind: Any) -> object:
    """Return how a class is written: by its name, with the fields that it has."""
    if _is_known(kind):
        return NotImplemented
    by_name = is_written_by_name(kind) or is_registered(kind)
    if not (by_name and can_be_found(kind)):
        return NotImplemented
    return stored_class, (name_of(kind), fields_of(kind))


def _is_known(value: Any) -> bool:
    return (value.__module__, value.__qualname__) in OWN_NAMES


class StrictPickler(Pickler):
    """Refuses values that only pickle can write."""

    def reducer_override(self, value: object) -> Any:
        """Return how a value is written."""
        kind: Any = value if isinstance(value, type) else type(value)
        if isinstance(value, (FunctionType, BuiltinFunctionType)):
            if _is_known(value):
                return NotImplemented
        elif is_stable(kind):
            return reduced(value)
        raise ElementError(
            f"{shorten(value)} would be pickled, which --no-pickle forbids: nothing says how to write values "
            f"of {name_of(kind)}",
            remedy=REGISTER_REMEDY,
        )


class _StrictUnpickler(pickle.Unpickler):
    """Finds only what :class:`StrictPickler` writes."""

    def find_class(self, module: str, name: str) -> object:
        if f"{module}.{name}" in STANDARD or (module, name) in OWN_NAMES:
            return super().find_class(module, name)
        if is_own(module):
            found = super().find_class(module, name)
            if isinstance(found, type) and is_own(found.__module__):
                return found
        raise PipelineError(
            f"the data needs {module}.{name} to be unpickled, which --no-pickle forbids",
            remedy="run without --no-pickle, or start from a checkpoint that was written with it",
        )
