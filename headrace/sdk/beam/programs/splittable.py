"""Splittable DoFns of Beam: run to the end of each element in batch mode, by restrictions in streaming mode.

In batch mode, what a call leaves for later is a residual. The bundle is finished before a residual is
processed, since a DoFn may wait for what it registered for the end of its bundle. In streaming mode, a
splittable DoFn of ours calls Beam's ``process`` with trackers and watermark estimators of Beam.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from apache_beam.internal.util import ArgumentPlaceholder
from apache_beam.runners.sdf_utils import RestrictionTrackerView
from apache_beam.transforms import core
from apache_beam.utils.timestamp import Duration as BeamDuration, Timestamp as BeamTimestamp

from headrace.errors import UnsupportedError
from headrace.sdk.beam.programs.direct import DirectCalls, own_output, signature_of
from headrace.sdk.beam.programs.step import BeamStep
from headrace.sdk.beam.programs.windows import pane_of_ours
from headrace.sdk.pardo.dofn import DoFn
from headrace.sdk.pardo.splittable.restrictions import (
    RestrictionProgress,
    RestrictionProvider,
    RestrictionTracker,
)
from headrace.sdk.pardo.splittable.watermark_estimators import (
    WatermarkEstimator,
    WatermarkEstimatorProvider,
)
from headrace.windowing.time.timestamps import Duration, Timestamp


class SplittableCalls:
    """Calls of a splittable DoFn.

    Args:
        runner: Beam's runner of the DoFn.
        signature: Beam's signature of it.
        drains: whether restrictions are cut to what must be done.
    """

    def __init__(self, runner: Any, signature: Any, drains: bool) -> None:
        self._runner = runner
        self._provider = signature.get_restriction_provider()
        self._estimators = signature.get_watermark_estimator_provider()
        self._drains = drains

    def process(self, row: Any) -> None:
        """Process all restrictions of an element."""
        element = row.value
        whole = self._provider.initial_restriction(element)
        waiting = [self._sized(row, part, size) for part, size in self._parts(element, whole)]
        rounds = 0
        while waiting:
            if rounds:
                self._next_bundle()
            rounds += 1
            waiting = [left for one in waiting for left in self._left(one)]

    def _parts(self, element: Any, whole: Any) -> list[tuple[Any, int]]:
        """Return the restrictions of an element, with their sizes."""
        parts = list(self._provider.split_and_size(element, whole))
        if not self._drains:
            return parts
        cut = [(self._provider.truncate(element, part), size) for part, size in parts]
        return [(part, size) for part, size in cut if part is not None]

    def _sized(self, row: Any, part: Any, size: int) -> Any:
        return row.with_value(((row.value, (part, self._state(row.value, part))), size))

    def _left(self, sized: Any) -> list[Any]:
        """Process a restriction, and return what is left of it."""
        residuals = self._runner.process_with_sized_restriction(sized)
        return [residual.residual_value for residual in residuals]

    def _state(self, element: Any, restriction: Any) -> Any:
        return self._estimators.initial_estimator_state(element, restriction)

    def _next_bundle(self) -> None:
        runner = self._runner
        runner.finish()
        runner.finalize()
        runner.bundle_finalizer_param.reset()
        runner.start()


_TRACKER: Final = DoFn.RestrictionParam()
_ESTIMATOR: Final = DoFn.WatermarkEstimatorParam()

_KINDS: Final[dict[type, str]] = {
    core._RestrictionDoFnParam: "RestrictionParam",
    core._WatermarkEstimatorParam: "WatermarkEstimatorParam",
    core._BundleFinalizerParam: "BundleFinalizerParam",
}
"""The parameters that are objects of a class of their own."""


class BeamTracker(RestrictionTracker):
    """A tracker of Beam as ours.

    Args:
        theirs: Beam's tracker.

    Attributes:
        theirs: that tracker.
    """

    def __init__(self, theirs: Any) -> None:
        self.theirs = theirs

    def current_restriction(self) -> Any:
        return self.theirs.current_restriction()

    def current_progress(self) -> RestrictionProgress:
        progress = self.theirs.current_progress()
        return RestrictionProgress(
            completed=progress.completed_work, remaining=progress.remaining_work
        )

    def check_done(self) -> Any:
        return self.theirs.check_done()

    def try_split(self, fraction_of_remainder: float) -> tuple[Any, Any] | None:
        found: tuple[Any, Any] | None = self.theirs.try_split(fraction_of_remainder)
        return found

    def try_claim(self, position: Any) -> bool:
        return bool(self.theirs.try_claim(position))

    def is_bounded(self) -> bool:
        return bool(self.theirs.is_bounded())


class BeamEstimator(WatermarkEstimator):
    """A watermark estimator of Beam as ours.

    Args:
        theirs: Beam's estimator.
    """

    def __init__(self, theirs: Any) -> None:
        self._theirs = theirs

    def get_estimator_state(self) -> Any:
        return self._theirs.get_estimator_state()

    def current_watermark(self) -> Timestamp | None:
        found = self._theirs.current_watermark()
        return None if found is None else Timestamp(micros=found.micros)

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        self._theirs.observe_timestamp(BeamTimestamp(micros=timestamp.micros))

    def as_theirs(self) -> Any:
        """Return Beam's estimator, which ``process`` gets."""
        return self._theirs


class _View(RestrictionTrackerView):
    """What ``process`` gets as its tracker: a view of ours, which takes times of Beam."""

    def __init__(self, view: Any) -> None:  # of another tracker than that of the base
        self._view = view

    @property
    def _restriction_tracker(self) -> Any:
        """Beam's tracker, by which its DoFn of unbounded sources keeps and closes readers."""
        return self._view._tracker._tracker.theirs

    def current_restriction(self) -> Any:
        return self._view.current_restriction()

    def try_claim(self, position: Any) -> bool:
        return bool(self._view.try_claim(position))

    def defer_remainder(self, deferred_time: Any = None) -> None:
        self._view.defer_remainder(own_time(deferred_time))

    def is_bounded(self) -> bool:
        return bool(self._view.is_bounded())


def own_time(theirs: Any) -> Timestamp | Duration | None:
    """Return a Timestamp, seconds or a Duration of Beam as ours; None stays None.

    >>> own_time(1.5)
    Duration(1.500000)
    """
    if theirs is None:
        return None
    if isinstance(theirs, BeamTimestamp):
        return Timestamp(micros=theirs.micros)
    return Duration(micros=BeamDuration.of(theirs).micros)


_GIVEN: Final = frozenset(
    {
        "ElementParam",
        "RestrictionParam",
        "WatermarkEstimatorParam",
        "TimestampParam",
        "WindowParam",
        "PaneInfoParam",
        "BundleFinalizerParam",
    }
)
"""What a splittable DoFn can ask for in a stream."""


def _asked_name(default: Any) -> str:
    """Return what a parameter with a default value asks for; empty if that is a plain value."""
    kind = default if isinstance(default, type) else type(default)
    if not issubclass(kind, core._DoFnParam):
        return ""
    return _KINDS.get(kind) or str(getattr(default, "param_id", kind.__name__))


class BeamSplittableDoFn(DoFn, RestrictionProvider, WatermarkEstimatorProvider):
    """A splittable DoFn of Beam as one of ours, for a stream.

    Args:
        step: the ParDo.

    Raises:
        UnsupportedError: it asks for what only Beam has.
    """

    _calls: DirectCalls
    _asked: dict[str, str]
    _given: dict[str, Any]

    def __init__(self, step: BeamStep) -> None:
        self._step = step
        self._signature()

    def default_label(self) -> str:
        return str(self._step.fn.default_label())

    def _signature(self) -> None:
        """Take what the DoFn declares; it cannot be pickled."""
        signature = signature_of(self._step.fn)
        self._provider = signature.get_restriction_provider()
        self._estimators = signature.get_watermark_estimator_provider()
        method = signature.process_method
        defaults = method.defaults
        names = method.args[len(method.args) - len(defaults) :]
        asked = zip(names, map(_asked_name, defaults), strict=True)
        self._asked = {name: what for name, what in asked if what}
        self._check(set(self._asked.values()) - _GIVEN)
        # Arguments go to the parameters after the element that ask for nothing.
        others = [name for name in method.args[1:] if name not in self._asked]
        by_place = dict(zip(others, self._step.args, strict=False))
        self._given = by_place | dict(sorted(self._step.kwargs.items()))

    def _check(self, unknown: set[str]) -> None:
        """Refuse parameters that are not passed."""
        if unknown:
            raise UnsupportedError(
                f"{self.default_label()} is a splittable DoFn with DoFn.{min(unknown)}, which is not "
                "supported in streaming mode",
                where=self._step.label,
                remedy="give what it needs with its elements, or run the program without --streaming",
            )

    def __getstate__(self) -> Any:
        return self._step

    def __setstate__(self, step: Any) -> None:
        self._step = step
        self._signature()

    def initial_restriction(self, element: Any) -> Any:
        return self._provider.initial_restriction(element)

    def create_tracker(self, restriction: Any) -> RestrictionTracker:
        return BeamTracker(self._provider.create_tracker(restriction))

    def restriction_size(self, element: Any, restriction: Any) -> float:
        return float(self._provider.restriction_size(element, restriction))

    def split_and_size(self, element: Any, restriction: Any) -> Iterable[tuple[Any, float]]:
        found: Iterable[tuple[Any, float]] = self._provider.split_and_size(element, restriction)
        return found

    def truncate(self, element: Any, restriction: Any) -> Any:
        return self._provider.truncate(element, restriction)

    def initial_estimator_state(self, element: Any, restriction: Any) -> Any:
        return self._estimators.initial_estimator_state(element, restriction)

    def create_watermark_estimator(self, estimator_state: Any) -> WatermarkEstimator:
        return BeamEstimator(self._estimators.create_watermark_estimator(estimator_state))

    def setup(self) -> None:
        self._calls = DirectCalls(self._step)
        with self._calls.calling():
            self._calls.setup()

    def start_bundle(self) -> None:
        with self._calls.calling():
            self._calls.start()

    def process(
        self,
        element: Any,
        *sides: Any,
        tracker: Any = _TRACKER,
        estimator: Any = _ESTIMATOR,
        timestamp: Any = DoFn.TimestampParam,
        pane: Any = DoFn.PaneInfoParam,
        finalizer: Any = DoFn.BundleFinalizerParam,
    ) -> Iterator[Any]:
        return self._called(element, sides, tracker, estimator, timestamp, pane, finalizer)

    def _called(
        self,
        element: Any,
        sides: tuple[Any, ...],
        tracker: Any,
        estimator: Any,
        timestamp: Any,
        pane: Any,
        finalizer: Any,
        window: Any = None,
    ) -> Iterator[Any]:
        """Call Beam's ``process`` with what it asks for, and yield its outputs as ours."""
        step, translation = self._step, self._calls.translation
        given = {
            "ElementParam": element,
            "RestrictionParam": _View(tracker),
            "WatermarkEstimatorParam": estimator.as_theirs(),
            "TimestampParam": BeamTimestamp(micros=timestamp.micros),
            "WindowParam": window and translation.one_of_theirs(window),
            "PaneInfoParam": pane_of_ours(pane),
            "BundleFinalizerParam": finalizer,
        }
        asked = {name: given[what] for name, what in self._asked.items()}
        contents = iter(sides)
        plain = {name: _filled(argument, contents) for name, argument in self._given.items()}
        with self._calls.calling():
            result = step.fn.process(element, **plain, **asked)
            for output in result or ():
                yield own_output(output, translation)

    def finish_bundle(self) -> Any:
        with self._calls.calling():
            return self._calls.finish()

    def teardown(self) -> None:
        with self._calls.calling():
            self._calls.teardown()


class _ByWindow(BeamSplittableDoFn):
    """A splittable DoFn that asks for its window, so it is called once for each window of an element."""

    def process(
        self,
        element: Any,
        *sides: Any,
        tracker: Any = _TRACKER,
        estimator: Any = _ESTIMATOR,
        timestamp: Any = DoFn.TimestampParam,
        pane: Any = DoFn.PaneInfoParam,
        finalizer: Any = DoFn.BundleFinalizerParam,
        window: Any = DoFn.WindowParam,
    ) -> Iterator[Any]:
        return self._called(element, sides, tracker, estimator, timestamp, pane, finalizer, window)


def _filled(argument: Any, contents: Iterator[Any]) -> Any:
    """Return an argument, or the content of the next side input in place of Beam's placeholder."""
    return next(contents).argument if isinstance(argument, ArgumentPlaceholder) else argument


def splittable_dofn(step: BeamStep) -> BeamSplittableDoFn:
    """Return a splittable DoFn of Beam as one of ours, for a stream.

    Raises:
        UnsupportedError: it asks for what only Beam has.
    """
    defaults = signature_of(step.fn).process_method.defaults
    by_window = "WindowParam" in map(_asked_name, defaults)
    return (_ByWindow if by_window else BeamSplittableDoFn)(step)
