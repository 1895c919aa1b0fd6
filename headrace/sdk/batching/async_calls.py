"""Calls of a DoFn in the background: threads, or one thread with an event loop, of this process.

Workers make new copies of a DoFn, also while calls are running. So the calls are kept per process, by the
name of the DoFn that all its copies have.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from inspect import isawaitable
from threading import Lock, Thread
from typing import Any, Final

import attrs

from headrace.sdk.coders.keys import encode_value
from headrace.sdk.pardo.dofn import DoFn

_REGISTRY_LOCK: Final = Lock()
_REGISTRY: Final[dict[str, Calls]] = {}
"""The calls of this process by the name of their DoFn."""


@attrs.define(eq=False)
class Calls:
    """The calls of one DoFn that run or have finished.

    Args:
        executor: runs them.
        running: the number of calls that have not finished.
        users: the number of copies of the DoFn that are set up.
        futures: the outputs of each call, by the name of its element.
        elements: the elements, by name.
    """

    executor: Executor
    running: int = 0
    users: int = 0
    futures: dict[Any, Future[list[Any]]] = attrs.field(factory=dict)
    elements: dict[Any, Any] = attrs.field(factory=dict)
    _lock: Any = attrs.field(factory=Lock, init=False, repr=False)

    def start(
        self, name: object, element: object, call: Callable[[Any], Any], room: int | None
    ) -> bool:
        """Start a call, unless there is no room for it or it was started before.

        Args:
            name: the name of its element.
            element: its element.
            call: the call.
            room: the maximum number of running calls; None for no maximum.

        Returns:
            Whether the call was started, now or before.
        """
        with self._lock:
            if name in self.futures:
                return True
            if room is not None and self.running >= room:
                return False
            self.running += 1
            future = self.futures[name] = self.executor.submit(call, element)
            self.elements[name] = element
        future.add_done_callback(self._finished)
        return True

    def take(self, name: object) -> Future[list[Any]] | None:
        """Remove a call that has finished, and return it; None if it runs or was not started."""
        with self._lock:
            future = self.futures.get(name)
            if future is None or not future.done():
                return None
            self.elements.pop(name, None)
            return self.futures.pop(name)

    def adopt(self, name: object, element: object, unknown: Iterable[object]) -> Any:
        """Let an element have the call of an equal one that nobody knows; return the former name, or None."""
        with self._lock:
            if name in self.futures:
                return None
            for other in unknown:
                if _are_equal(self.elements.get(other), element):
                    self.futures[name] = self.futures.pop(other)
                    self.elements[name] = self.elements.pop(other)
                    return other
        return None

    def forget(self, name: object) -> None:
        """Cancel a call whose outputs are not needed; one that runs goes on."""
        with self._lock:
            future = self.futures.pop(name, None)
            self.elements.pop(name, None)
        if future is not None:
            future.cancel()

    def _finished(self, future: Future[list[Any]]) -> None:
        with self._lock:
            self.running -= 1


def _are_equal(one: object, other: object) -> bool:
    """Return whether elements have the same encoding; those that cannot be pickled have none."""
    try:
        return encode_value(one) == encode_value(other)
    except Exception:  # of any class of a user
        return False


def calls_of(name: str, parallelism: int, use_asyncio: bool) -> Calls:
    """Return the calls of a DoFn in this process.

    Args:
        name: the name of the DoFn.
        parallelism: the number of threads.
        use_asyncio: whether there is an event loop in place of the threads.
    """
    with _REGISTRY_LOCK:
        if name not in _REGISTRY:
            executor = EventLoop() if use_asyncio else ThreadPoolExecutor(parallelism)
            _REGISTRY[name] = Calls(executor)
        return _REGISTRY[name]


def release(name: str) -> None:
    """End the threads of a DoFn when its last copy is torn down, unless there are calls to go on with."""
    with _REGISTRY_LOCK:
        calls = _REGISTRY.get(name)
        if calls is None:
            return
        calls.users -= 1
        if calls.users > 0 or calls.running or calls.futures:
            return
        del _REGISTRY[name]
    calls.executor.shutdown(wait=False)


def end_all_calls() -> None:
    """Wait for the calls of this process that run, and forget all."""
    with _REGISTRY_LOCK:
        ended = list(_REGISTRY.values())
        _REGISTRY.clear()
    for calls in ended:
        calls.executor.shutdown(wait=True, cancel_futures=True)


class EventLoop(Executor):
    """Runs functions that return coroutines in one thread with an event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._run, name="headrace-asyncio", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        if left:
            self._loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self._loop.close()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Start the coroutine that a function returns."""
        return asyncio.run_coroutine_threadsafe(fn(*args, **kwargs), self._loop)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Stop the loop, and cancel the coroutines that wait."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        if wait:
            self._thread.join()


def process_each(dofn: DoFn, element: object) -> list[Any]:
    """Return the outputs of a DoFn for an element as a bundle of its own.

    >>> class Double(DoFn):
    ...     def process(self, element):
    ...         yield element
    ...         yield element
    >>> process_each(Double(), 1)
    [1, 1]
    """
    dofn.start_bundle()
    return [*(dofn.process(element) or ()), *(dofn.finish_bundle() or ())]


async def process_each_async(dofn: DoFn, element: object) -> list[Any]:
    """Return the outputs of a DoFn whose ``process`` can be a coroutine or an asynchronous generator."""
    dofn.start_bundle()
    outputs = await _collected(dofn.process(element))
    return [*outputs, *await _collected(dofn.finish_bundle())]


async def _collected(result: Any) -> list[Any]:
    found: AsyncIterable[Any] | Iterable[Any] | None
    found = await result if isawaitable(result) else result
    if isinstance(found, AsyncIterable):
        return [output async for output in found]
    return list(found or ())
