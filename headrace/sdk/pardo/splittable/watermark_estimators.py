"""Watermark estimators: no later output of a restriction is before the watermark that its estimator gives.

The output watermark of a splittable DoFn does not pass that of any restriction that has not ended. Without an
estimator a restriction holds it at the timestamp of its element.
"""

from __future__ import annotations

from typing import Any, TypeVar

from headrace.sdk.coders.base import Coder
from headrace.sdk.coders.registry.coder_registry import registry
from headrace.windowing.time.timestamps import Timestamp

EstimatorT = TypeVar("EstimatorT", bound="WatermarkEstimator")


class WatermarkEstimator:
    """Gives the watermark of a restriction; subclass it for a new rule.

    >>> from headrace.io.watermark_estimators import ManualWatermarkEstimator
    >>> estimator = ManualWatermarkEstimator(None)
    >>> estimator.set_watermark(Timestamp(5))
    >>> estimator.current_watermark()
    Timestamp(5)
    """

    def get_estimator_state(self) -> Any:
        """Return the state, from which its provider makes the estimator again; plain data."""
        raise NotImplementedError(f"{type(self).__name__}.get_estimator_state")

    def current_watermark(self) -> Timestamp | None:
        """Return the watermark, which never decreases; None if it is not known yet."""
        raise NotImplementedError(f"{type(self).__name__}.current_watermark")

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        """Take the timestamp of an output; called for each."""
        raise NotImplementedError(f"{type(self).__name__}.observe_timestamp")


class WatermarkEstimatorProvider:
    """Makes the watermark estimators of a splittable DoFn; subclass it.

    The estimators of :mod:`headrace.io.watermark_estimators` have providers: ``default_provider()``.

    >>> from headrace.io.watermark_estimators import ManualWatermarkEstimator
    >>> provider = ManualWatermarkEstimator.default_provider()
    >>> provider.create_watermark_estimator(provider.initial_estimator_state("element", None))
    ManualWatermarkEstimator(None)
    """

    def initial_estimator_state(self, element: Any, restriction: Any) -> Any:
        """Return the first state of the estimator, for an element and its initial restriction."""
        raise NotImplementedError(f"{type(self).__name__}.initial_estimator_state")

    def create_watermark_estimator(self, estimator_state: Any) -> WatermarkEstimator:
        """Return an estimator with a state."""
        raise NotImplementedError(f"{type(self).__name__}.create_watermark_estimator")

    def estimator_state_coder(self) -> Coder:
        """Return the coder of states (Beam's name).

        Headrace writes states like all values: by the coder that is registered for their class.
        """
        return registry.get_coder(object)


class KeptWatermark(WatermarkEstimator):
    """Base of estimators whose state is their watermark.

    Args:
        watermark: the watermark; None if it is not known yet.
    """

    def __init__(self, watermark: Timestamp | None = None) -> None:
        self._watermark = watermark

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._watermark})"

    def current_watermark(self) -> Timestamp | None:
        """Return the watermark."""
        return self._watermark

    def get_estimator_state(self) -> Timestamp | None:
        """Return the watermark."""
        return self._watermark

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        """Do nothing."""

    @classmethod
    def default_provider(cls) -> WatermarkEstimatorProvider:
        """Return the provider of this class."""
        return DefaultProvider(cls)


class DefaultProvider(WatermarkEstimatorProvider):
    """The provider of a class of estimators, whose watermark is not known at first.

    Args:
        estimator: the class.
    """

    def __init__(self, estimator: type[KeptWatermark]) -> None:
        self._estimator = estimator

    def __repr__(self) -> str:
        return f"{self._estimator.__name__}.default_provider()"

    def initial_estimator_state(self, element: Any, restriction: Any) -> None:
        """Return None."""

    def create_watermark_estimator(self, estimator_state: Timestamp | None) -> KeptWatermark:
        """Return an estimator with a watermark."""
        return self._estimator(estimator_state)


class ManualWatermarkEstimator(KeptWatermark):
    """The watermark that ``process`` sets.

    Args:
        watermark: the watermark; None if it is not known yet.

    >>> estimator = ManualWatermarkEstimator(Timestamp(5))
    >>> estimator.set_watermark(Timestamp(3))
    Traceback (most recent call last):
    ValueError: the watermark cannot go back from Timestamp(5) to Timestamp(3)
    """

    def set_watermark(self, timestamp: Timestamp) -> None:
        """Set the watermark: a time that no later output of the restriction is before.

        Raises:
            ValueError: it is not a Timestamp, or before the present watermark.
        """
        if not isinstance(timestamp, Timestamp):
            raise ValueError(f"set_watermark needs a Timestamp, not {timestamp!r}")
        if self._watermark is not None and timestamp < self._watermark:
            raise ValueError(
                f"the watermark cannot go back from {self._watermark!r} to {timestamp!r}"
            )
        self._watermark = timestamp


class MonotonicWatermarkEstimator(KeptWatermark):
    """The timestamp of the last output, for outputs in the order of their timestamps.

    Args:
        timestamp: the watermark; None if it is not known yet.

    >>> estimator = MonotonicWatermarkEstimator(None)
    >>> estimator.observe_timestamp(Timestamp(7))
    >>> estimator.current_watermark()
    Timestamp(7)
    """

    def __init__(self, timestamp: Timestamp | None = None) -> None:
        super().__init__(timestamp)
        self._observed = timestamp

    def observe_timestamp(self, timestamp: Timestamp) -> None:
        """Note the timestamp of an output."""
        self._observed = timestamp

    def current_watermark(self) -> Timestamp | None:
        """Return the timestamp of the last output, unless an earlier watermark is later."""
        if self._watermark is None or (
            self._observed is not None and self._observed >= self._watermark
        ):
            self._watermark = self._observed
        return self._watermark


class WalltimeWatermarkEstimator(KeptWatermark):
    """The time of the wall clock, for outputs with the time at which they are made.

    Args:
        timestamp: the watermark; the present time by default.

    >>> WalltimeWatermarkEstimator().current_watermark() <= Timestamp.now()
    True
    """

    def __init__(self, timestamp: Timestamp | None = None) -> None:
        super().__init__(Timestamp.now() if timestamp is None else timestamp)

    def current_watermark(self) -> Timestamp:
        """Return the present time, unless an earlier watermark is later."""
        assert self._watermark is not None
        self._watermark = max(self._watermark, Timestamp.now())
        return self._watermark


class NoWatermarks(WatermarkEstimatorProvider):
    """The provider for DoFns without an estimator: the watermark is not known."""

    def initial_estimator_state(self, element: Any, restriction: Any) -> None:
        """Return None."""

    def create_watermark_estimator(self, estimator_state: None) -> KeptWatermark:
        """Return an estimator without a watermark."""
        return KeptWatermark()
