"""Classes with fields in stored data: named tuples, dataclasses and attrs classes.

A reference to such a class has its name and the names of its fields. So a value that was written before a
field was added can be read: the new field has its default.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final

import attrs

from headrace.errors import PipelineError

_MISSING: Final = object()

_HOOKS: Final = ("__reduce__", "__reduce_ex__", "__getnewargs_ex__")
"""Methods with which a class writes its values by itself."""


@lru_cache(maxsize=1024)
def fields_of(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a class; None if it has none, or writes its values by itself.

    >>> @dataclasses.dataclass
    ... class Sale:
    ...     item: str
    ...     price: int = 0
    >>> fields_of(Sale), fields_of(int)
    (('item', 'price'), None)
    """
    if any(getattr(kind, hook, None) is not getattr(object, hook, None) for hook in _HOOKS):
        return None
    if issubclass(kind, tuple):
        return _of_named_tuple(kind)
    if attrs.has(kind) and _state_is_fields(kind, "attr"):
        return tuple(f.name for f in attrs.fields(kind))
    if dataclasses.is_dataclass(kind) and _state_is_fields(kind, "dataclasses"):
        return tuple(f.name for f in dataclasses.fields(kind))
    return None


def _of_named_tuple(kind: type) -> tuple[str, ...] | None:
    own = vars(kind)
    if kind.__bases__ != (tuple,) or {"__getstate__", "__setstate__"} & own.keys():
        return None
    names: tuple[str, ...] | None = own.get("_fields")
    return names


def _state_is_fields(kind: type, maker: str) -> bool:
    """Return whether the state of a value is its fields: the class has no methods of its own for that."""
    for name in ("__getstate__", "__setstate__"):
        method = getattr(kind, name, None)
        if method is not getattr(object, name, None) and not _made_by(method, maker):
            return False
    return True


def _made_by(method: object, maker: str) -> bool:
    code = getattr(method, "__code__", None)
    home = getattr(method, "__globals__", {}).get("__name__", "")
    return code is not None and home.partition(".")[0] == maker


@lru_cache(maxsize=1024)
def is_positional(kind: type) -> bool:
    """Return whether the state of a value has no names: frozen dataclasses with slots."""
    return dataclasses.is_dataclass(kind) and _made_by(
        getattr(kind, "__getstate__", None), "dataclasses"
    )


@lru_cache(maxsize=1024)
def with_fields(kind: type, fields: tuple[str, ...]) -> type:
    """Return a class that creates values of a class from the fields that it had before.

    Raises:
        PipelineError: a field is gone, or a new one has no default.
    """
    now = fields_of(kind)
    if now is None:
        raise _changed(
            kind,
            "has no fields that can be read",
            "make it a named tuple, dataclass or attrs class again",
        )
    gone = [name for name in fields if name not in now]
    if gone:
        raise _changed(
            kind, f"has no field {gone[0]!r} any more", f"add the field {gone[0]!r} again"
        )
    defaults = {name: _default(kind, name) for name in now if name not in fields}

    def new(_: type, *values: Any) -> Any:
        if issubclass(kind, tuple):
            given = dict(zip(fields, values, strict=True))
            return kind(**given, **{name: make(None) for name, make in defaults.items()})
        value = object.__new__(kind)
        for name, make in defaults.items():
            object.__setattr__(value, name, make(value))
        return value

    return type(kind.__name__, (), {"__new__": new, "earlier_fields": fields})


def _changed(kind: type, what: str, remedy: str) -> PipelineError:
    name = f"{kind.__module__}.{kind.__qualname__}"
    return PipelineError(
        f"the stored data has values of an earlier {name}, but the class {what}",
        remedy=remedy,
    )


def _default(kind: Any, name: str) -> Callable[[Any], object]:
    """Return a function that makes the default of a field of a value."""
    default = _MISSING
    if issubclass(kind, tuple):
        default = kind._field_defaults.get(name, _MISSING)
    elif attrs.has(kind):
        field = attrs.fields_dict(kind)[name]
        if isinstance(field.default, attrs.Factory):  # type: ignore[arg-type]  # a class, in fact
            factory: Any = field.default
            return factory.factory if factory.takes_self else lambda _: factory.factory()
        default = _MISSING if field.default is attrs.NOTHING else field.default
    else:
        own = kind.__dataclass_fields__[name]
        if own.default_factory is not dataclasses.MISSING:
            return lambda _: own.default_factory()
        default = _MISSING if own.default is dataclasses.MISSING else own.default
    if default is _MISSING:
        raise _changed(
            kind, f"has the field {name!r} without a default", f"give the field {name!r} a default"
        )
    return lambda _: default


def record_values(value: object) -> tuple[Any, ...]:
    """Return the values of the fields of a value."""
    kind: Any = type(value)
    names = fields_of(kind) or ()
    return tuple(attrgetter(name)(value) for name in names)
