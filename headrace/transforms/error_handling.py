"""Error handlers, under Beam's module path."""

from headrace.sdk.error_handling import CollectingErrorHandler, ErrorHandler, ErrorHandlerError

__all__ = ["CollectingErrorHandler", "ErrorHandler", "ErrorHandlerError"]
