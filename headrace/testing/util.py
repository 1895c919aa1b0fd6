# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Assertions about collections, under Beam's name for the module."""

from headrace.sdk.testing.assertions.asserting import AssertThat, TestWindowedValue, assert_that
from headrace.sdk.testing.assertions.matchers import (
    BeamAssertException,
    contains_in_any_order,
    equal_to,
    equal_to_approx,
    equal_to_per_window,
    is_empty,
    is_not_empty,
    matches_all,
    row_namedtuple_equals_fn,
)
from headrace.sdk.testing.shards import open_shards

__all__ = [
    "AssertThat",
    "BeamAssertException",
    "TestWindowedValue",
    "assert_that",
    "contains_in_any_order",
    "equal_to",
    "equal_to_approx",
    "equal_to_per_window",
    "is_empty",
    "is_not_empty",
    "matches_all",
    "open_shards",
    "row_namedtuple_equals_fn",
]
