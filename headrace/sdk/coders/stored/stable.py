"""Classes that are written without pickling, and contexts that refuse others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import Enum
from typing import Any, Final

from headrace.sdk.coders.stored.fields import fields_of
from headrace.sdk.coders.stored.names import can_be_found
from headrace.sdk.coders.stored.registered import coder_of
from headrace.windowing.window import BoundedWindow

_NAMES: Final = {
    "builtins": "NoneType bool bytearray bytes complex dict ellipsis float frozenset int list range set "
    "slice str tuple",
    "collections": "Counter OrderedDict deque",
    "datetime": "date datetime time timedelta timezone",
    "decimal": "Decimal",
    "fractions": "Fraction",
    "ipaddress": "IPv4Address IPv4Network IPv6Address IPv6Network",
    "itertools": "repeat",
    "pathlib": "PosixPath PurePosixPath",
    "uuid": "SafeUUID UUID",
    "zoneinfo": "ZoneInfo",
}

STANDARD: Final = frozenset(
    f"{module}.{name}" for module, names in _NAMES.items() for name in names.split()
)
"""Classes of Python whose values have a fixed form in the format."""

REGISTER_REMEDY: Final = (
    "register a coder for the class (coders.registry.register_coder), or make it a named tuple, a dataclass "
    "or an attrs class of a module"
)

_REFUSED: Final[ContextVar[bool]] = ContextVar("without_pickle", default=False)


def is_stable(kind: type) -> bool:
    """Return whether values of a class are written without pickling, as far as the class says.

    >>> from decimal import Decimal
    >>> from io import StringIO
    >>> is_stable(Decimal), is_stable(StringIO)
    (True, False)
    """
    return (
        f"{kind.__module__}.{kind.__qualname__}" in STANDARD
        or is_own(kind.__module__)
        or coder_of(kind) is not None
        or (is_written_by_name(kind) and can_be_found(kind))
    )


def is_written_by_name(kind: Any) -> bool:
    """Return whether the form of values of a class is known, so that only the class is named."""
    return fields_of(kind) is not None or issubclass(kind, (Enum, BoundedWindow))


def is_own(module: str) -> bool:
    """Return whether a module is one of Headrace."""
    return module.partition(".")[0] == "headrace"


def pickle_is_refused() -> bool:
    """Return whether values that only pickle can write or read are refused in this context."""
    return _REFUSED.get()


def refuse_pickle(refused: bool) -> None:
    """Refuse values that only pickle can write or read from now on in this context, or allow them."""
    _REFUSED.set(refused)


@contextmanager
def without_pickle() -> Iterator[None]:
    """Refuse values that only pickle can write or read."""
    token = _REFUSED.set(True)
    try:
        yield
    finally:
        _REFUSED.reset(token)
