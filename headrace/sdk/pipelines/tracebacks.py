"""Tracebacks without the frames of Headrace: an error of a user's function shows the call and the function.

A run reaches a function through many frames of its own, which say nothing about the error. They are removed
when the error leaves the run; its type, notes and causes remain. ``--full-traceback`` keeps all frames, and
so does an error that arises in Headrace itself and is not one of its own classes.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Final

import attrs

from headrace.errors import HeadraceError

OWN_PACKAGE: Final = "headrace"


@attrs.frozen
class HiddenFrames:
    """A context manager that removes the frames of Headrace from the traceback of an error.

    It is a class, since a generator as context manager would restore the traceback.

    Attributes:
        full: whether to keep all frames.
    """

    full: bool = False

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the frames from the tracebacks of the error and of its causes."""
        if error is not None and self.full:
            show_frames(error)
        elif error is not None:
            hide_frames(error)


def hide_frames(error: BaseException) -> None:
    """Remove Headrace's frames from the tracebacks of an error and of its causes."""
    for each in _with_causes(error):
        each.__traceback__ = without_own_frames(each)


def show_frames(error: BaseException) -> None:
    """Show the frames that were removed from the tracebacks of workers, which are text."""
    for each in _with_causes(error):
        show_all = getattr(each, "show_all", None)
        if show_all is not None:
            show_all()


def without_own_frames(error: BaseException) -> TracebackType | None:
    """Return the traceback of an error without Headrace's frames; the whole one if it arose in Headrace.

    >>> from headrace.sdk.pipelines.tracebacks import without_own_frames
    >>> program = {"__name__": "program"}
    >>> exec("def inverse(x): return 1 / x", program)
    >>> try:
    ...     with Pipeline(argv=["--full-traceback"]) as p:
    ...         _ = p | Create([0]) | Map(program["inverse"])
    ... except ZeroDivisionError as error:
    ...     found = without_own_frames(error)
    >>> found.tb_frame.f_code.co_name, found.tb_next
    ('inverse', None)
    """
    entries = list(_entries(error.__traceback__))
    if not entries or (_is_own(entries[-1]) and not _is_raised_for_user(error)):
        return error.__traceback__
    kept: TracebackType | None = None
    for entry in reversed(entries):
        if not _is_own(entry):
            kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept


def _is_raised_for_user(error: BaseException) -> bool:
    """Return whether Headrace raises the error for its user: an error of its own, or one of a worker."""
    return isinstance(error, HeadraceError) or hasattr(error.__cause__, "show_all")


def _entries(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _is_own(entry: TracebackType) -> bool:
    return str(entry.tb_frame.f_globals.get("__name__")).partition(".")[0] == OWN_PACKAGE


def _with_causes(error: BaseException) -> list[BaseException]:
    """Return an error with all its causes and contexts."""
    found: dict[int, BaseException] = {}
    left: list[BaseException | None] = [error]
    while left:
        each = left.pop()
        if each is not None and id(each) not in found:
            found[id(each)] = each
            left += [each.__cause__, each.__context__]
    return [*found.values()]
