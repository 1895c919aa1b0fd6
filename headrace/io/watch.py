# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Polling for new outputs, under Beam's module path."""

from headrace.sdk.poll_termination import (
    TerminationCondition,
    after_iterations,
    after_time_since_new_output,
    after_total_of,
    all_of,
    either_of,
    never,
)
from headrace.sdk.polling import PollFn, PollResult
from headrace.sdk.watch import Watch

__all__ = [
    "PollFn",
    "PollResult",
    "TerminationCondition",
    "Watch",
    "after_iterations",
    "after_time_since_new_output",
    "after_total_of",
    "all_of",
    "either_of",
    "never",
]
