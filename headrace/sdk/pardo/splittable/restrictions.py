"""Restrictions: the parts of an element's work, with the trackers that give them out.

A splittable DoFn does not process an element at once. A :class:`RestrictionProvider` describes all the work
of an element as a restriction, for example a range of offsets. ``process`` claims one position after the
other from a :class:`RestrictionTracker`, and does the work of each position that it gets. So a runner can
divide a restriction, stop between two positions, and keep the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.registry.coder_registry import registry
from headrace.windowing.time.timestamps import DurationTypes


class RestrictionProgress:
    """How much of the work of a restriction is done.

    Give ``fraction``, or ``completed`` and ``remaining``.

    Args:
        fraction: the completed part of the work, from 0 to 1.
        remaining: the work that is left, in any unit.
        completed: the completed work, in the same unit.

    >>> RestrictionProgress(completed=30, remaining=70).fraction_completed
    0.3
    """

    def __init__(
        self,
        *,
        fraction: float | None = None,
        remaining: float | None = None,
        completed: float | None = None,
    ) -> None:
        if fraction is None and (remaining is None or completed is None):
            raise ValueError("RestrictionProgress needs fraction, or both completed and remaining")
        self._fraction = fraction
        self._remaining = remaining
        self._completed = completed

    def __repr__(self) -> str:
        return (
            f"RestrictionProgress(fraction={self._fraction}, completed={self._completed}, "
            f"remaining={self._remaining})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RestrictionProgress) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((self._fraction, self._remaining, self._completed))

    @property
    def completed_work(self) -> float:
        """The completed work."""
        return self.fraction_completed if self._completed is None else self._completed

    @property
    def remaining_work(self) -> float:
        """The work that is left."""
        return self.fraction_remaining if self._remaining is None else self._remaining

    @property
    def total_work(self) -> float:
        """All work."""
        return self.completed_work + self.remaining_work

    @property
    def fraction_completed(self) -> float:
        """The completed part of the work, from 0 to 1."""
        if self._fraction is not None:
            return self._fraction
        assert self._completed is not None
        assert self._remaining is not None
        total = self._completed + self._remaining
        return self._completed / total if total else 1.0

    @property
    def fraction_remaining(self) -> float:
        """The part of the work that is left, from 0 to 1."""
        return 1 - self.fraction_completed

    def with_completed(self, completed: float) -> RestrictionProgress:
        """Return the progress with another amount of completed work."""
        return RestrictionProgress(
            fraction=self._fraction, remaining=self._remaining, completed=completed
        )


class ProcessContinuation:
    """Says that ``process`` has stopped before the end of its restriction, and is to be called again.

    ``process`` returns it, or yields it as its last output. What is not claimed then goes on later.

    Args:
        resume_delay: seconds, a timedelta or a Duration to wait at least before the next call.

    >>> ProcessContinuation.resume(2.5)
    ProcessContinuation.resume(2.5)
    """

    def __init__(self, resume_delay: DurationTypes = 0) -> None:
        self.resume_delay = resume_delay

    def __repr__(self) -> str:
        return f"ProcessContinuation.resume({self.resume_delay})"

    @staticmethod
    def resume(resume_delay: DurationTypes = 0) -> ProcessContinuation:
        """Return a continuation.

        Args:
            resume_delay: seconds, a timedelta or a Duration to wait at least before the next call.
        """
        return ProcessContinuation(resume_delay)


class RestrictionTracker:
    """Gives out the positions of a restriction; subclass it for restrictions of a new kind.

    A runner calls its methods one at a time.

    >>> from headrace.io.restriction_trackers import OffsetRange, OffsetRestrictionTracker
    >>> tracker = OffsetRestrictionTracker(OffsetRange(0, 10))
    >>> tracker.try_claim(0), tracker.try_split(0), tracker.try_claim(1)
    (True, (OffsetRange(start=0, stop=1), OffsetRange(start=1, stop=10)), False)
    """

    def current_restriction(self) -> Any:
        """Return the restriction: what is done, and what this tracker still gives out."""
        raise NotImplementedError(f"{type(self).__name__}.current_restriction")

    def current_progress(self) -> RestrictionProgress:
        """Return how much of the restriction is done."""
        raise NotImplementedError(f"{type(self).__name__}.current_progress")

    def check_done(self) -> Any:
        """Check that all work was claimed, after ``process`` has ended.

        Raises:
            ValueError: work is left, which would be lost.
        """
        raise NotImplementedError(f"{type(self).__name__}.check_done")

    def try_split(self, fraction_of_remainder: float) -> tuple[Any, Any] | None:
        """Divide the work that is not claimed.

        The tracker keeps the first part, which becomes its restriction.

        Args:
            fraction_of_remainder: the part of the unclaimed work that the tracker keeps; 0 to keep none.

        Returns:
            The restriction of this tracker and the rest; None if it cannot be divided here.
        """
        raise NotImplementedError(f"{type(self).__name__}.try_split")

    def try_claim(self, position: Any) -> bool:
        """Claim a position, whose work the caller must then do.

        Returns:
            False if the position is not in the restriction (any more): then ``process`` must end.
        """
        raise NotImplementedError(f"{type(self).__name__}.try_claim")

    def is_bounded(self) -> bool:
        """Return whether the work of the restriction has an end; a run that is drained finishes such work."""
        raise NotImplementedError(f"{type(self).__name__}.is_bounded")


class RestrictionProvider:
    """Makes the restrictions of a splittable DoFn; subclass it.

    Its methods are called on workers, before ``setup`` of a DoFn, so a provider must not depend on that.

    >>> from headrace.io.restriction_trackers import OffsetRange
    >>> from headrace.transforms.core import RestrictionProvider
    >>> class Words(RestrictionProvider):
    ...     def initial_restriction(self, line):
    ...         return OffsetRange(0, len(line.split()))
    ...
    ...     def create_tracker(self, restriction):
    ...         return restriction.new_tracker()
    ...
    ...     def restriction_size(self, line, restriction):
    ...         return restriction.size()
    >>> Words().initial_restriction("to be or not")
    OffsetRange(start=0, stop=4)
    """

    def create_tracker(self, restriction: Any) -> RestrictionTracker:
        """Return a tracker for a restriction."""
        raise NotImplementedError(f"{type(self).__name__}.create_tracker")

    def initial_restriction(self, element: Any) -> Any:
        """Return the restriction with all the work of an element."""
        raise NotImplementedError(f"{type(self).__name__}.initial_restriction")

    def split(self, element: Any, restriction: Any) -> Iterable[Any]:
        """Divide the initial restriction of an element, so that several workers can process its parts.

        By default there is one part.
        """
        yield restriction

    def restriction_coder(self) -> Coder:
        """Return the coder of restrictions (Beam's name).

        Headrace writes restrictions like all values: by the coder that is registered for their class.
        """
        return registry.get_coder(object)

    def restriction_size(self, element: Any, restriction: Any) -> float:
        """Return the amount of work of a restriction, in any unit but not negative (Beam's name)."""
        raise NotImplementedError(f"{type(self).__name__}.restriction_size")

    def split_and_size(self, element: Any, restriction: Any) -> Iterable[tuple[Any, float]]:
        """Divide the initial restriction of an element, with the amount of work of each part.

        By default these are the parts of :meth:`split`.
        """
        for part in self.split(element, restriction):
            yield part, self.restriction_size(element, part)

    def truncate(self, element: Any, restriction: Any) -> Any:
        """Return the work of a restriction that a run still does when it is drained.

        By default a bounded restriction is processed to its end, and an unbounded one ends at once.

        Returns:
            A restriction that ends; None if there is nothing left to do.
        """
        return restriction if self.create_tracker(restriction).is_bounded() else None
