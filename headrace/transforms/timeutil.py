"""The time domains of timers, under Beam's path."""

from headrace.sdk.timers import TimeDomain

__all__ = ["TimeDomain"]
