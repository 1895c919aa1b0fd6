"""Exception handling: failing elements go to a separate output instead of stopping the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Protocol, TypeAlias

import attrs

from headrace.errors import FailuresError, PipelineError, UnsupportedError, shorten
from headrace.sdk.combiners.combine import CombineGlobally
from headrace.sdk.elements.type_variables import InT, T
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.pardo_node import Each, each
from headrace.sdk.pipelines.elementwise import Function, MapEach
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.argument_checks import UnknownArgument
from headrace.triggers import AccumulationMode
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.window import BoundedWindow
from headrace.windowing.window_fn import NonMergingWindowFn, WindowFn, fact

Exceptions: TypeAlias = type[BaseException] | tuple[type[BaseException], ...]
"""An exception class, or several."""


@attrs.frozen
class Missing:
    """An argument that is not supported."""

    unset: Any
    instead: str


_MISSING: dict[str, Missing] = {
    "use_subprocess": Missing(False, "start a process in DoFn.setup, and call it in process"),
    "timeout": Missing(None, "set a time limit for the calls that can hang"),
    "error_handler": Missing(None, "use the second output, which contains the dead letters"),
    "allow_unsafe_userstate_in_process": Missing(False, "remove it; user state is not supported"),
}


_ARGUMENTS: Final = (
    *("main_tag", "dead_letter_tag", "exc_class", "partial", "threshold", "threshold_windowing"),
    *("on_failure_callback", "error_handler", "timeout"),
)
"""The arguments of ``with_exception_handling`` that are supported."""

DeadLetter: TypeAlias = tuple[T, tuple[type[BaseException], str, list[str]]]
"""The type of a dead letter: the element, and the type, repr and traceback of the exception."""


class Catching(Protocol):
    """An element-wise transform that can send its failures to a separate output."""

    @property
    def label(self) -> str:
        """Name of the transform in its pipeline."""

    def caught(self, tag: str, **how: Any) -> Catching:
        """Return the transform with a dead letter for each failure."""

    def expand_tags(self, pcoll: PCollection[Any], tags: tuple[str, ...]) -> PCollection[Any]:
        """Add the node with additional outputs, and return the main one."""


class TakesErrors(Protocol):
    """An error handler."""

    def add_error_pcollection(self, pcoll: PCollection[Any]) -> None:
        """Add a collection of dead letters."""


class ExceptionHandling(PTransform[PCollection[InT], DoOutputsTuple], Generic[InT]):
    """An element-wise transform with an additional output for the elements on which it fails (Beam's name).

    A dead letter is ``(element, (type of the exception, its repr, lines of its traceback))``, with the
    timestamp, window and diff of the element. An element that fails also fails when it is retracted, so
    its dead letter is retracted, too.

    Args:
        transform: the transform.
        main_tag: name of the output for all other results.
        dead_letter_tag: name of the output for failing elements.
        exc_class: the exceptions to catch, one class or a tuple of classes.
        partial: whether to keep the outputs of an element from before it failed.
        threshold: fraction of the elements of a window that may fail, from 0 to 1; if more fail, the pipeline
            stops with a FailuresError.
        threshold_windowing: windows in which failures are counted; by default the windows of the input.
        on_failure_callback: called with the exception and the element; its exceptions are logged.
        error_handler: gets the dead letters (see :class:`~headrace.transforms.error_handling.ErrorHandler`);
            then the result is the main output, unless there are other outputs of the DoFn.
        timeout: the time limit of the function for an element, in seconds; an element that takes longer is a
            dead letter with a TimeoutError, and its call goes on in a thread of its own.
        beam_args: arguments of Beam that are supported only with their default values: ``use_subprocess``,
            ``allow_unsafe_userstate_in_process``.

    Raises:
        UnsupportedError: an argument is not supported.
        PipelineError: an argument is not valid.
    """

    def __init__(
        self,
        transform: Catching,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: Exceptions = Exception,
        partial: bool = False,
        threshold: float = 1,
        threshold_windowing: WindowFn | None = None,
        on_failure_callback: Callable[[Exception, Any], object] | None = None,
        error_handler: TakesErrors | None = None,
        timeout: float | None = None,
        **beam_args: Any,
    ) -> None:
        super().__init__()
        self._error_handler = error_handler
        check_supported(beam_args, {})
        check_exceptions(exc_class)
        check_threshold(threshold)
        if error_handler is not None and not hasattr(error_handler, "add_error_pcollection"):
            raise TypeError(f"error_handler must be an ErrorHandler, not {shorten(error_handler)}")
        self._main_tag = main_tag
        self._dead_letter_tag = dead_letter_tag
        self._tags: tuple[str, ...] = ()
        self._any_tag = False
        self._threshold = threshold
        self._threshold_windowing = threshold_windowing
        _check_timeout(timeout, partial)
        self._transform = transform.caught(
            dead_letter_tag,
            caught=exc_class,
            partial=partial,
            on_failure=on_failure_callback,
            timeout=timeout,
        )

    def default_label(self) -> str:
        return self._transform.label

    def with_outputs(
        self, *tags: str, main: str | None = None, allow_unknown_tags: bool | None = None
    ) -> ExceptionHandling[InT]:
        """Name additional outputs of the DoFn; ``main`` renames the main output.

        Other tags are an error, unless no tags are given or ``allow_unknown_tags`` is true.
        """
        self._any_tag = not tags if allow_unknown_tags is None else allow_unknown_tags
        self._tags = tuple(tag for tag in map(str, tags) if tag != self._dead_letter_tag)
        self._main_tag = main or self._main_tag
        return self

    def expand(self, pcoll: PCollection[InT]) -> DoOutputsTuple:
        require_collection(pcoll)
        tags = (self._dead_letter_tag, *self._tags)
        if self._main_tag in tags or MAIN in tags:
            raise PipelineError(
                f"the output tags {[self._main_tag, *tags]} are not distinct, or one is {MAIN!r}",
                remedy="choose another main_tag or dead_letter_tag",
            )
        main = self._transform.expand_tags(pcoll, tags)
        if self._any_tag:
            pcoll.pipeline.accept_any_tag(main.collection.node)
        outputs = DoOutputsTuple(
            pcoll.pipeline, main.collection.node, tags, self._main_tag, dynamic=True
        )
        if self._threshold < 1:
            bad = outputs[self._dead_letter_tag]
            stop_at_threshold(pcoll, bad, self._threshold, self._threshold_windowing)
        return outputs if self._error_handler is None else self._handled(outputs)

    def _handled(self, outputs: DoOutputsTuple) -> DoOutputsTuple:
        """Give the dead letters to the handler, and return the other outputs."""
        assert self._error_handler is not None
        self._error_handler.add_error_pcollection(outputs[self._dead_letter_tag])
        if self._tags:
            return outputs
        main: Any = outputs[self._main_tag]
        return main  # type: ignore[no-any-return]  # as in Beam, one output is a collection


def stop_at_threshold(
    pcoll: PCollection[object],
    bad: PCollection[object],
    threshold: float,
    windowing: WindowFn | None = None,
) -> None:
    """Stop the pipeline if too many elements of a window have failed.

    Args:
        pcoll: all elements.
        bad: the dead letters.
        threshold: fraction of the elements of a window that may fail.
        windowing: windows in which failures are counted; by default the windows of the elements.
    """
    own = pcoll.windowing
    if not (own.window_fn.is_merging() or fact(own.window_fn, "single")):
        own = attrs.evolve(own, window_fn=_SameWindow())
    windows = WindowInto(
        windowing or own,
        trigger=DefaultTrigger(),
        accumulation_mode=AccumulationMode.ACCUMULATING,
        allowed_lateness=pcoll.windowing.allowed_lateness / 1e6,
    )
    counts = (
        pcoll | "CountTotal" >> each(_as_one),
        bad | "CountBad" >> each(_as_failed),
    ) | "Counts" >> Flatten()
    sums = counts | windows | CombineGlobally(_Sums()).without_defaults()
    check = MapEach(Function(_check_threshold, (threshold,)))
    _ = sums | "CheckThreshold" >> Each(check)


class _Sums(CombineFn):
    """Sums pairs item by item."""

    identity: ClassVar[tuple[int, int]] = (0, 0)

    def create_accumulator(self) -> tuple[int, int]:
        return self.identity

    def add_input(
        self, mutable_accumulator: tuple[int, int], element: tuple[int, int]
    ) -> tuple[int, int]:
        return mutable_accumulator[0] + element[0], mutable_accumulator[1] + element[1]

    def subtract_input(
        self, mutable_accumulator: tuple[int, int], element: tuple[int, int]
    ) -> tuple[int, int]:
        """Return the sums without a pair."""
        return mutable_accumulator[0] - element[0], mutable_accumulator[1] - element[1]

    def merge_accumulators(self, accumulators: Iterable[tuple[int, int]]) -> tuple[int, int]:
        totals, failures = zip(self.identity, *accumulators, strict=True)
        return sum(totals), sum(failures)

    def extract_output(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator


class _SameWindow(NonMergingWindowFn):
    """The window that an element is in, so that one in several windows counts once in each."""

    def assign(self, context: WindowFn.AssignContext) -> list[BoundedWindow]:
        """Return the window of the element."""
        return [] if context.window is None else [context.window]


def _as_one(element: object) -> tuple[int, int]:
    return 1, 0


def _as_failed(letter: object) -> tuple[int, int]:
    return 0, 1


def _check_threshold(
    counts: tuple[int, int], threshold: float, window: object = DoFn.WindowParam
) -> None:
    total, bad = counts
    if bad > total * threshold:
        raise FailuresError(
            f"{bad} of {total} elements failed in the window {window!r}, which is more than the "
            f"threshold of {threshold:g}",
            remedy="inspect the dead letters, and correct the function or raise the threshold",
        )


def check_threshold(threshold: float) -> None:
    """Refuse a threshold that is not a fraction.

    Raises:
        PipelineError: the threshold is not between 0 and 1.
    """
    if not 0 <= threshold <= 1:
        raise PipelineError(
            f"the threshold {threshold!r} must be between 0 and 1",
            remedy="use a fraction, such as 0.1 for 10 percent",
        )


def _check_timeout(timeout: float | None, partial: bool) -> None:
    if timeout is not None and timeout <= 0:
        raise PipelineError(f"the timeout is {timeout}", remedy="use more than 0 seconds")
    if timeout is not None and partial:
        raise PipelineError(
            "the outputs of a call with a timeout come together, so partial=True has nothing to keep",
            remedy="remove partial=True or the timeout",
        )


def check_supported(given: dict[str, Any], missing: dict[str, Missing]) -> None:
    """Refuse arguments that are not supported.

    Args:
        given: arguments by name.
        missing: arguments that the transform does not support, in addition to the general ones.

    Raises:
        TypeError: an argument does not exist.
        UnsupportedError: an argument does not have its default value.
    """
    missing = {**_MISSING, **missing}
    for name, value in given.items():
        if name not in missing:
            raise UnknownArgument("with_exception_handling", name, [*_ARGUMENTS, *missing])
        if value != missing[name].unset:
            raise UnsupportedError(
                f"with_exception_handling does not support {name}={shorten(value)}",
                remedy=missing[name].instead,
            )


def user_frames(traceback: TracebackType | None) -> TracebackType | None:
    """Return the traceback without Headrace's frames, which may differ for a value and its retraction."""
    while traceback is not None and _is_headrace_frame(traceback):
        traceback = traceback.tb_next
    return traceback


def _is_headrace_frame(traceback: TracebackType) -> bool:
    return str(traceback.tb_frame.f_globals.get("__name__")).startswith(
        ("headrace.runners.", "headrace.sdk.", "headrace.windowing.")
    )


def check_exceptions(exc_class: object) -> None:
    """Refuse what is not an exception class or a tuple of them, with a TypeError."""
    classes = exc_class if isinstance(exc_class, tuple) else (exc_class,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise TypeError(
            f"exc_class must be an exception class or a tuple of them, not {shorten(exc_class)}"
        )
