"""Errors with three parts: what is wrong, where, and what to do about it."""

from __future__ import annotations

import reprlib

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = 4
_REPR.maxdict = 3


def shorten(value: object) -> str:
    """Return the repr of a value, shortened to fit into one line of an error message.

    >>> shorten(list(range(100)))
    '[0, 1, 2, 3, ...]'
    """
    return _REPR.repr(value)


class HeadraceError(Exception):
    """Base class of all errors that Headrace raises.

    Args:
        problem: what is wrong.
        where: the full label of the transform, and the element if one causes the error.
        remedy: what the reader can do about it.

    >>> print(HeadraceError("the key {1} has no order", where="GroupByKey", remedy="use a tuple"))
    the key {1} has no order
      where: GroupByKey
      what to do: use a tuple
    """

    def __init__(self, problem: str, *, where: str = "", remedy: str = "") -> None:
        self.problem = problem
        self.where = where
        self.remedy = remedy
        super().__init__(problem)

    def __str__(self) -> str:
        """Join the parts that are present, one per line."""
        lines = [self.problem]
        if self.where:
            lines.append(f"  where: {self.where}")
        if self.remedy:
            lines.append(f"  what to do: {self.remedy}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all parts; by default only the message would be passed to the constructor."""
        return _rebuild, (type(self), self.problem, self.where, self.remedy)


def _rebuild(cls: type[HeadraceError], problem: str, where: str, remedy: str) -> HeadraceError:
    return cls(problem, where=where, remedy=remedy)


class TimeError(HeadraceError, ValueError):
    """A timestamp, duration or time zone that is malformed or out of range.

    >>> Timestamp.of("yesterday")
    Traceback (most recent call last):
    headrace.errors.TimeError: the time 'yesterday' is not in ISO 8601 form...
    """


class PipelineError(HeadraceError, ValueError):
    """A pipeline that is refused while it is built, before any data flows.

    >>> _ = Pipeline() | Create([1, 2]) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.PipelineError: the elements of PCollection[Create] are of type int...
    """


class UnsupportedError(PipelineError):
    """A node or feature that the runner does not support.

    >>> Pipeline(runner="abacus").run()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: there is no runner 'abacus'...
    """


class ElementError(HeadraceError, TypeError):
    """An element that a transform does not accept, such as a non-pair before a grouping.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([1, 2]) | Map(lambda x: x) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.ElementError: the element 1 is not a (key, value) pair...
    """


class KeyEncodingError(ElementError):
    """A key without a deterministic encoding.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([({1, 2}, "a")]) | GroupByKey()
    Traceback (most recent call last):
    headrace.errors.KeyEncodingError: {1, 2} of type set cannot be a key...
    """


class FailuresError(HeadraceError, ValueError):
    """More elements failed than ``with_exception_handling(threshold=…)`` allows.

    >>> with TestPipeline() as p:
    ...     _ = p | Create(["1", "x"]) | Map(int).with_exception_handling(threshold=0.1)
    Traceback (most recent call last):
    headrace.errors.FailuresError: 1 of 2 elements failed in the window...
    """


class FileError(HeadraceError, ValueError):
    """A file or record that cannot be read or written.

    >>> Pipeline() | hr.io.ReadFromText("nowhere/*.txt")
    Traceback (most recent call last):
    headrace.errors.FileError: no file matches 'nowhere/*.txt'...
    """
