# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The time domains of timers, under Beam's path."""

from headrace.sdk.pardo.state.timers import TimeDomain

__all__ = ["TimeDomain"]
