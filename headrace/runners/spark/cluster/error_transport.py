"""A user's exception crosses Spark: wrapped on the worker, found again on the driver, as it was.

Spark hands over the text of a Python error, inside one or several Java errors, and nothing else. So the
error itself travels in the text, pickled and written in letters between two delimiters. On the driver it is
raised again with its type and its notes; the worker's traceback is its cause, as with process pools.
"""

from __future__ import annotations

import base64
import pickle
import re
import traceback
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
from pyspark import cloudpickle

from headrace.errors import HeadraceError, PipelineError
from headrace.runners.spark.cluster.requirements import python_mismatch

LARGEST_ERROR: Final = 64 * 1024
"""An error whose pickle has more bytes than this travels as text."""

LONGEST_TEXT: Final = 16 * 1024
"""So many characters of a traceback, a message or the notes travel; the middle is left out."""

_PICKLER: Final[Any] = cloudpickle

_CARRIED: Final = re.compile(r"<headrace-error ([A-Za-z0-9+/=]+)>")

_PLANNER_DIED: Final = re.compile(
    r"(EOFException|SocketException|ClosedChannelException).{0,2000}PythonStreamingSourceRunner",
    re.DOTALL,
)

_LOG_DAMAGED: Final = re.compile(r"HDFSMetadataLog\.(\$anonfun\$)?getExistingBatch")


class CarriedError(Exception):
    """An error on its way from a worker to the driver; its text holds another one, pickled."""


class WorkerTraceback(Exception):
    """Where an error was raised on a worker, as text; the cause of the error on the driver."""

    def __str__(self) -> str:
        """Show the worker's traceback, set off from the driver's."""
        return f'\n"""\n{self.args[0]}"""'


class WorkerError(HeadraceError, RuntimeError):
    """A user's error that could not travel as it was: its type and message are in the text."""


class WorkerDiedError(HeadraceError, RuntimeError):
    """A worker's process that ended in the middle of its work."""


@attrs.frozen
class _Carried:
    """What travels: the error if it can be pickled, and its text in any case."""

    pickled: bytes | None
    text: str
    traceback: str
    notes: tuple[str, ...]


@contextmanager
def carrying() -> Iterator[None]:
    """Raise what the body raises so that it crosses Spark; for all code that runs on workers.

    Raises:
        CarriedError: instead of any Exception or SystemExit of the body.
    """
    try:
        yield
    except CarriedError:
        raise
    except (Exception, SystemExit) as error:
        raise wrap(error) from None


def wrap(error: BaseException) -> CarriedError:
    """Return an error whose text carries another; raise it ``from None``, or all is told twice."""
    if isinstance(error, CarriedError):
        return error
    carried = _Carried(
        pickled=_pickled(error),
        text=_shortened("".join(traceback.format_exception_only(type(error), error)).strip()),
        traceback=_shortened("".join(traceback.format_exception(error))),
        notes=tuple(_shortened(note) for note in getattr(error, "__notes__", ())[:20]),
    )
    packed = base64.b64encode(zlib.compress(pickle.dumps(attrs.astuple(carried)))).decode()
    summary = _shortened(f"{type(error).__name__}: {_text(error)}", 400).replace("\n", " ")
    return CarriedError(f"{summary} <headrace-error {packed}>")


def unwrap(error: BaseException) -> BaseException | None:
    """Return the error that one of Spark's carries, or a clear one for what went wrong, or None.

    Args:
        error: what a call to Spark raised, or what a streaming query ended with.

    Returns:
        The user's own exception with its notes, caused by a `WorkerTraceback`; or a
        `WorkerDiedError`, or an `UnsupportedError` for workers with another Python; or None where
        nothing is known that would be clearer than Spark's own words.
    """
    for text in _texts(error):
        for found in _CARRIED.finditer(text):
            restored = _restored(found[1])
            if restored is not None:
                return restored
    for text in _texts(error):
        known = _translated(text)
        if known is not None:
            return known
    return None


@contextmanager
def unwrapping() -> Iterator[None]:
    """Raise a user's own error where the body raises one of Spark's that carries it."""
    try:
        yield
    except Exception as error:
        known = unwrap(error)
        if known is None:
            raise
        raise known from known.__cause__


def _pickled(error: BaseException) -> bytes | None:
    """Return an error as bytes, if it survives the way there and back."""
    try:
        data: bytes = _PICKLER.dumps(error)
        again = pickle.loads(data)
    except Exception:
        return None
    return data if len(data) <= LARGEST_ERROR and isinstance(again, type(error)) else None


def _restored(packed: str) -> BaseException | None:
    """Return what was carried, or None where someone has only written of it."""
    try:
        carried = _Carried(*pickle.loads(zlib.decompress(base64.b64decode(packed))))
    except Exception:
        return None
    error = _unpickled(carried) or WorkerError(
        f"a worker's error, which cannot be sent as it is: {carried.text}",
        remedy="see the traceback of the worker, above",
    )
    if not isinstance(error, WorkerError):
        error.__notes__ = list(carried.notes)
    error.__cause__ = WorkerTraceback(carried.traceback)
    return error


def _unpickled(carried: _Carried) -> BaseException | None:
    try:
        error = pickle.loads(carried.pickled) if carried.pickled else None
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None


def _translated(text: str) -> BaseException | None:
    """Return a clear error for a text of Spark's that is known and unclear."""
    mismatch = re.search(r"PYTHON_VERSION_MISMATCH.*?version: (\d+\.\d+)", text)
    if mismatch:
        return python_mismatch(mismatch[1])
    if "Python worker exited unexpectedly" in text or "Python worker keeps on crashing" in text:
        return _worker_died(text)
    if "Python worker failed to connect back" in text:
        return WorkerDiedError(
            "a Python worker did not start within ten seconds, or died at once",
            remedy="most often the machine is too busy: run less at the same time, and start again; a "
            "streaming run goes on from its checkpoint",
        )
    if _LOG_DAMAGED.search(text):
        return _damaged("what Spark has logged of offsets or commits", r"log file (\S+?)\.? ", text)
    if "[CANNOT_LOAD_STATE_STORE" in text:
        return _damaged("the state", r"state file of (\S+)", text)
    if _PLANNER_DIED.search(text):
        return WorkerDiedError(
            "the Python process that reads the sources died: it was killed, or it crashed",
            remedy="most often it had too little memory: read less at once (--max-records-per-batch), or "
            "look for what native code the sources call",
        )
    return None


def _worker_died(text: str) -> WorkerDiedError:
    lost = re.search(r"Lost task \S+ in stage \S+ \(TID \d+\) \(([^)]*)\)", text)
    return WorkerDiedError(
        "a Python worker died in the middle of its work: it was killed, or it crashed",
        where=lost[1] if lost else "",
        remedy="most often it had too little memory: take more key groups (--key-groups), fewer tasks at "
        "once (--spark-conf spark.executor.cores=…, or --spark-master 'local[1]'), or more memory "
        "(--spark-conf spark.executor.pyspark.memory=…); if native code crashed, see where with "
        "--spark-conf spark.python.worker.faulthandler.enabled=true",
    )


def _damaged(what: str, place: str, text: str) -> PipelineError:
    found = re.search(place, text)
    return PipelineError(
        f"the checkpoint is damaged: {what} cannot be read",
        where=found[1] if found else "",
        remedy="restore it from a copy, or start from a new checkpoint",
    )


def _texts(error: BaseException) -> Iterator[str]:
    """Yield all the texts in which something may travel: of the error and of those behind it."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield _text(current)
        yield str(
            getattr(current, "_stackTrace", None) or ""
        )  # of Java: what lies behind Spark's own error
        current = current.__cause__ or current.__context__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # an error of Java's cannot be shown after its JVM has gone
        return f"<{type(error).__name__}, which cannot be shown>"


def _shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text with its middle left out where it is too long; the ends say most."""
    if len(text) <= longest:
        return text
    return (
        f"{text[: longest // 2]}\n[… {len(text) - longest} characters …]\n{text[-(longest // 2) :]}"
    )
