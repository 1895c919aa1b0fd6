"""Calls of services: what is called, its time limit, and how a call is repeated (Beam's names)."""

from __future__ import annotations

import random
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.pardo.time_limits import call_within

DEFAULT_TIMEOUT_SECS: Final = 30.0
"""The time limit of a call."""


class UserCodeExecutionException(Exception):
    """A call of a service failed.

    >>> raise UserCodeExecutionException("no such city")
    Traceback (most recent call last):
    headrace.sdk.joins.web_calls.UserCodeExecutionException: no such city
    """


class UserCodeQuotaException(UserCodeExecutionException):
    """A service refuses calls because there are too many; raise it in a caller, and the call is repeated.

    >>> raise UserCodeQuotaException("429 Too Many Requests")
    Traceback (most recent call last):
    headrace.sdk.joins.web_calls.UserCodeQuotaException: 429 Too Many Requests
    """


class UserCodeTimeoutException(UserCodeExecutionException):
    """A call of a service took too long; it is repeated.

    >>> issubclass(UserCodeTimeoutException, UserCodeExecutionException)
    True
    """


class Caller(AbstractContextManager[Any]):
    """A caller of a service; subclass it and define ``__call__``.

    Define ``__enter__`` and ``__exit__`` to open and close a client. A worker calls them once.

    >>> class Shout(Caller):
    ...     def __call__(self, request, *args, **kwargs):
    ...         return request.upper()
    >>> Shout()("a")
    'A'
    """

    @abstractmethod
    def __call__(self, request: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the response to a request; or, with batches, to a list of requests."""

    def __enter__(self) -> Self:
        """Prepare for calls."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Clean up."""

    def get_cache_key(self, request: object) -> Any:
        """Return the key of a request in a cache; by default, or if it is empty, the request itself."""
        return ""

    def batch_elements_kwargs(self) -> Mapping[str, Any]:
        """Return arguments of :class:`~headrace.BatchElements`, if requests are to be sent in batches."""
        return {}


class Repeater:
    """A rule for repeating failed calls; subclass it and define :meth:`repeat`.

    >>> class Twice(Repeater):
    ...     def repeat(self, caller, request, timeout, metrics_collector=None):
    ...         try:
    ...             return call_in_time(caller, request, timeout)
    ...         except UserCodeTimeoutException:
    ...             return call_in_time(caller, request, timeout)
    >>> Twice().repeat(str.upper, "a", 10)
    'A'
    """

    @abstractmethod
    def repeat(
        self,
        caller: Callable[[Any], Any],
        request: Any,
        timeout: float | None,
        metrics_collector: Any = None,
    ) -> Any:
        """Call a service, and return its response.

        Args:
            caller: what is called.
            request: its argument.
            timeout: the time limit of a call, in seconds; None for no limit.
            metrics_collector: None; for repeaters that were written for Beam.
        """


@attrs.frozen
class NoOpsRepeater(Repeater):
    """Does not repeat calls.

    >>> NoOpsRepeater().repeat(str.upper, "a", 10)
    'A'
    """

    def repeat(
        self,
        caller: Callable[[Any], object],
        request: object,
        timeout: float | None,
        metrics_collector: object = None,
    ) -> Any:
        return call_in_time(caller, request, timeout)


def _not_negative(instance: object, attribute: Any, value: float) -> None:
    if value < 0:
        raise PipelineError(f"{attribute.name} is {value}", remedy="use a number from 0")


@attrs.frozen
class ExponentialBackOffRepeater(Repeater):
    """Repeats calls that take too long or exceed a quota, and doubles the time between them.

    It repeats a call after UserCodeTimeoutException and UserCodeQuotaException.

    Args:
        num_retries: how often a call is repeated; then the exception is raised.
        initial_delay_secs: seconds before the first repetition, up to half as much shorter by chance.
        max_delay_secs: maximum seconds between two calls.

    >>> ExponentialBackOffRepeater(num_retries=4).num_retries
    4
    """

    num_retries: int = attrs.field(default=2, validator=_not_negative)
    initial_delay_secs: float = attrs.field(default=5.0, validator=_not_negative)
    max_delay_secs: float = attrs.field(default=3600.0, validator=_not_negative)

    def repeat(
        self,
        caller: Callable[[Any], object],
        request: object,
        timeout: float | None,
        metrics_collector: object = None,
    ) -> Any:
        for number in range(self.num_retries):
            try:
                return call_in_time(caller, request, timeout)
            except (UserCodeTimeoutException, UserCodeQuotaException):
                delay = min(self.initial_delay_secs * 2**number, self.max_delay_secs)
                time.sleep(delay * random.uniform(0.5, 1))  # so that workers do not call together
        return call_in_time(caller, request, timeout)


def call_in_time(caller: Callable[[Any], object], request: object, timeout: float | None) -> Any:
    """Call a service, and stop to wait for it after a time.

    A call that takes longer goes on in a thread of its own, since Python cannot stop it.

    Args:
        caller: what is called.
        request: its argument.
        timeout: the time limit, in seconds; None for no limit.

    Raises:
        UserCodeTimeoutException: the call takes longer, or raises a TimeoutError.

    >>> call_in_time(str.upper, "a", 10)
    'A'
    """
    if timeout is None:
        return caller(request)
    try:
        return call_within(timeout, partial(caller, request))
    except TimeoutError as error:  # also of the client itself
        raise UserCodeTimeoutException(
            f"{type(caller).__name__} did not answer within {timeout:g} seconds to {shorten(request)}"
        ) from error
