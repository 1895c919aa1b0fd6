"""Results of poll functions: the outputs that one poll of an input finds (Beam's names)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Generic

import attrs

from headrace.errors import PipelineError, shorten
from headrace.sdk.elements.type_variables import OutT
from headrace.windowing.time.timestamps import MAX_TIMESTAMP, Timestamp, TimestampTypes
from headrace.windowing.timestamped_value import TimestampedValue


@attrs.frozen
class PollResult(Generic[OutT]):
    """The result of one call of a poll function; see :class:`~headrace.Watch`.

    Args:
        outputs: the outputs with their timestamps: all that the function sees, not only new ones.
        watermark: no later poll finds a new output that is older than this. None if the function cannot
            tell: then it is the earliest timestamp of the new outputs, which is right for outputs that
            appear in the order of their timestamps.

    >>> result = PollResult.incomplete(["a.csv", "b.csv"], timestamp=5)
    >>> result.outputs[1], result.is_complete
    (TimestampedValue('b.csv', Timestamp(5)), False)
    """

    outputs: tuple[TimestampedValue[OutT], ...]
    watermark: Timestamp | None = None

    @property
    def is_complete(self) -> bool:
        """Whether there will be no more outputs."""
        return self.watermark == MAX_TIMESTAMP

    @staticmethod
    def incomplete(
        outputs: Iterable[OutT | TimestampedValue[OutT]], timestamp: TimestampTypes | None = None
    ) -> PollResult[OutT]:
        """Return the result of a poll after which there may be more outputs.

        Args:
            outputs: values, or values with their timestamps.
            timestamp: the timestamp of values without one; by default the time of the wall clock.
        """
        return PollResult(_stamped(outputs, timestamp))

    @staticmethod
    def complete(
        outputs: Iterable[OutT | TimestampedValue[OutT]], timestamp: TimestampTypes | None = None
    ) -> PollResult[OutT]:
        """Return the result of the last poll of an input.

        Args:
            outputs: values, or values with their timestamps.
            timestamp: the timestamp of values without one; by default the time of the wall clock.
        """
        return PollResult(_stamped(outputs, timestamp), MAX_TIMESTAMP)

    def with_watermark(self, watermark: TimestampTypes) -> PollResult[OutT]:
        """Return the result with a watermark.

        >>> PollResult.incomplete([], 9).with_watermark(7).watermark
        Timestamp(7)
        """
        return attrs.evolve(self, watermark=Timestamp.of(watermark))


class PollFn:
    """A poll function with state or a coder; any callable that returns a PollResult can take its place.

    >>> class Listing(PollFn):
    ...     def __call__(self, directory):
    ...         return PollResult.complete([f"{directory}/a.csv"], timestamp=0)
    >>> Listing()("new").outputs
    (TimestampedValue('new/a.csv', Timestamp(0)),)
    """

    def __call__(self, element: Any) -> PollResult[Any]:
        """Poll an input."""
        raise NotImplementedError(f"{type(self).__name__} does not define __call__")

    def default_output_coder(self) -> Any:
        """Return the coder of the outputs, whose type is the type of the collection; None if unknown."""
        return None


def require_result(found: object, poll_fn: object) -> PollResult[Any]:
    """Return what a poll function returned.

    Raises:
        PipelineError: it is not a PollResult.
    """
    if isinstance(found, PollResult):
        return found
    raise PipelineError(
        f"the poll function {shorten(poll_fn)} returned {shorten(found)}",
        remedy="return PollResult.incomplete(outputs), or PollResult.complete(outputs) if there will be no "
        "more",
    )


def _stamped(
    outputs: Iterable[object], timestamp: TimestampTypes | None
) -> tuple[TimestampedValue[Any], ...]:
    default = Timestamp.now() if timestamp is None else Timestamp.of(timestamp)
    return tuple(
        out if isinstance(out, TimestampedValue) else TimestampedValue(out, default)
        for out in outputs
    )
