"""The steps of an enrichment: lookups, alone or in batches, and joins with what they return.

The first step looks up elements, and emits an outcome for each, also if its lookup fails. The second joins an
element and its response, or raises the exception of the lookup; so an exception concerns one element, and can
become a dead letter.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from traceback import format_exception
from typing import Any, Final

import attrs

from headrace.errors import ElementError, shorten
from headrace.sdk.elements.schemas import fields_of
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.joins.response_cache import MISSING, CacheSpec, ResponseCache
from headrace.sdk.joins.web_calls import Caller, Repeater, UserCodeTimeoutException
from headrace.sdk.metrics.cells import Metrics
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.exception_handling import (
    Exceptions,
    TakesErrors,
    check_exceptions,
    check_threshold,
    stop_at_threshold,
    user_frames,
)
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PCollection
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window_fn import WindowFn

_LOG: Final = logging.getLogger(__name__)

JoinFn = Callable[[Any, Any], Any]
"""Joins the fields of an element and the fields of its response."""


@attrs.frozen(eq=False)
class Lookup:
    """The settings of a lookup.

    Args:
        handler: looks up an element, or a list of them.
        timeout: the time limit in seconds.
        repeater: repeats lookups.
        cache: the cache, if there is one.
    """

    handler: Caller
    timeout: float | None
    repeater: Repeater
    cache: CacheSpec | None = None

    def __call__(self, request: Any) -> Any:
        """Return what the handler returns."""
        _count("requests")
        try:
            return self.repeater.repeat(self.handler, request, self.timeout, None)
        except UserCodeTimeoutException:
            _count("requests_timed_out")
            raise

    def key_of(self, request: object) -> Any:
        """Return the key of a request in the cache."""
        return self.handler.get_cache_key(request) or request


@attrs.frozen
class Failed:
    """The exception of a lookup, in place of a response."""

    error: Exception


@attrs.frozen(repr=False)
class LookupOutcome:
    """An element and its response, or Failed; in messages it looks like the element."""

    element: Any
    response: Any

    def __repr__(self) -> str:
        return repr(self.element)


@attrs.frozen(eq=False)
class Letters:
    """The treatment of elements that fail; see :meth:`Enrichment.with_exception_handling`."""

    main_tag: str
    dead_letter_tag: str
    exc_class: Exceptions = Exception
    threshold: float = 1
    threshold_windowing: WindowFn | None = None
    on_failure_callback: Callable[[Exception, Any], object] | None = None
    error_handler: TakesErrors | None = None

    def __attrs_post_init__(self) -> None:
        """Check the arguments."""
        check_exceptions(self.exc_class)
        check_threshold(self.threshold)

    def of_worker(self) -> Letters:
        """Return what a DoFn needs of it: not the handler, which has collections of the pipeline."""
        return attrs.evolve(self, error_handler=None)

    def letter(self, element: object, error: Exception) -> TaggedOutput:
        """Return the dead letter of an element."""
        if self.on_failure_callback is not None:
            try:
                self.on_failure_callback(error, element)
            except Exception:
                _LOG.warning("on_failure_callback failed", exc_info=True)
        lines = format_exception(type(error), error, user_frames(error.__traceback__))
        return TaggedOutput(self.dead_letter_tag, (element, (type(error), repr(error), lines)))

    def applied(self, pcoll: PCollection[object], outputs: DoOutputsTuple) -> Any:
        """Return the outputs, or the main one if a handler takes the dead letters."""
        bad = outputs[self.dead_letter_tag]
        if self.threshold < 1:
            stop_at_threshold(pcoll, bad, self.threshold, self.threshold_windowing)
        if self.error_handler is None:
            return outputs
        self.error_handler.add_error_pcollection(bad)
        return outputs[self.main_tag]


class _Lookups(DoFn):
    """Looks up elements, and emits their outcomes."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._cache: ResponseCache | None = None

    def setup(self) -> None:
        self._lookup.handler.__enter__()
        if self._lookup.cache is not None:
            self._cache = self._lookup.cache.new()

    def teardown(self) -> None:
        self._lookup.handler.__exit__(None, None, None)

    def cached(self, request: object) -> object:
        """Return the response that is in the cache, or MISSING."""
        if self._cache is None:
            return MISSING
        found = self._cache.get(self._lookup.key_of(request))
        if found is not MISSING:
            _count("cache_hits")
        return found

    def keep(self, request: object, response: object) -> None:
        """Put a response into the cache."""
        if self._cache is not None:
            self._cache.put(self._lookup.key_of(request), response)


class LookUpEach(_Lookups):
    """Looks up one element at a time."""

    def process(self, element: object) -> Iterator[Any]:
        response = self.cached(element)
        if response is MISSING:
            try:
                response = _response(self._lookup(element))
                self.keep(element, response)
            except Exception as error:
                response = Failed(error)
        yield LookupOutcome(element, response)


class LookUpBatch(_Lookups):
    """Looks up the elements of a batch, which are pairs of an element and its timestamp, in one call."""

    def process(self, batch: Any) -> Iterator[Any]:
        found = [self.cached(element) for element, _ in batch]
        missing = [number for number, response in enumerate(found) if response is MISSING]
        if missing:
            asked = [batch[number][0] for number in missing]
            for number, response in zip(missing, self._ask(asked), strict=True):
                found[number] = response
        for (element, timestamp), response in zip(batch, found, strict=True):
            yield TimestampedValue(LookupOutcome(element, response), timestamp)

    def _ask(self, elements: list[object]) -> Iterable[object]:
        try:
            responses = list(map(_response, self._lookup(elements)))
            if len(responses) != len(elements):
                raise ElementError(
                    f"the handler returned {len(responses)} pairs for {len(elements)} requests",
                    remedy="return a pair for each request, in the order of the requests",
                )
        except Exception as error:
            return [Failed(error)] * len(elements)
        for element, response in zip(elements, responses, strict=True):
            self.keep(element, response)
        return responses


class WithTime(DoFn):
    """Pairs an element with its timestamp, which a batch would lose."""

    def process(self, element: object, timestamp: object = DoFn.TimestampParam) -> Iterator[Any]:
        yield element, timestamp


@attrs.frozen(eq=False)
class JoinResponse(DoFn):
    """Joins an element and its response, or raises the exception of the lookup.

    Args:
        join_fn: joins them.
        whole: whether it takes the values themselves, rather than their fields.
        letters: what to do with elements that fail.
    """

    join_fn: JoinFn
    whole: bool
    letters: Letters | None = None

    def process(self, outcome: Any) -> Iterator[Any]:
        try:
            yield self._joined(outcome.element, outcome.response)
        except Exception as error:
            if self.letters is None or not isinstance(error, self.letters.exc_class):
                raise
            yield self.letters.letter(outcome.element, error)

    def _joined(self, element: object, response: object) -> Any:
        if isinstance(response, Failed):
            raise response.error
        if self.whole:
            return self.join_fn(element, response)
        return self.join_fn(_fields(element), _fields(response))


def _fields(record: Any) -> dict[str, Any]:
    """Return the fields of a record as a new dict; none for None."""
    if record is None:
        return {}
    return dict(record if isinstance(record, Mapping) else fields_of(record))


def _response(found: object) -> object:
    """Return the response of a (request, response) pair."""
    if isinstance(found, tuple) and len(found) == 2:
        return found[1]
    raise ElementError(
        f"the handler returned {shorten(found)}", remedy="return a pair (request, response)"
    )


def _count(name: str) -> None:
    Metrics.counter("enrichment", name).inc()
