"""Errors and warnings with three parts: what is wrong, where, and what to do about it."""

from __future__ import annotations

import reprlib
import sys
import warnings
from importlib import import_module
from types import FrameType
from typing import Any, Final

_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 80
_REPR.maxlist = _REPR.maxtuple = _REPR.maxset = 4
_REPR.maxdict = 3


def shorten(value: object) -> str:
    """Return the repr of a value, shortened to fit into one line of an error message.

    >>> shorten(list(range(100)))
    '[0, 1, 2, 3, ...]'
    """
    return printable(_REPR.repr(value))


def printable(text: str) -> str:
    r"""Return text with escapes for characters that would act on a terminal or begin a line of a log.

    >>> printable("a\n\x1b[2Jb, é")
    'a\\n\\x1b[2Jb, é'
    """
    return text if text.isprintable() else "".join(map(_escaped, text))


def printable_lines(text: str) -> str:
    """Return text of one or more lines as :func:`printable`; all but the first are indented."""
    return "\n    ".join(map(printable, text.split("\n")))


def _escaped(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode("ascii")


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
        lines = [printable_lines(self.problem)]
        if self.where:
            lines.append(f"  where: {printable_lines(self.where)}")
        if self.remedy:
            lines.append(f"  what to do: {printable_lines(self.remedy)}")
        return "\n".join(lines)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle all parts; by default only the message would be passed to the constructor."""
        return _rebuild, (type(self), self.problem, self.where, self.remedy)


def _rebuild(cls: type[HeadraceError], problem: str, where: str, remedy: str) -> HeadraceError:
    return cls(problem, where=where, remedy=remedy)


ON_ELEMENT: Final = "on the element "
"""How a note with an element begins."""


def note_element(error: Exception, element: object) -> None:
    """Add an element as a note to an error of the user's code."""
    error.add_note(f"{ON_ELEMENT}{shorten(element)}")


class HeadraceWarning(UserWarning):
    """A pipeline that runs, but probably not as its author expects.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", HeadraceWarning)
    ...     Pipeline(argv=["--streamin"]).run()
    Traceback (most recent call last):
    headrace.errors.HeadraceWarning: there is no flag --streamin, so it has no effect...
    """


def warn(problem: str, *, where: str = "", remedy: str = "") -> None:
    """Warn, with the line of the program that calls Headrace.

    Args:
        problem: what is unexpected.
        where: the full label of the transform.
        remedy: what the reader can do about it.

    >>> import warnings
    >>> from headrace.errors import warn
    >>> with warnings.catch_warnings(record=True) as seen:
    ...     warnings.simplefilter("always")
    ...     warn("nothing is read", where="Read", remedy="add a file")
    >>> print(seen[0].message)
    Read: nothing is read; add a file
    """
    text = "; ".join(part for part in (problem, remedy) if part)
    message = HeadraceWarning(printable_lines(f"{where}: {text}" if where else text))
    frame = caller()
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    warnings.warn_explicit(
        message, HeadraceWarning, frame.f_code.co_filename, frame.f_lineno, registry=registry
    )


def caller() -> FrameType:
    """Return the frame of the program that called this package; the outermost frame if there is none."""
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_own(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    return frame


def _is_own(module: str) -> bool:
    return module.partition(".")[0] in ("headrace", "contextlib", "attr")


class TimeError(HeadraceError, ValueError):
    """A timestamp, duration or time zone that is malformed or out of range.

    >>> Timestamp.of("yesterday")
    Traceback (most recent call last):
    headrace.errors.TimeError: the time 'yesterday' is not in ISO 8601 form...
    """


class TimeTypeError(TimeError, TypeError):
    """A value in place of a time or duration that is neither.

    >>> Timestamp(3) - [1]
    Traceback (most recent call last):
    headrace.errors.TimeTypeError: [1] is not a duration...
    """


class PipelineError(HeadraceError, ValueError, RuntimeError):
    """A pipeline that is refused while it is built, before any data flows.

    It is a RuntimeError too, which Beam raises for a label that is in use and for a pipeline that has run.

    >>> Pipeline() | Create([1, 2]) | WindowInto(60)
    Traceback (most recent call last):
    headrace.errors.PipelineError: WindowInto needs a window function, not 60...
    """


class ScriptError(PipelineError, AssertionError):
    """An event that a test stream refuses; an AssertionError, as in Beam.

    >>> TestStream().advance_watermark_to(60).advance_watermark_to(30)
    Traceback (most recent call last):
    headrace.errors.ScriptError: a test stream cannot advance the watermark to Timestamp(30)...
    """


class TypeCheckError(PipelineError, TypeError):
    """Elements that are not of the type that a step declares (Beam's name).

    It is raised while the pipeline is built, and with ``--runtime_type_check`` also while it runs.

    >>> _ = Pipeline() | Create([1, 2]) | Map(str.upper)
    Traceback (most recent call last):
    headrace.errors.TypeCheckError: Map(upper) requires elements of type str, but was applied to ... int...
    """


class UnsupportedError(PipelineError, NotImplementedError):
    """A node or feature that the runner does not support.

    >>> Pipeline(runner="abacus").run()
    Traceback (most recent call last):
    headrace.errors.UnsupportedError: there is no runner 'abacus'...
    """


class CheckpointInUseError(PipelineError):
    """A start of a run on a checkpoint that another run owns.

    >>> from headrace.runners.spark.state.acquire_lease import acquire
    >>> from headrace.runners.spark.state.lease_files import LocalLeaseFiles
    >>> files = LocalLeaseFiles(getfixture("tmp_path") / "owner")
    >>> lease = acquire(files, "/data/mill")
    >>> acquire(files, "/data/mill")
    Traceback (most recent call last):
    headrace.errors.CheckpointInUseError: the checkpoint /data/mill is in use by another run of...
    """


class LeaseLostError(HeadraceError, RuntimeError):
    """A run whose checkpoint was taken over by another run, after it was paused for a long time.

    >>> import shutil
    >>> from headrace.runners.spark.state.acquire_lease import acquire
    >>> from headrace.runners.spark.state.lease_files import LocalLeaseFiles
    >>> directory = getfixture("tmp_path") / "owner"
    >>> lease = acquire(LocalLeaseFiles(directory), "/data/mill")
    >>> shutil.rmtree(directory)
    >>> lease.check()
    Traceback (most recent call last):
    headrace.errors.LeaseLostError: the checkpoint /data/mill was deleted while this run used it...
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


class MutationError(HeadraceError, RuntimeError):
    """A function that changes its input or output, found with ``--check-mutation``, which tests use.

    >>> with TestPipeline() as p:
    ...     _ = p | Create([("a", [2, 1])]) | "Sort" >> Map(lambda pair: pair[1].sort())
    Traceback (most recent call last):
    headrace.errors.MutationError: the function changed its input ('a', [2, 1]) to ('a', [1, 2])...
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


def require_extra(module: str, extra: str, use: str, also: str = "") -> Any:
    """Import a module of an optional package.

    Args:
        module: the name of the module.
        extra: the extra of Headrace that installs the package.
        use: what the package is used for, in words that end with its name.
        also: what else may have to be installed, after a comma.

    Raises:
        PipelineError: the package is not installed.

    >>> from headrace.errors import require_extra
    >>> require_extra("wheelwright", "wheels", "mills turn with wheelwright")
    Traceback (most recent call last):
    headrace.errors.PipelineError: mills turn with wheelwright, which is not installed
      what to do: pip install 'headrace[wheels]'
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise PipelineError(
            f"{use}, which is not installed", remedy=f"pip install 'headrace[{extra}]'{also}"
        ) from error
