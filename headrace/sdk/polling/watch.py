"""Watch and ReadByPolling: a growing set of outputs, found by calling a function again and again.

What polls depends on the input. The elements of a Create are known before the run, so a source polls them.
Elements of a stream are polled by a stateful DoFn with timers of processing time. Other bounded collections
are polled element by element until their condition is true.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, Generic, get_args, get_origin

import attrs

from headrace.errors import PipelineError
from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.keys import encode_value
from headrace.sdk.elements.type_variables import InT, OutT
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pardo.state.specs import MapStateSpec
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.graph import Read as ReadNode
from headrace.sdk.pipelines.pvalue import PBegin, PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.polling.poll_results import PollFn, PollResult
from headrace.sdk.polling.poll_rounds import PollSpec, PollState, first_state, poll
from headrace.sdk.polling.poll_termination import TerminationCondition, never
from headrace.sdk.polling.polled_source import PolledInputs
from headrace.sdk.sources.reading import created_values, read_node
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.typehints.element_types import pair_type, result_type
from headrace.windowing.time.timestamps import Duration, DurationTypes, Timestamp, duration_micros
from headrace.windowing.timestamped_value import TimestampedValue


class Watch(PTransform[PCollection[InT], PCollection[Any]], Generic[InT, OutT]):
    """Polls a function for each element, and emits an (element, output) pair for each new output.

    An output is new if no poll for this element has returned its key before. The watermark follows the
    outputs of all elements that are still polled. On a :class:`~headrace.Create` the result is unbounded, and
    the pipeline ends when polling ends for all elements. On a stream an element is polled until its window
    expires, or the run is drained; then it is polled a last time. On other bounded collections a worker polls
    element by element, and waits between two polls.

    Args:
        poll_fn: returns the :class:`~headrace.io.watch.PollResult` of an element.
        poll_interval: seconds of processing time between two polls.
        termination: when polling of an element ends, such as ``after_total_of(3600)``; by default when the
            function returns ``PollResult.complete``.
        output_coder: its type is the type of the outputs; values are not encoded with it.
        output_key_fn: returns the key of an output; by default the output itself.
        output_key_coder: encodes the key, to compare it; by default as the keys of groupings, or by pickling.
        timestamp_cursor: whether to forget outputs that are older than the newest one by more than
            ``allowed_lateness``, and to drop outputs of this age. By default a hash of 16 bytes of each
            output is kept for as long as its element is polled.
        allowed_lateness: seconds of event time, for ``timestamp_cursor``.
        now_fn: the clock for the termination, in seconds; by default the runner's clock.

    Raises:
        PipelineError: an argument is not valid, or polling of a bounded collection would not end.

    >>> from headrace.io.watch import PollResult, after_iterations
    >>> polls = {"a": 0}
    >>> def listing(name):
    ...     polls[name] += 1
    ...     return PollResult.incomplete([f"{name}{n}" for n in range(polls[name])], timestamp=0)
    >>> with Pipeline() as p:
    ...     watched = Watch(listing, poll_interval=0.01, termination=after_iterations(2))
    ...     _ = p | Create(["a"]) | watched | Map(print)
    ('a', 'a0')
    ('a', 'a1')
    """

    def __init__(
        self,
        poll_fn: Callable[[InT], PollResult[OutT]],
        poll_interval: DurationTypes,
        termination: TerminationCondition | None = None,
        output_coder: Any = None,
        output_key_fn: Callable[[OutT], Any] | None = None,
        output_key_coder: Any = None,
        timestamp_cursor: bool = False,
        allowed_lateness: DurationTypes = 0,
        now_fn: Callable[[], float] | None = None,
    ) -> None:
        super().__init__()
        self._spec = _spec(poll_fn, poll_interval, termination)
        lateness = duration_micros(allowed_lateness)
        if lateness < 0:
            raise PipelineError(
                f"Watch allowed_lateness must not be negative, got {allowed_lateness}",
                remedy="use seconds from 0",
            )
        self._spec = attrs.evolve(
            self._spec,
            key=OutputKey(output_key_fn, _deterministic(output_key_coder)),
            lateness=lateness,
            cursor=timestamp_cursor,
            now_fn=now_fn,
        )
        self._type = _output_type(poll_fn, output_coder)

    def expand(self, pcoll: PCollection[InT]) -> PCollection[Any]:
        require_collection(pcoll)
        output_type = pair_type(pcoll.element_type, self._type)
        created = created_values(pcoll)
        if created is not None:
            source = PolledInputs(self._spec, created)
            begin = PBegin(pcoll.pipeline)
            return read_node(begin, source, bounded=False, element_type=output_type)
        if pcoll.collection.bounded and not _is_scripted(pcoll):
            self._require_end()
            return pcoll | "Poll" >> ParDo(_PollToEnd(self._spec)).with_output_types(output_type)
        keyed = pcoll | "Key" >> each(_keyed)
        return keyed | "Poll" >> ParDo(_PollStream(self._spec)).with_output_types(output_type)

    def _require_end(self) -> None:
        if not self._spec.termination.ends:
            raise PipelineError(
                "the input of Watch is bounded, but nothing ends its polling",
                remedy="pass a termination such as after_total_of(3600), or apply it to hr.Create, whose "
                "elements are polled as a stream",
            )


class ReadByPolling(PTransform[PBegin, PCollection[OutT]], Generic[OutT]):
    """Reads what a function finds, which is called again and again; each output is emitted once.

    Args:
        poll_fn: takes no argument, and returns a :class:`~headrace.io.watch.PollResult`.
        poll_interval: seconds of processing time between two polls.
        termination: when polling ends; by default when the function returns ``PollResult.complete``.
        options: other arguments of :class:`~headrace.Watch`.

    >>> from headrace.io.watch import PollResult
    >>> def prices():
    ...     return PollResult.complete([("EUR", 1.17)], timestamp=0)
    >>> with Pipeline() as p:
    ...     _ = p | hr.io.ReadByPolling(prices, poll_interval=60) | Map(print)
    ('EUR', 1.17)
    """

    def __init__(
        self,
        poll_fn: Callable[[], PollResult[OutT]],
        poll_interval: DurationTypes,
        termination: TerminationCondition | None = None,
        **options: Any,
    ) -> None:
        super().__init__()
        self._watch: Watch[Any, OutT] = Watch(poll_fn, poll_interval, termination, **options)  # type: ignore[arg-type]

    def expand(self, pcoll: PBegin) -> PCollection[OutT]:
        spec = attrs.evolve(self._watch._spec, fn=_WithoutInput(self._watch._spec.fn))
        source = PolledInputs(spec, (None,), paired=False)
        return read_node(pcoll, source, bounded=False, element_type=self._watch._type)


@attrs.frozen
class _WithoutInput:
    """A poll function that ignores its input."""

    fn: Any

    def __call__(self, element: Any) -> Any:
        return self.fn()


@attrs.frozen
class OutputKey:
    """Returns the bytes by which an output is known again.

    Args:
        fn: returns the key of an output; None for the output itself.
        coder: encodes the key; None for the encoding of values.

    >>> OutputKey(len)("ab") == OutputKey(len)("cd")
    True
    """

    fn: Callable[[Any], Any] | None = None
    coder: Coder | None = None

    def __call__(self, output: Any) -> bytes:
        key = output if self.fn is None else self.fn(output)
        return encode_value(key) if self.coder is None else bytes(self.coder.encode(key))


class _PollStream(DoFn):
    """Polls the elements of a stream; equal elements of a window are polled each by itself."""

    INPUTS = MapStateSpec("inputs")
    NEXT = TimerSpec("next", TimeDomain.REAL_TIME)

    def __init__(self, spec: PollSpec) -> None:
        self._spec = spec

    def default_label(self) -> str:
        return "Poll"

    def process(
        self,
        pair: Any,
        timestamp: Any = DoFn.TimestampParam,
        window: object = DoFn.WindowParam,
        inputs: Any = DoFn.StateParam(INPUTS),
        timer: Any = DoFn.TimerParam(NEXT),
    ) -> Iterator[Any]:
        number = max(inputs.keys(), default=-1) + 1
        now = timer.current_relative_time().micros
        state = first_state(self._spec, pair[1], timestamp.micros, now)
        yield from self._poll(number, pair[1], state, inputs, timer, window)

    @on_timer(NEXT)
    def poll_again(
        self,
        tag: Any = DoFn.DynamicTimerTagParam,
        window: object = DoFn.WindowParam,
        inputs: Any = DoFn.StateParam(INPUTS),
        timer: Any = DoFn.TimerParam(NEXT),
    ) -> Iterator[object]:
        """Poll an element again."""
        element, state = inputs.get(int(tag))
        yield from self._poll(int(tag), element, state, inputs, timer, window)

    def _poll(
        self, number: int, element: object, state: PollState, inputs: Any, timer: Any, window: Any
    ) -> Iterator[object]:
        now = timer.current_relative_time().micros
        state, outputs = poll(self._spec, element, state, now)
        for out in outputs:
            yield TimestampedValue((element, out.value), out.timestamp)
        if state.finished:
            inputs.remove(number)
            return
        inputs.put(number, (element, state))
        hold = min(Timestamp(micros=state.watermark), window.max_timestamp())
        timer.set_relative(Duration(micros=self._spec.interval), str(number), hold)


class _PollToEnd(DoFn):
    """Polls each element of a bounded collection until its condition is true, by the wall clock."""

    def __init__(self, spec: PollSpec) -> None:
        self._spec = spec

    def default_label(self) -> str:
        return "Poll"

    def process(self, element: object, timestamp: Any = DoFn.TimestampParam) -> Iterator[Any]:
        state = first_state(self._spec, element, timestamp.micros, Timestamp.now().micros)
        while not state.finished:
            due = time.monotonic() + self._spec.interval / 1_000_000
            state, outputs = poll(self._spec, element, state, Timestamp.now().micros)
            for out in outputs:
                yield TimestampedValue((element, out.value), out.timestamp)
            if not state.finished:
                time.sleep(max(0.0, due - time.monotonic()))


def _keyed(element: object) -> tuple[bytes, Any]:
    return blake2b(encode_value(element), digest_size=16).digest(), element


def _spec(
    poll_fn: object, interval: DurationTypes, termination: TerminationCondition | None
) -> PollSpec:
    if not callable(poll_fn):
        raise TypeError(f"poll_fn must be a function, not {poll_fn!r}")
    if interval is None:
        raise PipelineError("Watch requires a poll_interval", remedy="use a number of seconds")
    length = duration_micros(interval)
    if length <= 0:
        raise PipelineError(f"the poll_interval is {interval}", remedy="use more than 0 seconds")
    return PollSpec(poll_fn, length, termination or never())


def _is_scripted(pcoll: PCollection[object]) -> bool:
    """Return whether a collection depends on a test stream, which is a stream also if it ends."""
    upstream = pcoll.pipeline.graph.upstream(pcoll.collection.node)
    return any(isinstance(n, ReadNode) and isinstance(n.source, TestStream) for n in upstream)


def _deterministic(coder: object) -> Coder | None:
    """Return a coder by which keys can be compared."""
    if coder is None:
        return None
    if not isinstance(coder, Coder):
        raise TypeError(f"output_key_coder must be a Coder, not {coder!r}")
    if not coder.is_deterministic():
        raise PipelineError(
            f"output_key_coder is {coder!r}, which can encode equal keys differently",
            remedy="pass a deterministic coder, or remove it",
        )
    return coder


def _output_type(poll_fn: Any, coder: object) -> object:
    """Return the type of outputs: of the coder, or of the annotation ``-> PollResult[...]``."""
    if coder is None and isinstance(poll_fn, PollFn):
        coder = poll_fn.default_output_coder()
    if coder is not None and hasattr(coder, "to_type_hint"):
        return coder.to_type_hint()
    is_function = hasattr(poll_fn, "__code__") or hasattr(poll_fn, "__func__")
    declared = result_type(poll_fn if is_function else type(poll_fn).__call__)
    if get_origin(declared) is PollResult:
        return get_args(declared)[0]
    return Any
