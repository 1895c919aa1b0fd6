"""The classes that programs register: with a coder, or with a name only."""

from __future__ import annotations

from typing import Any, Final

import attrs

from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.stored.checked_coder import CheckedCoder
from headrace.sdk.coders.stored.names import check_name, give_name, name_of


@attrs.frozen
class Registration:
    """A registered class.

    Attributes:
        kind: the class.
        coder: its coder; None if it is written by its fields.
        name: the name of the class in stored data.
    """

    kind: type
    coder: Coder | None
    name: str


_REGISTERED: Final[dict[type, Registration]] = {}

_CODED: Final[dict[type, CheckedCoder]] = {}

reducers: Final[dict[type, Any]] = {}
"""How values are written, by class, as :mod:`~.data` has found out; None where its rules say nothing."""


def register(kind: type, coder: Coder | None, name: str | None = None) -> None:
    """Register a class; a later registration replaces an earlier one.

    Raises:
        PipelineError: another class has the name.
    """
    own = name or name_of(kind)
    check_name(kind, own)
    _register(Registration(kind, coder, own))


def _register(registration: Registration) -> None:
    kind, coder, own = registration.kind, registration.coder, registration.name
    give_name(kind, own)
    _REGISTERED[kind] = registration
    reducers.clear()
    _CODED.pop(kind, None)
    if coder is not None:
        _CODED[kind] = CheckedCoder(coder, own)


def is_registered(kind: type) -> bool:
    """Return whether a class is registered."""
    return kind in _REGISTERED


def coder_of(kind: type) -> CheckedCoder | None:
    """Return the registered coder of a class; None if it has none."""
    return _CODED.get(kind)


def has_coders() -> bool:
    """Return whether any class has a coder."""
    return bool(_CODED)


def deterministic_coder(kind: type) -> CheckedCoder | None:
    """Return the registered coder of a class if it can encode keys."""
    found = _CODED.get(kind)
    return found if found is not None and found.coder.is_deterministic() else None


@attrs.frozen
class Registrations:
    """Registrations for another process; unpickling registers them there."""

    entries: tuple[Registration, ...] = ()

    @classmethod
    def of_this_process(cls) -> Registrations:
        """Return all of this process."""
        return cls(tuple(_REGISTERED.values()))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a call that registers the classes."""
        return _register_all, self.entries


def _register_all(*entries: Registration) -> Registrations:
    for entry in entries:
        _register(entry)
    return Registrations(entries)
