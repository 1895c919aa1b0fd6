"""Transport of a user's exception through Spark: wrapped on the worker, unwrapped on the driver.

Spark passes on only the text of a Python error, inside one or several Java errors. So the error itself is
part of the text, pickled and base64-encoded between two delimiters. The driver raises it again with its
type and its notes; the worker's traceback is its cause, as with process pools.
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

from headrace.errors import HeadraceError, LeaseLostError, PipelineError, UnsupportedError
from headrace.runners.spark.cluster.missing_packages import missing
from headrace.runners.spark.cluster.requirements import python_mismatch, python_version
from headrace.sdk.pipelines.tracebacks import hide_frames

LARGEST_ERROR: Final = 64 * 1024
"""Maximum size of a pickled error, in bytes; larger errors are sent as text."""

LONGEST_TEXT: Final = 16 * 1024
"""Maximum number of characters of a traceback, message or note; longer texts lose their middle."""

_PICKLER: Final[Any] = cloudpickle

_TRANSPORTED: Final = re.compile(r"<headrace-error ([A-Za-z0-9+/=]+)>")

_NO_MODULE: Final = re.compile(
    r"(?:PYTHON_EXCEPTION|PythonException).*\bModuleNotFoundError: No module named '([\w.]+)'"
    r"|PACKAGE_NOT_INSTALLED\] (\w+)",
    re.DOTALL,
)
"""A worker that cannot import what Spark itself needs, such as pyarrow."""

_NO_PYTHON: Final = re.compile(r'Cannot run program "([^"]+)".*?error=(?:2|13)\b')

_PLANNER_DIED: Final = re.compile(
    r"(EOFException|SocketException|ClosedChannelException).{0,2000}PythonStreamingSourceRunner",
    re.DOTALL,
)

_LOG_DAMAGED: Final = re.compile(r"HDFSMetadataLog\.(\$anonfun\$)?getExistingBatch")
_LOG_SHARED: Final = re.compile(
    "CONCURRENT_STREAM_LOG_UPDATE|Multiple streaming queries are concurrently using"
)


class TransportError(Exception):
    """An error that transports another one, pickled in its text, from a worker to the driver."""


class WorkerTraceback(Exception):
    """The traceback of an error on a worker, as text; the cause of the error on the driver.

    Its arguments are the text without Headrace's frames, and the text with them.
    """

    def show_all(self) -> None:
        """Show the frames of Headrace, too."""
        self.args = self.args[-1:]

    def __str__(self) -> str:
        """Show the worker's traceback, quoted to distinguish it from the driver's."""
        return f'\n"""\n{self.args[0]}"""'


class WorkerError(HeadraceError, RuntimeError):
    """A user's error that could not be pickled; its type and message are in the text."""


class WorkerDiedError(HeadraceError, RuntimeError):
    """A worker process ended before it had finished its work."""


class WorkerStartError(WorkerDiedError):
    """A worker process did not start in the time that Spark allows."""


@attrs.frozen
class _Transported:
    """The transported data: the pickled error if possible, and its text in any case."""

    pickled: bytes | None
    text: str
    traceback: str
    all_frames: str
    notes: tuple[str, ...]


@contextmanager
def wrapping() -> Iterator[None]:
    """Wrap the errors that the body raises for transport; used by all code that runs on workers.

    Raises:
        TransportError: instead of any Exception or SystemExit of the body.
    """
    try:
        yield
    except TransportError:
        raise
    except (Exception, SystemExit) as error:
        raise wrap(error) from None


def wrap(error: BaseException) -> TransportError:
    """Return an error that transports another; raise it ``from None`` to avoid a second traceback."""
    if isinstance(error, TransportError):
        return error
    all_frames = "".join(traceback.format_exception(error))
    hide_frames(error)
    transported = _Transported(
        pickled=_pickled(error),
        text=_shortened("".join(traceback.format_exception_only(type(error), error)).strip()),
        traceback=_shortened("".join(traceback.format_exception(error))),
        all_frames=_shortened(all_frames),
        notes=tuple(_shortened(note) for note in getattr(error, "__notes__", ())[:20]),
    )
    packed = base64.b64encode(zlib.compress(pickle.dumps(attrs.astuple(transported)))).decode()
    summary = _shortened(f"{type(error).__name__}: {_text(error)}", 400).replace("\n", " ")
    return TransportError(f"{summary} <headrace-error {packed}>")


def unwrap(error: BaseException) -> BaseException | None:
    """Return the error that a Spark error transports, or a clear error for a known failure, or None.

    Args:
        error: the error that a call to Spark or a streaming query raised.

    Returns:
        The user's exception with its notes, caused by a `WorkerTraceback`; or a `WorkerDiedError`; or
        an `UnsupportedError` for workers with another Python; or None for any other Spark error.
    """
    for text in _texts(error):
        for found in _TRANSPORTED.finditer(text):
            restored = _restored(found[1])
            if restored is not None:
                return restored
    for text in _texts(error):
        known = _translated(text)
        if known is not None:
            return known
    return None


def transports(error: BaseException) -> bool:
    """Return whether a Spark error transports an error of a worker."""
    return any(_TRANSPORTED.search(text) for text in _texts(error))


@contextmanager
def unwrapping() -> Iterator[None]:
    """Replace a Spark error that the body raises by the error that it transports."""
    try:
        yield
    except Exception as error:
        known = unwrap(error)
        if known is None:
            raise
        raise known from known.__cause__


def _pickled(error: BaseException) -> bytes | None:
    """Return an error as bytes if it can be pickled and unpickled."""
    try:
        data: bytes = _PICKLER.dumps(error)
        again = pickle.loads(data)
    except Exception:
        return None
    return data if len(data) <= LARGEST_ERROR and isinstance(again, type(error)) else None


def _restored(packed: str) -> BaseException | None:
    """Return the transported error; None if the text only looks like one."""
    try:
        transported = _Transported(*pickle.loads(zlib.decompress(base64.b64decode(packed))))
    except Exception:
        return None
    error = _unpickled(transported) or WorkerError(
        f"an error on a worker, which cannot be pickled: {transported.text}",
        remedy="see the worker's traceback above",
    )
    if not isinstance(error, WorkerError):
        error.__notes__ = list(transported.notes)
    error.__cause__ = WorkerTraceback(transported.traceback, transported.all_frames)
    return error


def _unpickled(transported: _Transported) -> BaseException | None:
    try:
        error = pickle.loads(transported.pickled) if transported.pickled else None
    except Exception:
        return None
    return error if isinstance(error, BaseException) else None


def _translated(text: str) -> BaseException | None:
    """Return a clear error for a known Spark error text; None for other texts."""
    lack = _lack_of_worker(text)
    if lack is not None:
        return lack
    if "Python worker exited unexpectedly" in text or "Python worker keeps on crashing" in text:
        return _worker_died(text)
    if "Python worker failed to connect back" in text:
        return WorkerStartError(
            "a Python worker did not start within ten seconds, or exited immediately",
            remedy="the machine is probably overloaded: run fewer processes and start again, or let a "
            "streaming run try more often (--batch-retries); it resumes from its checkpoint",
        )
    if _LOG_DAMAGED.search(text):
        return _damaged("Spark's log of offsets or commits", r"log file (\S+?)\.? ", text)
    if _LOG_SHARED.search(text):
        return LeaseLostError(
            "another program has written to the checkpoint of this run, so this run stops",
            remedy="find the other program that uses this directory and end it, then start the run again",
        )
    if "[CANNOT_LOAD_STATE_STORE" in text:
        return _damaged("the state", r"state file of (\S+)", text)
    if _PLANNER_DIED.search(text):
        return WorkerDiedError(
            "the Python process that reads the sources was killed or crashed",
            remedy="it probably ran out of memory: read fewer records per batch (--max-records-per-batch); "
            "if not, check the native code that the sources call",
        )
    return None


def _lack_of_worker(text: str) -> UnsupportedError | None:
    """Return the error for a worker with another Python, without one, or without a package."""
    mismatch = re.search(r"PYTHON_VERSION_MISMATCH.*?version: (\d+\.\d+)", text)
    if mismatch:
        return python_mismatch(mismatch[1])
    module = _NO_MODULE.search(text)
    if module:
        return missing((module[1] or module[2]).partition(".")[0], module[0], "a worker")
    python = _NO_PYTHON.search(text)
    if python is None:
        return None
    return UnsupportedError(
        f"the workers' Python {python[1]!r} cannot be started",
        where="a worker",
        remedy=f"set PYSPARK_PYTHON to a path at which the workers have Python {python_version()}",
    )


def _worker_died(text: str) -> WorkerDiedError:
    lost = re.search(r"Lost task \S+ in stage \S+ \(TID \d+\) \(([^)]*)\)", text)
    return WorkerDiedError(
        "a Python worker was killed or crashed",
        where=lost[1] if lost else "",
        remedy="it probably ran out of memory: use more key groups (--key-groups), fewer concurrent tasks "
        "(--spark-conf spark.executor.cores=…, or --spark-master 'local[1]'), or more memory "
        "(--spark-conf spark.executor.pyspark.memory=…); to locate a crash in native code, set "
        "--spark-conf spark.python.worker.faulthandler.enabled=true",
    )


def _damaged(what: str, place: str, text: str) -> PipelineError:
    found = re.search(place, text)
    return PipelineError(
        f"the checkpoint is damaged: {what} cannot be read",
        where=found[1] if found else "",
        remedy="restore it from a backup, or start with a new checkpoint",
    )


def _texts(error: BaseException) -> Iterator[str]:
    """Yield the texts that can contain a transported error: of the error and of its causes."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield _text(current)
        yield str(getattr(current, "_stackTrace", None) or "")  # the Java causes of the Spark error
        current = current.__cause__ or current.__context__


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # the text of a Java error needs a running JVM
        return f"<{type(error).__name__}, which cannot be shown>"


def _shortened(text: str, longest: int = LONGEST_TEXT) -> str:
    """Return a text without its middle if it is too long; the beginning and the end matter most."""
    if len(text) <= longest:
        return text
    return (
        f"{text[: longest // 2]}\n[… {len(text) - longest} characters …]\n{text[-(longest // 2) :]}"
    )
