"""Steps in errors and logs: an error gets notes with the transform, and with the element or key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final, TypeVar

from headrace.errors import ON_ELEMENT, note_element, shorten
from headrace.sdk.metrics.step_logging import LogContext, exchange_log_context, no_windows
from headrace.windowing.window import BoundedWindow

T = TypeVar("T")

_END: Final = object()

_KEY: Final = "for the key "


@contextmanager
def label_errors(
    label: str, windows: Callable[[], Iterable[BoundedWindow]] = no_windows
) -> Iterator[None]:
    """Add a transform's label to log records, and as a note to an error without another label.

    Args:
        label: full label of the transform.
        windows: returns the windows of the current element, for log records.
    """
    before = exchange_log_context(LogContext(label, windows))
    try:
        yield
    except Exception as error:
        if not any(note.startswith("in ") for note in getattr(error, "__notes__", ())):
            error.add_note(f"in {label}")
        raise
    finally:
        exchange_log_context(before)


def each_within(
    enter: Callable[[], AbstractContextManager[object]], items: Iterable[T]
) -> Iterator[T]:
    """Iterate with the iterator in a context, but not the code that uses the items.

    Args:
        enter: returns a new context.
        items: what to iterate over.

    >>> from contextlib import nullcontext
    >>> list(each_within(nullcontext, "ab"))
    ['a', 'b']
    """
    iterator = iter(items)
    while True:
        with enter():
            item = next(iterator, _END)
        if item is _END:
            return
        yield item  # type: ignore[misc]  # it is not the end


def label_errors_each(label: str, items: Iterable[T]) -> Iterator[T]:
    """Iterate; add the label to errors of the iterator, but not of the code that uses the items."""
    return each_within(lambda: label_errors(label), items)


@contextmanager
def note_method(name: str) -> Iterator[None]:
    """Add the method of a DoFn that was called as a note to an error.

    Args:
        name: the name of the method, such as ``setup``.
    """
    try:
        yield
    except Exception as error:
        error.add_note(f"from the method {name}")
        raise


def note_key(error: Exception, key: object) -> None:
    """Add a key as a note to an error, unless it has the note of an element or key."""
    notes = getattr(error, "__notes__", ())
    if not any(note.startswith((ON_ELEMENT, _KEY)) for note in notes):
        error.add_note(f"{_KEY}{shorten(key)}")


def note_combined(
    error: Exception, combine: Callable[[list[Any]], object], key: object, values: list[object]
) -> None:
    """Add the first element with which combining fails as a note to an error, or else the key.

    Args:
        error: the error.
        combine: combines values; it failed, and is called again to find the element.
        key: the key of the values.
        values: the values.
    """
    if _fails(combine, []) or not _fails(combine, values):
        note_key(error, key)
        return
    good, bad = 0, len(values)
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (good, middle) if _fails(combine, values[:middle]) else (middle, bad)
    note_element(error, (key, values[bad - 1]))


def _fails(combine: Callable[[list[Any]], object], values: list[object]) -> bool:
    try:
        combine(values)
    except Exception:  # any error of the user's function
        return True
    return False
