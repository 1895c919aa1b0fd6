"""Trackers as a running ``process`` sees them: with locks, deferred work, and a limit of claims.

A runner calls :class:`ThreadsafeRestrictionTracker`, and ``process`` gets a view of it.
"""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

from headrace.errors import shorten
from headrace.sdk.pardo.splittable.restrictions import RestrictionProgress, RestrictionTracker
from headrace.sdk.pardo.splittable.watermark_estimators import WatermarkEstimator
from headrace.windowing.time.timestamps import Duration, Timestamp

_NOTHING: Final[Any] = object()


class Deferred(NamedTuple):
    """Work that is left.

    Attributes:
        restriction: the restriction of the work.
        resume: when it goes on: a Timestamp, or a Duration from the present; None for as soon as possible.
    """

    restriction: Any
    resume: Timestamp | Duration | None


class ThreadsafeRestrictionTracker:
    """A tracker with a lock, which remembers the work that was deferred.

    Args:
        restriction_tracker: the tracker.
        claims: the number of claims after which the rest is deferred; None for no limit.

    Raises:
        ValueError: it is no RestrictionTracker.

    Attributes:
        claimed: the number of positions that were claimed.
    """

    def __init__(self, restriction_tracker: RestrictionTracker, claims: int | None = None) -> None:
        if not isinstance(restriction_tracker, RestrictionTracker):
            raise ValueError(
                f"create_tracker must return a RestrictionTracker, not {shorten(restriction_tracker)}"
            )
        self._tracker = restriction_tracker
        self._limit = claims
        self._lock = threading.RLock()
        self._rest: Any = _NOTHING
        self._resume: Timestamp | Duration | None = None
        self._deferred_at: Timestamp | None = None
        self.claimed = 0

    def current_restriction(self) -> Any:
        """Return the restriction."""
        with self._lock:
            return self._tracker.current_restriction()

    def try_claim(self, position: Any) -> bool:
        """Claim a position; after the last claim of the limit, defer the rest."""
        with self._lock:
            if not self._tracker.try_claim(position):
                return False
            self.claimed += 1
            if self.claimed == self._limit:
                self.checkpoint()
            return True

    def checkpoint(self) -> bool:
        """Defer all work that is not claimed, unless that was done; return whether some is deferred."""
        with self._lock:
            if self._rest is _NOTHING:
                parts = self._tracker.try_split(0)
                if parts and parts[1] is not None:
                    self._rest = parts[1]
            return self._rest is not _NOTHING

    def defer_remainder(self, deferred_time: Timestamp | Duration | None = None) -> None:
        """Defer all work that is not claimed.

        Args:
            deferred_time: when it goes on: a Timestamp, or a Duration from the present; None for as soon as
                possible.

        Raises:
            ValueError: the time is of another type.
        """
        with self._lock:
            if deferred_time is not None and not isinstance(deferred_time, (Duration, Timestamp)):
                raise ValueError(
                    f"defer_remainder needs a Duration or Timestamp, not {shorten(deferred_time)}"
                )
            self._resume, self._deferred_at = deferred_time, Timestamp.now()
            self.checkpoint()

    def deferred(self) -> Deferred | None:
        """Return the work that was deferred; None if there is none."""
        with self._lock:
            return None if self._rest is _NOTHING else Deferred(self._rest, self._resume)

    def deferred_status(self) -> tuple[Any, Duration] | None:
        """Return the work that was deferred, and how long it waits by the wall clock (Beam's name).

        None if there is none. Runners use :meth:`deferred`.
        """
        found = self.deferred()
        if found is None:
            return None
        now = Timestamp.now()
        due = found.resume
        if due is None:
            return found.restriction, Duration(0)
        if isinstance(due, Duration):
            due = (self._deferred_at or now) + due
        return found.restriction, due - now

    def check_done(self) -> Any:
        """Check that all work was claimed or deferred."""
        with self._lock:
            return self._tracker.check_done()

    def current_progress(self) -> RestrictionProgress:
        """Return the progress."""
        with self._lock:
            return self._tracker.current_progress()

    def try_split(self, fraction_of_remainder: float) -> tuple[Any, Any] | None:
        """Divide the work that is not claimed."""
        with self._lock:
            return self._tracker.try_split(fraction_of_remainder)

    def is_bounded(self) -> bool:
        """Return whether the work has an end."""
        return self._tracker.is_bounded()


class RestrictionTrackerView:
    """The tracker that ``process`` gets.

    Args:
        threadsafe_restriction_tracker: the tracker with a lock.

    Raises:
        ValueError: it is another tracker.
    """

    def __init__(self, threadsafe_restriction_tracker: ThreadsafeRestrictionTracker) -> None:
        if not isinstance(threadsafe_restriction_tracker, ThreadsafeRestrictionTracker):
            raise ValueError("RestrictionTrackerView needs a ThreadsafeRestrictionTracker")
        self._tracker = threadsafe_restriction_tracker

    def current_restriction(self) -> Any:
        """Return the restriction of this call of ``process``."""
        return self._tracker.current_restriction()

    def try_claim(self, position: Any) -> bool:
        """Claim a position; if the result is False, ``process`` must end."""
        return self._tracker.try_claim(position)

    def defer_remainder(self, deferred_time: Timestamp | Duration | None = None) -> None:
        """Defer all work that is not claimed; ``process`` must end then.

        Args:
            deferred_time: when it goes on: a Timestamp, or a Duration from the present; None for as soon as
                possible.
        """
        self._tracker.defer_remainder(deferred_time)

    def is_bounded(self) -> bool:
        """Return whether the work has an end."""
        return self._tracker.is_bounded()


class ThreadsafeWatermarkEstimator:
    """A watermark estimator with a lock; other methods of the estimator can be called too.

    Args:
        watermark_estimator: the estimator.

    Raises:
        ValueError: it is no WatermarkEstimator.
    """

    def __init__(self, watermark_estimator: WatermarkEstimator) -> None:
        if not isinstance(watermark_estimator, WatermarkEstimator):
            raise ValueError(
                "create_watermark_estimator must return a WatermarkEstimator, not "
                f"{shorten(watermark_estimator)}"
            )
        self._estimator = watermark_estimator
        self._lock = threading.RLock()

    def get_estimator_state(self) -> Any:
        """Return the state."""
        with self._lock:
            return self._estimator.get_estimator_state()

    def current_watermark(self) -> Timestamp | None:
        """Return the watermark."""
        with self._lock:
            return self._estimator.current_watermark()

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        """Take the timestamp of an output."""
        if not isinstance(timestamp, Timestamp):
            raise ValueError(f"observe_timestamp needs a Timestamp, not {shorten(timestamp)}")
        with self._lock:
            self._estimator.observe_timestamp(timestamp)

    def __getattr__(self, name: str) -> Any:
        """Return another method of the estimator."""
        if name.startswith("_"):
            raise AttributeError(name)
        method = getattr(self._estimator, name)

        def locked(*args: object, **kwargs: object) -> Any:
            with self._lock:
                return method(*args, **kwargs)

        return locked
