"""AsyncWrapper: a DoFn whose calls run in the background, several at the same time (Beam's names).

An element is kept in a state until its outputs are emitted, and holds the watermark. Calls are lost with
their worker, or when a run resumes; then they are made again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import wait
from functools import partial
from typing import Any, Final
from uuid import uuid4

from headrace.errors import PipelineError, UnsupportedError, shorten
from headrace.sdk.batching.async_calls import (
    Calls,
    calls_of,
    end_all_calls,
    process_each,
    process_each_async,
    release,
)
from headrace.sdk.coders.keys import identity
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.elements.windowed_value import WindowedValue
from headrace.sdk.metrics.step_logging import current_step
from headrace.sdk.pardo.dofn import DoFn, Parameter, require_dofn
from headrace.sdk.pardo.state.specs import BagStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer, on_window_expiration
from headrace.sdk.pardo.stateful_dofn import is_stateful_dofn
from headrace.sdk.typehints.declared import parameters_of
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window import BoundedWindow

_WITH_TIME: Final = (TimestampedValue, WindowedValue)


class WaitingPair(tuple[Any, ...]):
    """A (key, value) pair whose call has not finished.

    Attributes:
        name: identifies the call.
        timestamp: the timestamp of the pair; None if it is not known.
    """

    name: Any
    timestamp: Timestamp | None

    @classmethod
    def of(cls, pair: Any, name: Any, timestamp: Timestamp | None) -> WaitingPair:
        """Return a pair with the name of its call."""
        waiting = cls(pair)
        waiting.name, waiting.timestamp = name, timestamp
        return waiting

    def __reduce__(self) -> tuple[Any, ...]:
        return WaitingPair.of, (tuple(self), self.name, self.timestamp)


class AsyncWrapper(DoFn):
    """A DoFn that calls another one in the background, for calls that take long, such as calls of a service.

    The input is (key, value) pairs. A call is a bundle of its own. A timer looks for calls that have
    finished, and emits their outputs with the timestamps of their elements. When a window expires, in a batch
    too, it waits for the calls that are left. A call that fails stops the pipeline, or is made again if the
    runner tries again. Metrics and log records of a call have no step.

    Args:
        sync_fn: the DoFn; its ``process`` takes only the element, and can be called by several threads at the
            same time.
        parallelism: the number of calls that run at the same time on a worker.
        callback_frequency: seconds of processing time after which the timer looks for finished calls.
        max_items_to_buffer: maximum number of calls that wait or run on a worker; other elements are kept in
            the state until there is room. By default twice the parallelism, but at least 10.
        timeout: maximum time for which an element waits for room before it is left in the state, in seconds.
        max_wait_time: maximum time between two looks for room, in seconds.
        id_fn: returns what identifies an element, given its value; hashable. An element is dropped while
            another one of its key with the same identity waits. By default no element is dropped.
        use_asyncio: whether ``process`` can be a coroutine or an asynchronous generator; then all calls run
            in one thread with an event loop, and ``parallelism`` has no effect.

    Raises:
        PipelineError: an argument is not valid.
        UnsupportedError: ``process`` asks for more than the element, or is stateful.

    >>> from headrace.transforms.async_dofn import AsyncWrapper
    >>> class Slow(DoFn):
    ...     def process(self, pair):
    ...         yield pair[0], pair[1].upper()
    >>> with Pipeline() as p:
    ...     _ = p | Create([("k", "a"), ("k", "b")]) | ParDo(AsyncWrapper(Slow(), 2)) | Map(print)
    ('k', 'A')
    ('k', 'B')
    """

    TIMER = TimerSpec("timer", TimeDomain.REAL_TIME)
    TO_PROCESS = BagStateSpec("to_process")

    def __init__(
        self,
        sync_fn: DoFn,
        parallelism: int = 1,
        callback_frequency: float = 5,
        max_items_to_buffer: int | None = None,
        timeout: float = 1,
        max_wait_time: float = 0.5,
        id_fn: Callable[[Any], Any] | None = None,
        use_asyncio: bool = False,
    ) -> None:
        self._sync_fn = require_dofn(sync_fn)
        _check_dofn(self._sync_fn)
        _check_positive(parallelism=parallelism, callback_frequency=callback_frequency)
        self._name = uuid4().hex
        self._parallelism = parallelism
        self._frequency = callback_frequency
        self._room = (
            max(parallelism * 2, 10) if max_items_to_buffer is None else max_items_to_buffer
        )
        _check_positive(max_items_to_buffer=self._room)
        self._timeout = timeout
        self._max_wait_time = max_wait_time
        self._id_fn = id_fn
        self._use_asyncio = use_asyncio

    def default_label(self) -> str:
        return f"AsyncWrapper({self._sync_fn.default_label()})"

    @property
    def _calls(self) -> Calls:
        return calls_of(self._name, self._parallelism, self._use_asyncio)

    @staticmethod
    def reset_state() -> None:
        """Wait for all calls of this process that run, and forget them; for tests."""
        end_all_calls()

    def setup(self) -> None:
        self._sync_fn.setup()
        self._calls.users += 1

    def teardown(self) -> None:
        release(self._name)
        self._sync_fn.teardown()

    def is_empty(self) -> bool:
        """Return whether no call of this process waits or runs."""
        return self._calls.running == 0

    def accepting_items(self) -> bool:
        """Return whether there is room for another call on this worker."""
        return self._calls.running < self._room

    def process(
        self,
        element: object,
        timer: object = DoFn.TimerParam(TIMER),
        to_process: Any = DoFn.StateParam(TO_PROCESS),
        timestamp: Any = DoFn.TimestampParam,
        window: Any = DoFn.WindowParam,
    ) -> Iterable[Any]:
        """Start a call for an element; its outputs are emitted later."""
        before = list(map(self._waiting, to_process.read()))
        time_of = timestamp if isinstance(timestamp, Timestamp) else None
        waiting = WaitingPair.of(element, self._name_of(element, window), time_of)
        if waiting.name in (other.name for other in before):
            return []
        to_process.add(waiting)
        self._settle([*before, waiting])
        self._start(waiting, patient=True)
        holds = [other.timestamp for other in before if other.timestamp is not None]
        if not before or (time_of is not None and holds and time_of < min(holds)):
            self._set(timer, [waiting])
        return []

    @on_timer(TIMER)
    def timer_callback(
        self,
        to_process: object = DoFn.StateParam(TO_PROCESS),
        timer: object = DoFn.TimerParam(TIMER),
    ) -> list[Any]:
        """Emit the outputs of calls that have finished."""
        return self.commit_finished_items(to_process, timer)

    @on_window_expiration
    def finish(self, to_process: Any = DoFn.StateParam(TO_PROCESS)) -> Iterator[Any]:
        """Wait for the calls of a key whose window expires, and emit their outputs."""
        left = list(map(self._waiting, to_process.read()))
        for waiting in left:
            self._start(waiting, room=False)
        calls = self._calls
        wait([calls.futures[waiting.name] for waiting in left])
        for waiting in left:
            yield from self._finished_outputs(waiting) or ()

    def commit_finished_items(self, to_process: Any, timer: object) -> list[Any]:
        """Return the outputs of the calls of a key that have finished, and start those that are missing.

        Args:
            to_process: the state with the elements of the key.
            timer: the timer of the key, which is set again if calls are left.
        """
        outputs: list[object] = []
        left: list[WaitingPair] = []
        before = list(map(self._waiting, to_process.read()))
        if before:
            self._settle(before)
        for waiting in before:
            found = self._finished_outputs(waiting)
            if found is None:
                self._start(waiting)
                left.append(waiting)
            else:
                outputs.extend(found)
        to_process.clear()
        for waiting in left:
            to_process.add(waiting)
        if left:
            self._set(timer, left)
        return outputs

    def _finished_outputs(self, waiting: WaitingPair) -> list[object] | None:
        """Return the outputs of a call that has finished, with their timestamps; else None."""
        future = self._calls.take(waiting.name)
        if future is None:
            return None
        return [_timed(output, waiting.timestamp) for output in future.result()]

    def _start(self, waiting: WaitingPair, patient: bool = False, room: bool = True) -> None:
        """Start a call.

        Args:
            waiting: its element.
            patient: whether to wait for room, up to the timeout.
            room: whether there must be room.
        """
        process: Any = process_each_async if self._use_asyncio else process_each
        call, element = partial(process, self._sync_fn), tuple(waiting)
        limit = self._room if room else None
        end, pause = time.monotonic() + self._timeout, 0.01
        while not self._calls.start(waiting.name, element, call, limit):
            if not patient or time.monotonic() >= end:
                return
            time.sleep(pause)
            pause = min(self._max_wait_time, pause * 2)

    def _settle(self, waiting: list[WaitingPair]) -> None:
        """Cancel the calls of a key and window whose elements are not in the state, since a round failed.

        An element that is equal to one of them has its call.
        """
        owner, known = waiting[0].name[:3], {each.name for each in waiting}
        calls = self._calls
        unknown = [name for name in list(calls.futures) if name[:3] == owner and name not in known]
        for each in waiting if unknown else ():
            former = calls.adopt(each.name, tuple(each), unknown)
            if former is not None:
                unknown.remove(former)
        for name in unknown:
            calls.forget(name)

    def _name_of(self, element: Any, window: object) -> tuple[object, ...]:
        """Return the name of a new call: step, key, window and what identifies the element."""
        value = uuid4().hex if self._id_fn is None else self._id_fn(element[1])
        within = window if isinstance(window, BoundedWindow) else None
        return current_step(), identity(element[0]), within, value

    def _waiting(self, item: object) -> WaitingPair:
        """Return an item of the state; one that was put there as a plain pair has no call yet."""
        if isinstance(item, WaitingPair):
            return item
        return WaitingPair.of(item, self._name_of(item, None), None)

    def _set(self, timer: Any, waiting: list[WaitingPair]) -> None:
        """Set the timer; the watermark is held at the earliest of the elements."""
        due = Timestamp.now() + self._frequency
        times = [each.timestamp for each in waiting if each.timestamp is not None]
        if times:
            timer.set(due, output_timestamp=min(times))
        else:
            timer.set(due)


def _timed(output: object, timestamp: Timestamp | None) -> Any:
    """Return an output with the timestamp of its element, if it has none of its own."""
    if timestamp is None or isinstance(output, _WITH_TIME):
        return output
    if isinstance(output, TaggedOutput):
        return TaggedOutput(output.tag, _timed(output.value, timestamp))
    return TimestampedValue(output, timestamp)


def _check_dofn(dofn: DoFn) -> None:
    """Refuse a DoFn that needs more than an element."""
    asked = [p.default for p in parameters_of(dofn.process)]
    more = [default for default in asked if isinstance(default, Parameter)]
    if more or is_stateful_dofn(dofn):
        problem = f"asks for {more[0]!r}" if more else "is stateful"
        raise UnsupportedError(
            f"{dofn.default_label()} {problem}, and a call in the background has only its element",
            remedy="put what it needs into the element with a step before it",
        )


def _check_positive(**given: Any) -> None:
    for name, value in given.items():
        if value <= 0:
            raise PipelineError(f"{name} is {shorten(value)}", remedy="use more than 0")
