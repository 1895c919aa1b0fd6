# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Values of options that can be known later than the pipeline, under Beam's name for the module."""

from headrace.sdk.options.value_provider import (
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
