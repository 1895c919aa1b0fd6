"""A call of ``process`` of a splittable DoFn: its arguments, and its outputs as they come.

A call works on one restriction. It ends when the restriction is done, when ``process`` defers the rest, or
when the call has given a number of claims or outputs: then the rest is deferred too.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from functools import wraps
from inspect import isgenerator
from itertools import repeat
from typing import Any, Final

import attrs

from headrace.errors import ElementError, shorten
from headrace.grouping.bundle import Bundle
from headrace.sdk.coders.own_values import own_if_possible
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.pardo.binding import ColumnOf, column_of
from headrace.sdk.pardo.dofn import Parameter, RestrictionParam, WatermarkEstimatorParam
from headrace.sdk.pardo.splittable.restrictions import ProcessContinuation
from headrace.sdk.pardo.splittable.safe_trackers import (
    RestrictionTrackerView,
    ThreadsafeRestrictionTracker,
    ThreadsafeWatermarkEstimator,
)
from headrace.sdk.pipelines.outputs import CallingStep, check_iterable
from headrace.windowing.time.timestamps import Duration, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_PLACED: Final = (TimestampedValue, WindowedValue)


@attrs.define(eq=False)
class RestrictionCall(Bundle):
    """A bundle of one element, with the tracker and the watermark estimator of a restriction."""

    tracker: ThreadsafeRestrictionTracker = attrs.field(kw_only=True)
    estimator: ThreadsafeWatermarkEstimator = attrs.field(kw_only=True)

    def outputs(self, result: Any, step: CallingStep, limit: int | None) -> list[Any]:
        """Return the outputs of ``process``; its estimator sees their timestamps as they come.

        Args:
            result: the result of ``process``.
            step: the step, for errors.
            limit: the number of outputs after which the rest is deferred; None for no limit.

        Raises:
            ElementError: the result is no iterable of outputs, or an output follows a ProcessContinuation.
        """
        outputs: list[Any] = []
        default = Timestamp(micros=next(iter(self.timestamps)))
        continuation = None
        for output in _items(result, step):
            if continuation is not None:
                raise _after_continuation(output, step)
            if isinstance(output, ProcessContinuation):
                continuation = output
                continue
            self.estimator.observe_timestamp(_timestamp_of(output, default))
            outputs.append(own_if_possible(output))
            if len(outputs) == limit:
                self.tracker.checkpoint()
        if continuation is not None:
            self.tracker.defer_remainder(Duration.of(continuation.resume_delay))
        return outputs


def _items(result: Any, step: CallingStep) -> Iterator[Any]:
    """Yield the outputs of a result, and the continuation that it is."""
    if result is None:
        return
    if isinstance(result, ProcessContinuation):
        yield result
    else:
        check_iterable(result, step)
        yield from result


def with_returned(process: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose generators yield the continuation that those of ``process`` return."""

    @wraps(process)
    def call(*args: object, **kwargs: object) -> Any:
        result = process(*args, **kwargs)
        return _generated(result) if isgenerator(result) else result

    return call


def _generated(result: Generator[Any, Any, Any]) -> Iterator[Any]:
    returned = yield from result
    if isinstance(returned, ProcessContinuation):
        yield returned


def _after_continuation(output: object, step: CallingStep) -> ElementError:
    return ElementError(
        f"{step.function} yielded {shorten(output)} after a ProcessContinuation",
        where=step.label,
        remedy="return after the ProcessContinuation",
    )


def _timestamp_of(output: Any, default: Timestamp) -> Timestamp:
    """Return the timestamp of an output."""
    value = output.value if isinstance(output, TaggedOutput) else output
    return value.timestamp if isinstance(value, _PLACED) else default


def column_of_call(parameter: Parameter) -> ColumnOf:
    """Return the column that a parameter of ``process`` asks for, of a :class:`RestrictionCall`."""
    if isinstance(parameter, RestrictionParam):
        return _column(lambda call: repeat(RestrictionTrackerView(call.tracker)))
    if isinstance(parameter, WatermarkEstimatorParam):
        return _column(lambda call: repeat(call.estimator))
    return column_of(parameter)


def _column(of: Callable[[RestrictionCall], Iterable[object]]) -> ColumnOf:
    given: Any = of
    column: ColumnOf = given
    return column
