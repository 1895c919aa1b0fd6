# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Error handlers, under Beam's module path."""

from headrace.sdk.pardo.error_handling import (
    CollectingErrorHandler,
    ErrorHandler,
    ErrorHandlerError,
)

__all__ = ["CollectingErrorHandler", "ErrorHandler", "ErrorHandlerError"]
