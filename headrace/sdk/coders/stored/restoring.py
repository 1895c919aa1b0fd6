"""The functions that stored data calls (:data:`~.names.OWN_NAMES`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import PipelineError
from headrace.sdk.coders.stored.fields import fields_of, with_fields
from headrace.sdk.coders.stored.names import class_named
from headrace.sdk.coders.stored.registered import coder_of
from headrace.sdk.coders.stored.stable import is_stable, pickle_is_refused


def stored_class(name: str, fields: tuple[str, ...] | None) -> Any:
    """Return the class with a name.

    Args:
        name: the name of the class.
        fields: the fields that it had when the data was written; None if it had none.

    Raises:
        PipelineError: the class is missing, or has changed otherwise than by new fields with defaults.
    """
    kind = class_named(name)
    if pickle_is_refused() and not is_stable(kind):
        raise PipelineError(
            f"the data has values of the class {name}, which are pickled, and --no-pickle forbids that",
            remedy="run without --no-pickle, or start from a checkpoint that was written with it",
        )
    return kind if fields is None or fields == fields_of(kind) else with_fields(kind, fields)


def stored_record(kind: Any, values: Sequence[object]) -> Any:
    """Return a value of a class whose state has no names (see :func:`~.fields.is_positional`)."""
    earlier = getattr(kind, "earlier_fields", None)
    value = object.__new__(kind) if earlier is None else kind()
    for name, field in zip(earlier or fields_of(kind) or (), values, strict=True):
        object.__setattr__(value, name, field)
    return value


def decoded(name: str, encoded: bytes) -> Any:
    """Return the value of a class with a coder.

    Raises:
        PipelineError: the class has no coder any more, or the coder cannot read the data.
    """
    coder = coder_of(class_named(name))
    if coder is None:
        raise PipelineError(
            f"the stored data has values of {name} that a coder has written, but the class has none now",
            remedy="register its coder before the pipeline runs",
        )
    return coder.decode(encoded)
