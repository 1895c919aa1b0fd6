"""Enrichment: each element is joined with what a lookup in another system returns for it (Beam's names)."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import copy
from typing import Any, Final, Generic

import attrs

from headrace.errors import PipelineError, UnsupportedError, printable, shorten
from headrace.sdk.batching.batch_elements import BatchElements
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.type_variables import InT, OutT
from headrace.sdk.joins.lookups import (
    JoinFn,
    JoinResponse,
    Letters,
    Lookup,
    LookUpBatch,
    LookUpEach,
    WithTime,
)
from headrace.sdk.joins.response_cache import CacheSpec
from headrace.sdk.joins.web_calls import (
    DEFAULT_TIMEOUT_SECS,
    Caller,
    ExponentialBackOffRepeater,
    Repeater,
)
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.error_handling import ErrorHandler
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.windowing.time.timestamps import DurationTypes

_LOG: Final = logging.getLogger(__name__)


class EnrichmentSourceHandler(Caller):
    """Looks up elements; subclass it and define ``__call__``.

    It returns a (request, response) pair; a response is a row, a named tuple or the like, a dict, or None if
    there is none. If ``batch_elements_kwargs`` is not empty, it takes a list of requests, and returns a list
    of pairs.

    >>> class Capitals(EnrichmentSourceHandler):
    ...     def __call__(self, request, *args, **kwargs):
    ...         return request, hr.Row(capital={"FR": "Paris"}.get(request.country))
    >>> Capitals()(hr.Row(country="FR"))[1]
    Row(capital='Paris')
    """

    def get_cache_key(self, request: object) -> Any:
        """Return the key of a request in a cache; by default its text."""
        return f"request: {request}"


def cross_join(left: dict[str, Any], right: dict[str, Any]) -> Row:
    """Return a row with the fields of an element and of its response; the element's fields win.

    Args:
        left: the fields of the element.
        right: the fields of the response.

    >>> cross_join({"id": 1, "key": "city"}, {"id": 1, "value": "durham"})
    Row(id=1, key='city', value='durham')
    """
    for name in left.keys() & right.keys():
        if left[name] != right[name]:
            _LOG.warning(
                "the field %s is %r in the element and %r in the response; the element's value is used. Pass "
                "a join_fn to Enrichment to choose another one",
                printable(name),
                left[name],
                right[name],
            )
    return Row(**{**left, **{name: right[name] for name in right if name not in left}})


class Enrichment(PTransform[PCollection[InT], PCollection[OutT]], Generic[InT, OutT]):
    """Joins each element with the response of a lookup.

    An element keeps its timestamp and windows. A lookup that fails stops the pipeline, unless there is
    :meth:`with_exception_handling`.

    Args:
        source_handler: looks up elements.
        join_fn: takes the fields of the element and the fields of the response, as dicts, and returns the
            output; by default the handler's ``join_fn`` or :func:`cross_join`.
        timeout: seconds after which a lookup fails; None for no limit.
        repeater: repeats lookups that fail because they take too long or exceed a quota.
        throttler: not supported: raise UserCodeQuotaException in the handler.
        use_custom_types: whether ``join_fn`` takes the element and the response themselves.

    Raises:
        UnsupportedError: there is a throttler.
        PipelineError: the collection can contain retractions, for which a second lookup could have another
            response.

    >>> class Capitals(EnrichmentSourceHandler):
    ...     def __call__(self, request, *args, **kwargs):
    ...         return request, hr.Row(capital={"FR": "Paris"}.get(request.country))
    >>> with Pipeline() as p:
    ...     trips = p | Create([hr.Row(trip=1, country="FR"), hr.Row(trip=2, country="FR")])
    ...     _ = trips | Enrichment(Capitals()).with_cache(time_to_live=60) | Map(print)
    Row(trip=1, country='FR', capital='Paris')
    Row(trip=2, country='FR', capital='Paris')
    """

    def __init__(
        self,
        source_handler: Caller,
        join_fn: JoinFn | None = None,
        timeout: float | None = DEFAULT_TIMEOUT_SECS,
        repeater: Repeater | None = None,
        throttler: Any = None,
        use_custom_types: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(source_handler, Caller):
            raise TypeError(
                f"Enrichment needs an EnrichmentSourceHandler, not {shorten(source_handler)}"
            )
        if throttler is not None:
            raise UnsupportedError(
                f"Enrichment does not support the throttler {shorten(throttler)}",
                remedy="raise UserCodeQuotaException in the handler: then the repeater waits",
            )
        if timeout is not None and timeout <= 0:
            raise PipelineError(f"the timeout is {timeout}", remedy="use more than 0 seconds")
        self._lookup = Lookup(source_handler, timeout, repeater or ExponentialBackOffRepeater())
        own_join: JoinFn = getattr(source_handler, "join_fn", cross_join)
        self._join = JoinResponse(
            join_fn or own_join,
            getattr(source_handler, "use_custom_types", use_custom_types),
        )
        self._letters: Letters | None = None

    def default_label(self) -> str:
        return f"Enrichment({type(self._lookup.handler).__name__})"

    def with_cache(
        self, time_to_live: DurationTypes = 24 * 60 * 60, max_size: int = 10_000
    ) -> Enrichment[InT, OutT]:
        """Return the transform with a cache in the memory of each worker.

        A response is looked up again when its time is over, so an element can be joined with a response that
        is at most this old. The handler's ``get_cache_key`` says which elements have the same response.

        Args:
            time_to_live: seconds for which a response is used.
            max_size: number of responses that each worker keeps; those that were not used for the longest
                time are removed first.

        Raises:
            PipelineError: an argument is not greater than 0.
        """
        cached = copy(self)
        cached._lookup = attrs.evolve(self._lookup, cache=CacheSpec(time_to_live, max_size))
        return cached

    def with_redis_cache(self, host: str, port: int, *args: Any, **kwargs: Any) -> Any:
        """Refuse a cache in Redis.

        Raises:
            UnsupportedError: always.
        """
        raise UnsupportedError(
            f"there is no cache in Redis ({host}:{port})",
            remedy="use with_cache(time_to_live, max_size), which each worker has for itself; or let the "
            "handler ask Redis first",
        )

    def with_exception_handling(
        self, main_tag: str = "good", dead_letter_tag: str = "bad", **how: Any
    ) -> PTransform[PCollection[InT], Any]:
        """Return the transform with a second output, for the elements whose lookup or join fails.

        If a lookup of a batch fails, all elements of the batch do.

        Args:
            main_tag: name of the output for the other elements.
            dead_letter_tag: name of the output for these elements.
            how: ``exc_class``, ``threshold``, ``threshold_windowing``, ``on_failure_callback`` and
                ``error_handler``, as in ``hr.Map(...).with_exception_handling``.

        >>> class Failing(EnrichmentSourceHandler):
        ...     def __call__(self, request, *args, **kwargs):
        ...         raise KeyError(request.country)
        >>> with Pipeline() as p:
        ...     trips = p | Create([hr.Row(country="XX")])
        ...     good, bad = trips | Enrichment(Failing()).with_exception_handling()
        ...     _ = bad | MapTuple(lambda trip, error: print(trip, error[1]))
        Row(country='XX') KeyError('XX')
        """
        handling = copy(self)
        handling._letters = Letters(main_tag, dead_letter_tag, **how)
        return handling

    def with_error_handler(
        self, error_handler: ErrorHandler | None, **how: Any
    ) -> PTransform[PCollection[InT], Any]:
        """Return the transform with an error handler, which gets its dead letters."""
        if error_handler is None:
            return self
        return self.with_exception_handling(error_handler=error_handler, **how)

    def expand(self, pcoll: PCollection[InT]) -> Any:
        require_collection(pcoll)
        if pcoll.collection.changing:
            raise PipelineError(
                "the collection can contain retractions, and the lookup for a retraction could have another "
                "response than the one for the value",
                remedy="apply Enrichment before the grouping, or apply hr.ToChangelog() first",
            )
        batches = dict(self._lookup.handler.batch_elements_kwargs())
        lookup: DoFn = LookUpBatch(self._lookup) if batches else LookUpEach(self._lookup)
        requests: PCollection[object] = pcoll
        if batches:
            requests = pcoll | "Time" >> ParDo(WithTime()) | "Batch" >> _batching(batches)
        outcomes = requests | "Lookup" >> ParDo(lookup)
        letters = self._letters
        if letters is None:
            return outcomes | "Join" >> ParDo(self._join)
        join = ParDo(attrs.evolve(self._join, letters=letters.of_worker()))
        outputs = join.with_outputs(letters.dead_letter_tag, main=letters.main_tag)
        return letters.applied(pcoll, outcomes | "Join" >> outputs)


def _batching(arguments: dict[str, Any]) -> BatchElements:
    size_of = arguments.pop("element_size_fn", None)
    if size_of is not None:
        arguments["element_size_fn"] = _SizeOfFirst(size_of)
    return BatchElements(**arguments)


@attrs.frozen
class _SizeOfFirst:
    """Returns the size of the first item of a pair."""

    size_of: Callable[[Any], int]

    def __call__(self, pair: Any) -> int:
        return self.size_of(pair[0])
