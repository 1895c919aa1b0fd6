# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Elements at regular times, under Beam's path."""

from headrace.sdk.polling.periodic import PeriodicImpulse, PeriodicSequence, RebaseMode

__all__ = ["PeriodicImpulse", "PeriodicSequence", "RebaseMode"]
