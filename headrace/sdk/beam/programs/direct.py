"""DoFns whose ``process`` takes the element only: called without Beam's calls, a bundle at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from inspect import isgeneratorfunction
from itertools import chain
from operator import length_hint
from traceback import format_exception_only
from typing import Any, Final, NoReturn

from apache_beam.pvalue import TaggedOutput as BeamTagged
from apache_beam.runners.common import DoFnSignature
from apache_beam.transforms.core import CallableWrapperDoFn, _DoFnParam
from apache_beam.transforms.window import TimestampedValue as BeamTimestamped
from apache_beam.utils.windowed_value import WindowedValue as BeamWindowed

from headrace.errors import shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.beam.programs.rows import tag_of
from headrace.sdk.beam.programs.step import BeamStep
from headrace.sdk.beam.programs.window_fns import window_fn_of
from headrace.sdk.beam.programs.windows import WindowTranslation, pane_of_theirs
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pipelines.outputs import CallingStep, Outputs, any_number
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_MARKED: Final = (BeamTagged, BeamTimestamped, BeamWindowed)
"""The classes of outputs that say more than their value."""


def is_direct(step: BeamStep, signature: Any) -> bool:
    """Return whether ``process`` takes nothing but the element and constants."""
    process = signature.process_method
    plain = not (
        step.views
        or signature.is_stateful_dofn()
        or signature.is_splittable_dofn()
        or step.fn._process_batch_defined
        or step.fn._can_yield_batches
    )
    return plain and not any(map(_asks, process.defaults))


def _asks(default: Any) -> bool:
    """Return whether a parameter with a default value asks for something; some of Beam's are classes."""
    kind = default if isinstance(default, type) else type(default)
    return issubclass(kind, _DoFnParam)


class DirectCalls:
    """Calls ``process`` on the values of a bundle.

    Args:
        step: the ParDo.
        signature: Beam's signature of its DoFn.
        translation: the windows of the main input.
    """

    def __init__(self, step: BeamStep, signature: Any, translation: WindowTranslation) -> None:
        process = signature.process_method.method_value
        self._process: Callable[[Any], Any] = process
        if step.args or step.kwargs:
            self._process = _with_arguments(process, step)
        self._label = step.label
        self._checks = not (
            isinstance(step.fn, CallableWrapperDoFn) or isgeneratorfunction(process)
        )
        self._translation = translation
        self._step = CallingStep(step.label, "process", window_fn_of(step.windowfn))

    def outputs(self, bundle: Bundle) -> Outputs:
        """Return the outputs for a bundle."""
        rows = iter(bundle.values)
        values: list[Any] = []
        try:
            ends = self._gather(map(self._process, rows), values)
        except Exception as error:
            row = len(bundle) - length_hint(rows) - 1
            error.add_note(f"for the element {shorten(bundle.values[row])}")
            annotate(error, self._label)
        kinds = set(map(type, values))
        if any(issubclass(kind, _MARKED) for kind in kinds):
            values = [own_output(value, self._translation) for value in values]
        return any_number(values, ends, bundle, self._step)

    def _gather(self, results: Iterator[Any], values: list[Any]) -> list[int]:
        """Add the outputs to a list, and return its length after each element."""
        extend = values.extend
        if self._checks:
            results = _checked(results)
        return [extend(() if result is None else result) or len(values) for result in results]


def own_output(value: Any, translation: WindowTranslation) -> Any:
    """Return an output of Beam's classes as one of ours.

    Args:
        value: what ``process`` returned or yielded.
        translation: the windows of the main input.
    """
    if isinstance(value, BeamTagged):
        return TaggedOutput(_string(value.tag), own_output(value.value, translation))
    if isinstance(value, BeamTimestamped):
        return TimestampedValue(value.value, Timestamp(micros=value.timestamp.micros))
    if isinstance(value, BeamWindowed):
        return WindowedValue(
            value.value,
            Timestamp(micros=value.timestamp_micros),
            translation.ours(value.windows),
            pane_of_theirs(value.pane_info),
        )
    return value


def _with_arguments(process: Callable[..., Any], step: BeamStep) -> Callable[[Any], Any]:
    args, kwargs = tuple(step.args), dict(step.kwargs)
    if not args:
        return partial(process, **kwargs)
    return lambda element: process(element, *args, **kwargs)


def _string(tag: Any) -> str:
    if not isinstance(tag, str):
        raise TypeError(f"the tag {tag!r} of an output is not a string")
    return tag_of(tag)


def _checked(results: Iterator[Any]) -> Iterator[Any]:
    """Check the first result: a string or dict is a mistake, since its items would be the outputs."""
    for first in results:
        if isinstance(first, (str, bytes, dict)):
            kind = type(first).__name__
            raise TypeError(
                f"Returning a {kind} from a ParDo or FlatMap is not allowed. "
                f"Please use list({first!r}) if you really want this behavior."
            )
        return chain((first,), results)
    return results


def annotate(error: Exception, label: str) -> NoReturn:
    """Raise an error again, as Beam does: of the same class, with the step in its text."""
    if getattr(error, "_tagged_with_step", False):
        raise error
    told = f" [while running '{label}']"
    try:
        new = type(error)(error.args[0] + told, *error.args[1:])
        new._tagged_with_step = True  # type: ignore[attr-defined]  # Beam's mark
    except Exception:
        new = RuntimeError("".join(format_exception_only(error)).strip() + told)
        new._tagged_with_step = True  # type: ignore[attr-defined]  # Beam's mark
    for note in getattr(error, "__notes__", ()):
        new.add_note(note)
    raise new.with_traceback(error.__traceback__)


def signature_of(fn: Any) -> Any:
    """Return Beam's signature of a DoFn."""
    return DoFnSignature(fn)
