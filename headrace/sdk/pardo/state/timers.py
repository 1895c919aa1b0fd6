"""Timers of stateful DoFns: specs, and the decorators of the methods that are called when time passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar

from headrace.errors import PipelineError, shorten
from headrace.windowing.time.timestamps import DurationTypes, Timestamp, TimestampTypes

MethodT = TypeVar("MethodT", bound=Callable[..., Any])

TIMERS: Final = "_headrace_timers"
"""The attribute of a method with the names of its timers."""

EXPIRATION: Final = "_headrace_on_window_expiration"
"""The attribute of a method that is called when a window expires."""


class TimeDomain:
    """The clocks of timers.

    Attributes:
        WATERMARK: event time: the timer fires when the input watermark reaches it.
        REAL_TIME: processing time: the timer fires when the clock reaches it.

    >>> TimeDomain.is_event_time(TimeDomain.WATERMARK)
    True
    """

    WATERMARK: Final = "WATERMARK"
    REAL_TIME: Final = "REAL_TIME"

    @staticmethod
    def is_event_time(domain: str) -> bool:
        """Return whether a domain is event time."""
        return domain == TimeDomain.WATERMARK


class TimerSpec:
    """The declaration of a timer of a stateful DoFn.

    Args:
        name: name of the timer, unique in its DoFn.
        time_domain: ``TimeDomain.WATERMARK`` or ``TimeDomain.REAL_TIME``.

    >>> TimerSpec("flush", TimeDomain.WATERMARK)
    TimerSpec(flush)
    """

    def __init__(self, name: str, time_domain: str) -> None:
        if time_domain not in (TimeDomain.WATERMARK, TimeDomain.REAL_TIME):
            raise PipelineError(
                f"the time domain of the timer {name!r} is {time_domain!r}",
                remedy="use TimeDomain.WATERMARK or TimeDomain.REAL_TIME",
            )
        self.name = name
        self.time_domain = time_domain
        self.callback = ""

    @property
    def in_event_time(self) -> bool:
        """Whether the timer fires by the watermark."""
        return TimeDomain.is_event_time(self.time_domain)

    def __repr__(self) -> str:
        return f"TimerSpec({self.name})"


class Timer(Protocol):
    """A timer, as a parameter with ``DoFn.TimerParam`` receives it.

    >>> def remind(element, timer):
    ...     timer.set(60, dynamic_timer_tag="first")
    """

    def set(
        self,
        timestamp: TimestampTypes,
        dynamic_timer_tag: str = "",
        output_timestamp: TimestampTypes | None = None,
    ) -> None:
        """Set the timer for the current key and window, in place of an earlier time.

        Args:
            timestamp: when it fires, in its time domain; at once if this is past, and at the latest when its
                window expires.
            dynamic_timer_tag: names one of several timers of the same spec.
            output_timestamp: the timestamp of the outputs of its method; until it fires, the output
                watermark does not pass this time. By default the time at which it fires, or, in
                processing time or if that is earlier, the timestamp of the element.

        Raises:
            PipelineError: the output timestamp is later than the timer, or earlier than the element.
        """

    def set_relative(
        self,
        offset: DurationTypes,
        dynamic_timer_tag: str = "",
        output_timestamp: TimestampTypes | None = None,
    ) -> None:
        """Set a timer of processing time to fire after a duration, by the clock of the runner.

        Beam's Java has it, Beam's Python has not. Tests set this clock with
        ``TestStream.advance_processing_time``, so use it instead of ``Timestamp.now()``.

        Args:
            offset: the duration from now, in seconds.
            dynamic_timer_tag: names one of several timers of the same spec.
            output_timestamp: see :meth:`set`.

        Raises:
            PipelineError: the timer is an event-time timer.
        """

    def current_relative_time(self) -> Timestamp:
        """Return the current time in the time domain of the timer: the watermark or the runner's clock.

        Beam's Java has it, Beam's Python has not.
        """

    def clear(self, dynamic_timer_tag: str = "") -> None:
        """Remove the timer, if it is set."""


def on_timer(timer_spec: TimerSpec) -> Callable[[MethodT], MethodT]:
    """Mark the method of a DoFn that is called when a timer fires.

    Args:
        timer_spec: the timer.

    Raises:
        ValueError: the argument is not a TimerSpec, or another method is already marked.

    >>> class Remind(DoFn):
    ...     FLUSH = TimerSpec("flush", TimeDomain.WATERMARK)
    ...
    ...     @on_timer(FLUSH)
    ...     def flush(self):
    ...         yield "flushed"
    >>> Remind.FLUSH.callback
    'flush'
    """
    if not isinstance(timer_spec, TimerSpec):
        raise ValueError(f"on_timer needs a TimerSpec, not {shorten(timer_spec)}")

    def mark(method: MethodT) -> MethodT:
        if not callable(method):
            raise ValueError(f"on_timer needs a method, not {shorten(method)}")
        if timer_spec.callback:
            raise ValueError(
                f"Multiple on_timer callbacks registered for {timer_spec!r}. Use one method for each timer."
            )
        timer_spec.callback = method.__name__
        setattr(method, TIMERS, (*getattr(method, TIMERS, ()), timer_spec.name))
        return method

    return mark


def on_window_expiration(method: MethodT) -> MethodT:
    """Mark the method of a DoFn that is called for each key and window before its state is removed.

    A window expires when the watermark passes its end and the allowed lateness.

    >>> class Rest(DoFn):
    ...     @on_window_expiration
    ...     def rest(self, key=DoFn.KeyParam):
    ...         yield key
    """
    setattr(method, EXPIRATION, True)
    return method
