# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Calls of services, under Beam's module path."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.joins.web_calls import (
    DEFAULT_TIMEOUT_SECS,
    Caller,
    ExponentialBackOffRepeater,
    NoOpsRepeater,
    Repeater,
    UserCodeExecutionException,
    UserCodeQuotaException,
    UserCodeTimeoutException,
)

__all__ = [
    "DEFAULT_TIMEOUT_SECS",
    "Caller",
    "ExponentialBackOffRepeater",
    "NoOpsRepeater",
    "Repeater",
    "UserCodeExecutionException",
    "UserCodeQuotaException",
    "UserCodeTimeoutException",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
