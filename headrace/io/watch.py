# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Polling for new outputs, under Beam's module path."""

from headrace.sdk.polling.poll_results import PollFn, PollResult
from headrace.sdk.polling.poll_termination import (
    TerminationCondition,
    after_iterations,
    after_time_since_new_output,
    after_total_of,
    all_of,
    either_of,
    never,
)
from headrace.sdk.polling.watch import Watch

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
