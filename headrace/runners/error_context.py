"""Labels in errors: a note with the transform on an error, which keeps its type and traceback."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

T = TypeVar("T")

_END: Final = object()


@contextmanager
def label_errors(label: str) -> Iterator[None]:
    """Add a transform's label as a note to an error, unless it has the note of another transform."""
    try:
        yield
    except Exception as error:
        if not any(note.startswith("in ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"in {label}")
        raise


def label_errors_each(label: str, items: Iterable[T]) -> Iterator[T]:
    """Iterate; add the label to errors of the iterator, but not of the code that uses the items."""
    iterator = iter(items)
    while True:
        with label_errors(label):
            item = next(iterator, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]  # it is not the end
