"""Unpickles parts of a pipeline on workers; an error names what a worker lacks.

Spark unpickles a function before it calls it, so a package that a worker does not have would be an error of
Spark's, without the step. Plans are pickled as bytes instead, which a function of Headrace unpickles.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Mapping
from typing import Any, Final, Generic, TypeVar

import attrs
from pyspark import cloudpickle

from headrace.runners.spark.cluster.error_transport import wrapping
from headrace.runners.spark.cluster.missing_packages import missing
from headrace.runners.spark.worker.connection import acknowledge
from headrace.sdk.pipelines.graph import Node

LARGEST_PART: Final = 1 << 20
"""Maximum size in bytes of a pickled step that a probe sends to workers."""

_PICKLER: Final[Any] = cloudpickle

T = TypeVar("T")


@attrs.frozen
class Packed(Generic[T]):
    """A value as bytes, for processes that mostly do without it: importing its modules takes long."""

    data: bytes

    @classmethod
    def of(cls, value: T) -> Packed[T]:
        """Pickle a value."""
        return cls(_PICKLER.dumps(value))

    def value(self) -> T:
        """Unpickle the value, anew each time."""
        value: T = pickle.loads(self.data)
        return value


def reduced(value: Any, where: str) -> tuple[object, ...]:
    """Return what ``__reduce__`` of an attrs class returns, so that `restored` unpickles its fields.

    Args:
        value: an instance of an attrs class.
        where: the steps that it has, for errors.
    """
    kind = type(value)
    fields = tuple(getattr(value, field.name) for field in attrs.fields(kind))
    return restored, (kind, _PICKLER.dumps(fields), where)


def restored(kind: type[T], fields: bytes, where: str) -> T:
    """Unpickle the fields of an attrs class, and create it; also acknowledge the function that has them.

    Raises:
        TransportError: with an `UnsupportedError` if a package or module cannot be imported.
    """
    acknowledge()
    with wrapping():
        try:
            return kind(*pickle.loads(fields))
        except (ImportError, AttributeError) as error:
            raise missing(_module_of(error), str(error), where) from error


def in_parts(nodes: Iterable[Node]) -> dict[str, bytes]:
    """Return the pickled contents of nodes by label, without large ones such as the elements of a Create."""
    parts = {node.label: _PICKLER.dumps(_contents(node)) for node in nodes}
    return {label: part for label, part in parts.items() if len(part) <= LARGEST_PART}


def first_missing(parts: Mapping[str, bytes]) -> tuple[str, str, str] | None:
    """Unpickle parts; return the label, the missing module and the message of the first that fails."""
    for label, part in parts.items():
        try:
            pickle.loads(part)
        except (ImportError, AttributeError) as error:
            return label, _module_of(error), str(error)
    return None


def _contents(node: Node) -> dict[str, object]:
    return {f.name: getattr(node, f.name) for f in attrs.fields(type(node)) if f.name != "inputs"}


def _module_of(error: ImportError | AttributeError) -> str:
    """Return the top-level module that was not found; empty for other problems."""
    found = error.name if isinstance(error, ModuleNotFoundError) else None
    return (found or "").partition(".")[0]
