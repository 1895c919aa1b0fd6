# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Checks of sources of Beam's form, under Beam's module path."""

from headrace.sdk.testing.divided_sources import (
    assert_reentrant_reads_succeed,
    assert_sources_equal_reference_source,
    assert_split_at_fraction_exhaustive,
    read_from_source,
)

__all__ = [
    "assert_reentrant_reads_succeed",
    "assert_sources_equal_reference_source",
    "assert_split_at_fraction_exhaustive",
    "read_from_source",
]
