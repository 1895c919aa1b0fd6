"""Naming the transform in whatever goes wrong in it; the error itself stays what it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_END: Final = object()


@contextmanager
def failing_in(label: str) -> Iterator[None]:
    """Note a transform's label on an error, unless a transform has been named already."""
    try:
        yield
    except Exception as error:
        if not any(note.startswith("in ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"in {label}")
        raise


def failing_in_each(label: str, items: Iterable[T]) -> Iterator[T]:
    """Iterate; note the label on an error that the items raise, not on one that their user does."""
    iterator = iter(items)
    while True:
        with failing_in(label):
            item = next(iterator, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]  # it is no end
