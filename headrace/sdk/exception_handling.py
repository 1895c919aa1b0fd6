"""Elements that fail go to an output of their own, instead of stopping the pipeline."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import attrs

from headrace.errors import FailuresError, PipelineError, UnsupportedError, shorten
from headrace.sdk.combine import CombineGlobally
from headrace.sdk.combine_fn import CombineFn
from headrace.sdk.dofn import DoFn
from headrace.sdk.flatten import Flatten
from headrace.sdk.graph import MAIN
from headrace.sdk.pardo import ElementwiseTransform, Map, require_collection
from headrace.sdk.pvalue import DoOutputsTuple, PCollection
from headrace.sdk.transform import PTransform
from headrace.sdk.window_into import WindowInto
from headrace.triggers import AccumulationMode
from headrace.triggers.watermark_triggers import DefaultTrigger
from headrace.windowing.window_fn import WindowFn


@attrs.frozen
class _Missing:
    """An argument of Beam's that Headrace has no meaning for."""

    unset: Any
    instead: str


_MISSING: dict[str, _Missing] = {
    "use_subprocess": _Missing(False, "start a process in DoFn.setup, and talk to it in process"),
    "timeout": _Missing(None, "give the calls that may hang a time limit of their own"),
    "error_handler": _Missing(None, "take the second output, which holds the dead letters"),
    "allow_unsafe_userstate_in_process": _Missing(False, "leave it away; there is no user state"),
}


class ExceptionHandling(PTransform[Any, Any]):
    """An element-wise transform, with the elements on which it fails as a further output (Beam's).

    A dead letter is ``(element, (type of the exception, its repr, lines of its traceback))``, with the
    timestamp, window and diff of the element. An element that fails fails again when it is retracted,
    so its dead letter is retracted too.

    Args:
        transform: the transform.
        main_tag: name of the output for everything else.
        dead_letter_tag: name of the output for elements that fail.
        exc_class: the exceptions to catch, one class or a tuple of them.
        partial: whether outputs that an element gave before it failed go out all the same.
        threshold: the part of the elements of a window that may fail, from 0 to 1, before the pipeline
            is stopped with a FailuresError.
        threshold_windowing: windows to count them in; the windows of the input by default.
        on_failure_callback: is called with the exception and the element; what it raises is logged.
        beams: arguments of Beam's that are taken only with their default values: ``use_subprocess``,
            ``timeout``, ``error_handler``, ``allow_unsafe_userstate_in_process``.

    Raises:
        UnsupportedError: an argument asks for what Headrace cannot do.
        PipelineError: an argument has no sense.
    """

    def __init__(
        self,
        transform: ElementwiseTransform,
        main_tag: str = "good",
        dead_letter_tag: str = "bad",
        *,
        exc_class: type[BaseException] | tuple[type[BaseException], ...] = Exception,
        partial: bool = False,
        threshold: float = 1,
        threshold_windowing: WindowFn | None = None,
        on_failure_callback: Callable[[Exception, Any], object] | None = None,
        **beams: Any,
    ) -> None:
        super().__init__()
        _check_supported(beams)
        _check_exceptions(exc_class)
        if not 0 <= threshold <= 1:
            raise PipelineError(
                f"the threshold {threshold!r} is no part of a whole", remedy="use 0 to 1"
            )
        self._main_tag = main_tag
        self._dead_letter_tag = dead_letter_tag
        self._tags: tuple[str, ...] = ()
        self._threshold = threshold
        self._threshold_windowing = threshold_windowing
        self._transform = transform.caught(
            dead_letter_tag, caught=exc_class, partial=partial, on_failure=on_failure_callback
        )

    def default_label(self) -> str:
        return self._transform.label

    def with_outputs(self, *tags: str, main: str | None = None) -> ExceptionHandling:
        """Name further outputs that the DoFn has itself; ``main`` renames the main one."""
        self._tags = tuple(tag for tag in map(str, tags) if tag != self._dead_letter_tag)
        self._main_tag = main or self._main_tag
        return self

    def expand(self, pcoll: Any) -> DoOutputsTuple:
        require_collection(pcoll)
        tags = (self._dead_letter_tag, *self._tags)
        if self._main_tag in tags or MAIN in tags:
            raise PipelineError(
                f"the output tags {[self._main_tag, *tags]} do not differ, or one is {MAIN!r}",
                remedy="say main_tag and dead_letter_tag otherwise",
            )
        main = self._transform.expand_tags(pcoll, tags)
        outputs = DoOutputsTuple(
            pcoll.pipeline, main.collection.node, tags, self._main_tag, dynamic=True
        )
        if self._threshold < 1:
            self._watch(pcoll, outputs[self._dead_letter_tag])
        return outputs

    def _watch(self, pcoll: PCollection[Any], bad: PCollection[Any]) -> None:
        """Stop the pipeline when too large a part of a window has failed."""
        windows = WindowInto(
            self._threshold_windowing or pcoll.windowing,
            trigger=DefaultTrigger(),
            accumulation_mode=AccumulationMode.ACCUMULATING,
            allowed_lateness=pcoll.windowing.allowed_lateness / 1e6,
        )
        counts = (
            pcoll | "CountTotal" >> Map(_as_one),
            bad | "CountBad" >> Map(_as_failed),
        ) | "Counts" >> Flatten()
        sums = counts | windows | CombineGlobally(_Sums()).without_defaults()
        _ = sums | "CheckThreshold" >> Map(_check_threshold, self._threshold)


class _Sums(CombineFn):
    """Pairs summed up side by side."""

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
        """Return the sums less a pair."""
        return mutable_accumulator[0] - element[0], mutable_accumulator[1] - element[1]

    def merge_accumulators(self, accumulators: Iterable[tuple[int, int]]) -> tuple[int, int]:
        totals, failures = zip(self.identity, *accumulators, strict=True)
        return sum(totals), sum(failures)

    def extract_output(self, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator


def _as_one(element: Any) -> tuple[int, int]:
    return 1, 0


def _as_failed(letter: Any) -> tuple[int, int]:
    return 0, 1


def _check_threshold(
    counts: tuple[int, int], threshold: float, window: Any = DoFn.WindowParam
) -> None:
    total, bad = counts
    if bad > total * threshold:
        raise FailuresError(
            f"{bad} of {total} elements failed in the window {window!r}, which is more than the "
            f"threshold of {threshold:g}",
            remedy="look at the dead letters, and mend the function or raise the threshold",
        )


def _check_supported(beams: dict[str, Any]) -> None:
    for name, value in beams.items():
        if name not in _MISSING:
            raise TypeError(f"with_exception_handling has no argument {name!r}")
        if value != _MISSING[name].unset:
            raise UnsupportedError(
                f"with_exception_handling cannot do {name}={shorten(value)}",
                remedy=_MISSING[name].instead,
            )


def _check_exceptions(exc_class: Any) -> None:
    classes = exc_class if isinstance(exc_class, tuple) else (exc_class,)
    if not all(isinstance(c, type) and issubclass(c, BaseException) for c in classes):
        raise TypeError(f"exc_class is no class of exceptions but {shorten(exc_class)}")
