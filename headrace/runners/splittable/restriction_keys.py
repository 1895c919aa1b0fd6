"""The keyed operator of splittable DoFns, whose keys are restrictions.

A restriction that arrives is due at once. When it is due, ``process`` works on it until it ends, until it
defers the rest, or up to a number of claims. The rest is state: the element, the restriction, and the state
of the watermark estimator. It is due again in the next round, or after the delay that ``process`` asked for.
Until it ends it holds the output watermark at the watermark of its estimator.

Restrictions with equal keys, for example of equal elements, are in one state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import repeat
from typing import Any, Final, TypeAlias

import attrs

from headrace.errors import ElementError, note_element, shorten
from headrace.grouping.bundle import Bundle
from headrace.grouping.keyed_operator import Moments
from headrace.runners.error_context import note_method
from headrace.runners.splittable.restriction_calls import (
    RestrictionCall,
    column_of_call,
    with_returned,
)
from headrace.runners.splittable.side_arguments import KeptValues, SideArguments
from headrace.runners.stateful.dofn_keys import DoFnKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.sdk.coders.own_values import own_if_possible
from headrace.sdk.pardo.binding import BoundCall, bind
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.side_inputs import with_values
from headrace.sdk.pardo.splittable.safe_trackers import (
    ThreadsafeRestrictionTracker,
    ThreadsafeWatermarkEstimator,
)
from headrace.sdk.pardo.splittable_dofn import splittable
from headrace.sdk.pipelines.elementwise import ProcessEach
from headrace.stored_formats import RESTRICTION_STATE, check_format
from headrace.triggers.pane import PaneInfo
from headrace.triggers.trigger import Clock
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, Duration, Timestamp
from headrace.windowing.window_fn import Windows

CLAIMS: Final = 10_000
"""Maximum number of claims, or of outputs, of a restriction in a round of a stream."""


@attrs.frozen
class LiveRestriction:
    """A restriction with work left.

    Attributes:
        element: its element.
        restriction: the restriction.
        estimator: the state of the watermark estimator.
        timestamp: the timestamp of the element, in microseconds.
        windows: the windows of the element.
        pane: the pane of the element.
        hold: the event time that the output watermark must not pass.
        resumes_at: the processing time at which it goes on.
        truncated: whether it is what a drained run still does.
        sides: the values of each side input that the element has seen.
    """

    element: Any
    restriction: Any
    estimator: Any
    timestamp: int
    windows: Windows
    pane: PaneInfo
    hold: int
    resumes_at: int = MIN_MICROS
    truncated: bool = False
    sides: KeptValues = ()


LiveRestrictions: TypeAlias = list[LiveRestriction]
"""The state of a key."""


class RestrictionKeys(DoFnKeys):
    """The keyed operator of one splittable DoFn.

    Args:
        dofn: the DoFn.
        args: additional arguments of ``process``, with a placeholder for each side input.
        kwargs: additional arguments of ``process``, by name.
        checked: label of the step, for checks of what ``process`` changes; empty for no check.
        claims: maximum number of claims, or of outputs, of a restriction in a round; None for no limit.
        sides: makes the arguments for its side inputs; None if it has none.

    Attributes:
        draining: whether the run is drained: then restrictions are truncated.
    """

    def __init__(
        self,
        dofn: DoFn,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
        checked: str = "",
        claims: int | None = CLAIMS,
        sides: SideArguments | None = None,
    ) -> None:
        super().__init__(dofn, checked)
        declared = splittable(dofn)
        assert declared is not None
        self._declared = declared
        self._claims = claims
        self._arguments = ProcessEach(dofn, args, dict(kwargs or {}))
        self._sides = sides
        self._function = self.emitting(with_returned(dofn.process))
        self._process = self._bound(self._arguments)
        self.draining = False

    def _bound(self, given: ProcessEach) -> BoundCall:
        return bind(self._function, given.args, given.kwargs, column_of_call)

    def new_state(self) -> LiveRestrictions:
        """Return the state of a new key."""
        return []

    def process(
        self, state: LiveRestrictions, elements: Bundle, clock: Clock, out: DoFnOutputs
    ) -> None:
        """Keep restrictions that arrived; they are due at once."""
        state += self._arrived(elements)

    def _arrived(self, elements: Bundle) -> Iterator[LiveRestriction]:
        for (_, sent), timestamp, windows, pane, _ in elements.rows():
            element, restriction, state, *sides = sent
            for own in zip(windows) if self._process.by_window else (windows,):
                live = LiveRestriction(element, restriction, state, timestamp, own, pane, timestamp)
                yield attrs.evolve(live, sides=tuple(sides)) if sides else live

    def run_to_completion(
        self, elements: Bundle, start: Clock, end: Clock, out: DoFnOutputs
    ) -> None:
        """Process restrictions to their ends; what is deferred goes on at once.

        Raises:
            ElementError: a restriction with no end defers its work, so that a batch would not end.
        """
        for live in self._arrived(elements):
            rest: LiveRestriction | None = live
            while rest is not None:
                rest = self._call(rest, end.now, out, None)
                if rest is not None and not self._has_end(rest):
                    raise _endless(self.dofn, live.element)

    def wake(self, state: LiveRestrictions, clock: Clock, out: DoFnOutputs) -> None:
        """Process the restrictions that are due, once each; if the run is drained, all that are new to it."""
        before = state.copy()
        state.clear()
        for live in before:
            state += self._woken(live, clock, out)
        if self.check_state is not None:
            self.check_state(self.freeze(state))

    def _woken(
        self, live: LiveRestriction, clock: Clock, out: DoFnOutputs
    ) -> Iterable[LiveRestriction]:
        if self.draining and not live.truncated:
            return self._goes_on(self._truncated(live), clock.now, out)
        return (live,) if live.resumes_at > clock.now else self._goes_on(live, clock.now, out)

    def _truncated(self, live: LiveRestriction) -> LiveRestriction | None:
        """Return the work of a restriction that a drained run still does; None for none."""
        try:
            with note_method("truncate"):
                left = self._declared.provider.truncate(live.element, live.restriction)
        except Exception as error:
            note_element(error, live.element)
            raise
        return None if left is None else attrs.evolve(live, restriction=left, truncated=True)

    def _goes_on(
        self, live: LiveRestriction | None, now: int, out: DoFnOutputs
    ) -> Iterable[LiveRestriction]:
        """Process a restriction, and return what is left of it.

        If the run is drained, work without an end stops where it is deferred, as in Beam.
        """
        rest = None if live is None else self._call(live, now, out, self._claims)
        if rest is None or (self.draining and not self._has_end(rest)):
            return ()
        return (rest,)

    def _has_end(self, live: LiveRestriction) -> bool:
        return self._declared.provider.create_tracker(live.restriction).is_bounded()

    def _call(
        self, live: LiveRestriction, now: int, out: DoFnOutputs, limit: int | None
    ) -> LiveRestriction | None:
        """Call ``process``, collect its outputs, and return what is left of the restriction."""
        self.windows = live.windows
        self.start_bundle()
        try:
            call = self._call_of(live, limit)
            with self.unchanged(call.values):
                (result,) = self._process_of(live).results(iter(call.values), call)
                outputs = call.outputs(result, out.step, limit)
            out.add_outputs(outputs, live.timestamp, live.windows, live.pane)
            with note_method("check_done"):
                call.tracker.check_done()
            return _rest(live, call, now)
        except Exception as error:
            note_element(error, live.element)
            raise

    def _process_of(self, live: LiveRestriction) -> BoundCall:
        """Return the call of ``process`` with the side inputs of a restriction."""
        if self._sides is None:
            return self._process
        return self._bound(with_values(self._arguments, self._sides.of(live.sides)))

    def _call_of(self, live: LiveRestriction, limit: int | None) -> RestrictionCall:
        tracker = self._declared.provider.create_tracker(live.restriction)
        estimator = self._declared.estimators.create_watermark_estimator(live.estimator)
        return RestrictionCall(
            [live.element],
            repeat(live.timestamp),
            repeat(live.windows),
            repeat(live.pane),
            tracker=ThreadsafeRestrictionTracker(tracker, limit),
            estimator=ThreadsafeWatermarkEstimator(estimator),
        )

    def moments(self, state: LiveRestrictions) -> Moments | None:
        """Return when the next restriction goes on, and the earliest hold; None if all have ended."""
        if not state:
            return None
        return Moments(
            MAX_MICROS,  # when the run is drained, all are due
            min(live.resumes_at for live in state),
            min(live.hold for live in state),
        )

    def freeze(self, state: LiveRestrictions) -> tuple[Any, ...]:
        """Return the restrictions of a key as plain data."""
        return RESTRICTION_STATE, list(map(_fields, state))

    def thaw(self, frozen: tuple[Any, ...]) -> LiveRestrictions:
        """Return the restrictions that :meth:`freeze` stored."""
        check_format("the stored restriction", frozen[0], "restriction state")
        return [LiveRestriction(*fields) for fields in frozen[1]]


def _fields(live: LiveRestriction) -> tuple[Any, ...]:
    """Return a restriction as plain data; without side inputs as before there were any."""
    *others, sides = attrs.astuple(live, recurse=False)
    return (*others, sides) if sides else tuple(others)


def _endless(dofn: DoFn, element: object) -> ElementError:
    return ElementError(
        f"{dofn.default_label()} defers work that may have no end, so a batch would not end",
        remedy="decorate its process with @hr.DoFn.unbounded_per_element(), for a stream; or let is_bounded "
        f"of the tracker return True. The element is {shorten(element)}",
    )


def _rest(live: LiveRestriction, call: RestrictionCall, now: int) -> LiveRestriction | None:
    """Return what a call has left of a restriction; None if it has ended."""
    deferred = call.tracker.deferred()
    if deferred is None:
        return None
    watermark = call.estimator.current_watermark()
    return attrs.evolve(
        live,
        restriction=own_if_possible(deferred.restriction),
        estimator=own_if_possible(call.estimator.get_estimator_state()),
        hold=live.hold if watermark is None else watermark.micros,
        resumes_at=_moment(deferred.resume, now),
    )


def _moment(resume: Timestamp | Duration | None, now: int) -> int:
    """Return the processing time at which deferred work goes on."""
    if resume is None:
        return now
    return resume.micros if isinstance(resume, Timestamp) else now + resume.micros
