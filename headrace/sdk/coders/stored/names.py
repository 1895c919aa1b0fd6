"""The names of classes in stored data.

A class has the name under which it is registered; else its module and qualified name.
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any, Final

from headrace.errors import PipelineError

OWN_NAMES: Final = frozenset(
    {
        ("headrace.runners.contents.side_input_files", "ValuesFile"),
        ("headrace.runners.stateful.stateful_state", "TimerId"),
        ("headrace.sdk.elements.row", "Row"),
        ("headrace.sdk.elements.row", "_record"),
        ("headrace.sdk.elements.row", "_row"),
        ("headrace.sdk.coders.stored.restoring", "decoded"),
        ("headrace.sdk.coders.stored.restoring", "stored_class"),
        ("headrace.sdk.coders.stored.restoring", "stored_record"),
        ("headrace.sdk.pardo.state.specs", "EncodedState"),
        ("headrace.grouping.state.key_state", "Output"),
        ("headrace.grouping.state.key_state", "PaneNumbers"),
        ("headrace.triggers.pane", "PaneInfo"),
        ("headrace.triggers.pane", "PaneInfoTiming"),
        ("headrace.windowing.time.timestamps", "Duration"),
        ("headrace.windowing.time.timestamps", "Timestamp"),
        ("headrace.windowing.timestamped_value", "TimestampedValue"),
        ("headrace.windowing.window", "GlobalWindow"),
        ("headrace.windowing.window", "IntervalWindow"),
        ("headrace.windowing.window", "_rebuild"),
        ("headrace.windowing.window", "interval"),
    }
)
"""The classes and functions of Headrace in stored data: the modules and names by which it refers to them.

If one of them moves, the number of each format rises (:mod:`headrace.stored_formats`).
"""

_CLASSES: Final[dict[str, type]] = {}
"""Registered classes by the names that they have or had."""

_NAMES: Final[dict[type, str]] = {}
"""The names of registered classes."""


def name_of(kind: type) -> str:
    """Return the name of a class in stored data.

    >>> from decimal import Decimal
    >>> name_of(Decimal)
    'decimal.Decimal'
    """
    return _NAMES.get(kind) or f"{kind.__module__}.{kind.__qualname__}"


def check_name(kind: type, name: str) -> None:
    """Check that a class can have a name.

    Raises:
        PipelineError: another class has the name.
    """
    other = _CLASSES.get(name)
    if other is not None and other is not kind and not _is_copy(kind, other):
        raise PipelineError(
            f"the name {name!r} belongs to {other.__module__}.{other.__qualname__}, so "
            f"{kind.__module__}.{kind.__qualname__} cannot have it",
            remedy="register one of them with another name",
        )


def give_name(kind: type, name: str) -> None:
    """Give a class a name; another class that has it loses it."""
    _NAMES[kind] = name
    _CLASSES[name] = kind


def _is_copy(one: type, other: type) -> bool:
    """Return whether two classes come from one definition, which was executed or unpickled again."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def class_named(name: str) -> type:
    """Return the class with a name in stored data.

    Raises:
        PipelineError: there is none.

    >>> class_named("decimal.Decimal")
    <class 'decimal.Decimal'>
    """
    found: Any = _CLASSES.get(name) or _imported(name)
    if isinstance(found, type):
        return found
    raise PipelineError(
        f"the stored data has values of the class {name}, which cannot be imported",
        remedy="if the class has another name or module now, register it with this name: "
        f"coders.registry.register_coder(NewClass, coders.RowCoder, name={name!r})",
    )


def _imported(name: str) -> object:
    """Import the class with a qualified name; None if there is none."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = _module(".".join(parts[:end]))
        if module is not None:
            found: Any = module
            for part in parts[end:]:
                found = getattr(found, part, None)
            return found
    return None


def _module(name: str) -> object:
    if name in sys.modules:
        return sys.modules[name]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            return None
        raise


def can_be_found(kind: type) -> bool:
    """Return whether a process that loads a value of a class finds the class by its name."""
    return kind in _NAMES or _imported(name_of(kind)) is kind
