"""Elements at regular times, under Beam's path."""

from headrace.sdk.periodic import PeriodicImpulse, PeriodicSequence, RebaseMode

__all__ = ["PeriodicImpulse", "PeriodicSequence", "RebaseMode"]
