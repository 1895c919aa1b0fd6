# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Tools to test pipelines: scripted sources, assertions, captures."""

from headrace.sdk.sources.scripted_stream import (
    ElementEvent,
    ProcessingTimeEvent,
    TestStream,
    WatermarkEvent,
)
from headrace.sdk.testing.assertions.asserting import AssertThat, TestWindowedValue, assert_that
from headrace.sdk.testing.assertions.capturing import Capture, Captured, capture
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
from headrace.sdk.testing.streams.pipelines import TestPipeline
from headrace.sdk.testing.streams.table_stream import TableStream

__all__ = [
    "AssertThat",
    "BeamAssertException",
    "Capture",
    "Captured",
    "ElementEvent",
    "ProcessingTimeEvent",
    "TableStream",
    "TestPipeline",
    "TestStream",
    "TestWindowedValue",
    "WatermarkEvent",
    "assert_that",
    "capture",
    "contains_in_any_order",
    "equal_to",
    "equal_to_approx",
    "equal_to_per_window",
    "is_empty",
    "is_not_empty",
    "matches_all",
    "row_namedtuple_equals_fn",
]
