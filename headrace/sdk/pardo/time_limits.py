"""Time limits of calls: a call runs in a thread of its own, for which the caller waits for a limited time."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from functools import wraps
from threading import Thread
from typing import Any, Generic, TypeVar

import attrs

ResultT = TypeVar("ResultT")


def call_within(seconds: float, call: Callable[[], ResultT]) -> ResultT:
    """Return the result of a call, or raise its exception; stop to wait for it after a time.

    A call that takes longer goes on in its thread, since Python cannot stop it.

    Args:
        seconds: the time limit.
        call: the call.

    Raises:
        TimeoutError: it takes longer.

    >>> call_within(10, lambda: 7)
    7
    """
    outcome: _Outcome[ResultT] = _Outcome(call)
    context = copy_context()  # so that metrics are counted for the step
    thread = Thread(target=context.run, args=(outcome.find,), name="headrace-call", daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        error = TimeoutError()
        error.add_note(f"the call took more than {seconds:g} seconds")
        raise error
    if outcome.error is not None:
        raise outcome.error
    return outcome.results[0]


@attrs.define(eq=False)
class _Outcome(Generic[ResultT]):
    """The result of a call in a thread, or its exception."""

    call: Callable[[], ResultT]
    results: list[ResultT] = attrs.field(factory=list)
    error: BaseException | None = None

    def find(self) -> None:
        """Call, and keep the outcome."""
        try:
            self.results.append(self.call())
        except BaseException as error:
            self.error = error


def within(seconds: float, fn: Callable[..., Any], many: bool) -> Callable[..., Any]:
    """Return a function with the time limit :func:`call_within`.

    Args:
        seconds: the time limit.
        fn: the function.
        many: whether its result is an iterable, all of whose items must be there in time.

    >>> within(10, str.upper, many=False)("a"), within(10, iter, many=True)("ab")
    ('A', ['a', 'b'])
    """

    @wraps(fn)
    def limited(*args: object, **kwargs: object) -> object:
        def call() -> Any:
            result = fn(*args, **kwargs)
            return list(result) if many and result is not None else result

        return call_within(seconds, call)

    return limited
