"""Values of options that can be known later than the pipeline, under Beam's name for the module."""

from headrace.sdk.value_provider import (
    NestedValueProvider,
    RuntimeValueProvider,
    StaticValueProvider,
    ValueProvider,
    check_accessible,
)

__all__ = [
    "NestedValueProvider",
    "RuntimeValueProvider",
    "StaticValueProvider",
    "ValueProvider",
    "check_accessible",
]
