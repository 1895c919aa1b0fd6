"""The check that functions do not change their inputs (``--check-mutation``).

An element can be shared: by other steps that read the same collection, by the state of a grouping, and by a
retraction, which must equal the value that it retracts. The check compares a pickle of the elements from
before a call with one from after it, as the direct runner of Beam's Java SDK does. Elements of immutable
types are not pickled, and elements that can be neither pickled nor encoded are not checked.

The same flag checks what steps emit (:mod:`headrace.runners.checks.emitted_check`), and accumulators
(:mod:`headrace.runners.checks.accumulator_check`).
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs

from headrace.errors import MutationError, shorten
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.elements.immutable import are_immutable, is_immutable


@contextmanager
def unchanged(
    values: list[object], culprit: str, label: str, what: str = "its input"
) -> Iterator[None]:
    """Check that the body, unless it fails, does not change values.

    Args:
        values: the values.
        culprit: the function that the body calls, for errors.
        label: label of the step, for errors.
        what: the values of the function, for errors.

    Raises:
        MutationError: a value is different after the body.
    """
    if are_immutable(values):
        yield
        return
    before = _pickled(values)
    encodings = None if before else list(map(_encoded, values))
    yield
    changes = _changes_since(before, values) if before else _recoded(encodings or [], values)
    for change in changes:
        raise MutationError(
            f"{culprit} changed {what} {change}",
            where=label,
            remedy="copy the value before you change it, for example with sorted(values) or dict(value); "
            "other steps and retractions use the same object",
        )


def _pickled(values: list[object]) -> bytes | None:
    """Return a pickle of all values, which is faster than one of each; None if that fails."""
    try:
        return pickle.dumps(values, protocol=5)
    except Exception:  # a value can raise anything
        return None


def _encoded(value: object) -> bytes | None:
    """Return the encoding of a value, such as one of a class that is defined in a function."""
    try:
        return encode_value(value)
    except Exception:  # a value can raise anything
        return None


def _changes_since(pickled: bytes, values: list[object]) -> Iterator[str]:
    """Describe the values that are different from their copies in a pickle."""
    if _pickled(values) == pickled:
        return
    try:
        copies = pickle.loads(pickled)
    except Exception:  # a class can raise anything
        return
    for before, after in zip(copies, values, strict=True):
        if not _is_equal(before, after):
            yield f"{shorten(before)} to {shorten(after)}"


def _is_equal(before: object, after: object) -> bool:
    """Return whether values have the same encoding, or are equal: objects may cache what they compute."""
    try:
        return encode_value(before) == encode_value(after) or bool(before == after)
    except Exception:  # a value can raise anything
        return False


def _recoded(encodings: list[bytes | None], values: list[object]) -> Iterator[str]:
    """Describe the values whose encoding has changed."""
    for encoding, value in zip(encodings, values, strict=True):
        if encoding is not None and _encoded(value) != encoding:
            yield f"to {shorten(value)}"


@attrs.frozen(eq=False)
class Snapshot:
    """A value that can change, and its copy from the time of the snapshot.

    Attributes:
        value: the value.
        pickled: its pickle, if it has one.
        encoding: its encoding, if it has no pickle.
    """

    value: Any
    pickled: bytes | None
    encoding: bytes | None

    @staticmethod
    def of(value: Any) -> Snapshot | None:
        """Return a snapshot; None if the value cannot change, or can be neither pickled nor encoded."""
        if is_immutable(value):
            return None
        pickled = _pickled([value])
        encoding = None if pickled else _encoded(value)
        return Snapshot(value, pickled, encoding) if pickled or encoding else None

    @property
    def change(self) -> str:
        """The value then and now, for errors; empty if it has not changed."""
        if self.pickled is None:
            return next(_recoded([self.encoding], [self.value]), "")
        return next(_changes_since(self.pickled, [self.value]), "")
