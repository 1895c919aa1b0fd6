"""AsOfJoin: each event with the version that was valid at its time, corrected when a version is late.

Both collections are put into the global window and processed by a stateful DoFn
(:mod:`headrace.sdk.joins.as_of_dofn`), which emits changes; the last step makes values and retractions of
them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from headrace.errors import PipelineError, shorten
from headrace.sdk.groups.checks import check_pairs
from headrace.sdk.groups.window_into import WindowInto
from headrace.sdk.joins.as_of_dofn import JoinAsOf, Limits
from headrace.sdk.pardo.changes import ApplyChanges
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.event_order import check_order_of_retractions
from headrace.sdk.pardo.flatten import Flatten
from headrace.sdk.pardo.pardo_node import each
from headrace.sdk.pardo.transforms import ParDo
from headrace.sdk.pipelines.pvalue import PCollection, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.typehints.element_types import pair_type, pair_types
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import DurationTypes, duration_micros
from headrace.windowing.windows import GlobalWindows

How: TypeAlias = Literal["inner", "left"]

_ANY_TIME: Final = 1 << 62
"""A tolerance without limit, in microseconds."""


class AsOfJoin(PTransform[Any, PCollection[Any]]):
    """Joins each event with the version of its key that was valid at its time (not in Beam).

    Applied to a tuple (events, versions) of collections of (key, value) pairs. A version is valid from its
    timestamp to the timestamp of the next version of the key. Emits (key, (event, version)), with the
    timestamp and the windows of the event.

    An event is joined when the watermark of both collections has passed its timestamp. If a version then
    arrives late, or is retracted, the results that it changes are corrected: their retractions are emitted,
    and the new results. So streaming and batch agree. Elements of both collections are
    dropped, and counted as ``late_dropped``, if they are later than the allowed lateness.

    Args:
        how: ``"inner"`` drops events without a version, ``"left"`` joins them with None.
        tolerance: how long a version is valid at most, in seconds; None for no limit.
        allowed_lateness: how far behind the watermark events and versions can be, in seconds; by default
            the allowed lateness of the events' windowing. State of each key is kept for this time.
        revision: a function of a version; of several versions with the same timestamp, the one with
            the greatest result is valid. By default the one with the greatest encoding.

    Raises:
        PipelineError: an argument is not valid.

    >>> with Pipeline() as p:
    ...     payments = p | "Payments" >> Create([TimestampedValue(("USD", 100), 20)])
    ...     rates = p | "Rates" >> Create(
    ...         [TimestampedValue(("USD", rate), t) for t, rate in [(0, 0.9), (10, 0.8), (30, 0.7)]]
    ...     )
    ...     _ = (payments, rates) | AsOfJoin() | Map(print)
    ('USD', (100, 0.8))
    """

    takes_several = True

    def __init__(
        self,
        how: How = "inner",
        tolerance: DurationTypes | None = None,
        allowed_lateness: DurationTypes | None = None,
        revision: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        if how not in ("inner", "left"):
            raise PipelineError(
                f"AsOfJoin has how={how!r}",
                remedy='use "inner" to drop events without a version, "left" to join them with None',
            )
        self._keeps_alone = how == "left"
        self._tolerance = _ANY_TIME if tolerance is None else _micros("tolerance", tolerance)
        self._lateness = (
            None if allowed_lateness is None else _micros("allowed_lateness", allowed_lateness)
        )
        self._revision = revision

    def expand(self, pcoll: tuple[PCollection[object], PCollection[object]]) -> PCollection[Any]:
        events, versions = _both(pcoll)
        lateness = self._lateness
        if lateness is None:
            lateness = events.windowing.allowed_lateness
        for side in (events, versions):
            check_order_of_retractions(side, lateness, "AsOfJoin")
        together = (
            events | "Events" >> each(_event) | "Global events" >> _everywhere(),
            versions | "Versions" >> each(_version) | "Global versions" >> _everywhere(),
        ) | Flatten()
        limits = Limits(
            lateness,
            self._tolerance,
            self._keeps_alone,
            self._revision,
            events.collection.changing,
        )
        changes = together | "Join" >> ParDo(JoinAsOf(limits))
        changing = lateness > 0 or events.collection.changing or versions.collection.changing
        return changes | "Results" >> ApplyChanges(
            events.windowing,
            _result_type(events, versions, self._keeps_alone),
            changing,
            lateness,
            events.collection.accumulated,
        )


def _event(pair: Any, window: object = DoFn.WindowParam) -> tuple[Any, tuple[bool, Any]]:
    key, event = pair
    return key, (True, (event, (window,)))


def _version(pair: Any) -> tuple[Any, tuple[bool, Any]]:
    key, version = pair
    return key, (False, version)


def _everywhere() -> WindowInto:
    """Return the step that puts elements into the global window, where versions meet all events."""
    return WindowInto(WindowingStrategy(GlobalWindows()))


def _both(pcoll: object) -> tuple[PCollection[object], PCollection[object]]:
    if not isinstance(pcoll, (tuple, list)) or len(pcoll) != 2:
        raise PipelineError(
            f"AsOfJoin is applied to {shorten(pcoll)}",
            remedy="apply it to a tuple of two collections: (events, versions) | hr.AsOfJoin()",
        )
    for side in pcoll:
        require_collection(side)
        check_pairs(side)
    events, versions = pcoll
    return events, versions


def _result_type(
    events: PCollection[object], versions: PCollection[object], keeps_alone: bool
) -> object:
    key, event = pair_types(events.element_type)
    version = pair_types(versions.element_type)[1]
    return pair_type(key, pair_type(event, Any if keeps_alone else version))


def _micros(name: str, duration: DurationTypes) -> int:
    micros = duration_micros(duration)
    if micros < 0:
        raise PipelineError(f"the {name} of AsOfJoin is {duration}", remedy="use 0 or more seconds")
    return micros
