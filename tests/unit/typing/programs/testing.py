"""Test streams and captures."""

from typing import reveal_type

import headrace as hr
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to

with TestPipeline() as p:
    stream = TestStream[tuple[str, int]]().add_elements([("a", 1)])
    # revealed: PCollection[tuple[str, int]]
    reveal_type(p | stream.advance_watermark_to_infinity())
    # revealed: PCollection[Any]
    reveal_type(p | "Any" >> TestStream().add_elements(["a"]))
    words = p | hr.Create(["to", "be"])
    # revealed: list[Any]
    reveal_type(capture(words).values)
    assert_that(words, equal_to(["be", "to"]))
    # error: arg-type
    assert_that(["be", "to"], equal_to(["be", "to"]))
    # error: list-item
    stream.add_elements(["a"])
