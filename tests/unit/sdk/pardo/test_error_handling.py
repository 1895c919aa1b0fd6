"""Error handlers: dead letters of several transforms with one consumer."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from headrace.transforms.error_handling import (
    CollectingErrorHandler,
    ErrorHandler,
    ErrorHandlerError,
)


def element(letter):
    return letter[0]


def test_a_handler_gets_the_dead_letters_of_several_transforms_and_of_other_handlers_none():
    with TestPipeline() as p:
        lines = p | hr.Create(["4", "0", "x"])
        with ErrorHandler(hr.Map(element)) as first, ErrorHandler(hr.Map(element)) as second:
            numbers = lines | hr.Map(int).with_error_handler(first)
            halves = numbers | hr.Map(lambda n: 8 // n).with_error_handler(first)
            _ = lines | "letters" >> hr.Map(ord).with_error_handler(second)
            _ = lines | "all" >> hr.Map(lambda s: {}[s]).with_error_handler(second)
        found = capture(halves)
        one, two = capture(first.output(), "one"), capture(second.output(), "two")
    assert found.values == [2]
    assert sorted(map(str, one.values)) == ["0", "x"]
    assert sorted(two.values) == ["0", "4", "x"]


def test_a_transform_of_ones_own_gives_its_errors_to_a_handler():
    class Numbers(hr.PTransform):
        def __init__(self, handler):
            super().__init__()
            self.handler = handler

        def expand(self, pcoll):
            good, bad = pcoll | hr.Map(int).with_exception_handling()
            self.handler.add_error_pcollection(bad | hr.Map(element))
            return good

    with TestPipeline() as p:
        with CollectingErrorHandler() as handler:
            good = capture(p | hr.Create(["1", "x"]) | Numbers(handler))
        bad = capture(handler.output(), "bad")
    assert good.values == [1]
    assert bad.values == ["x"]


def test_a_dofn_with_other_outputs_keeps_them_beside_a_handler():
    def split(n):
        return hr.TaggedOutput("odd", n) if n % 2 else 8 // n

    with TestPipeline() as p, CollectingErrorHandler() as handler:
        tagged = hr.Map(split).with_outputs("odd", main="even")
        outputs = p | hr.Create([0, 1, 2]) | tagged.with_exception_handling(error_handler=handler)
        odd, even = capture(outputs.odd), capture(outputs.even, "even")
        handler.close()
        bad = capture(handler.output() | hr.Map(element), "bad")
    assert (odd.values, even.values, bad.values) == ([1], [4], [0])


def test_without_a_handler_exceptions_stop_the_pipeline():
    p = TestPipeline()
    _ = p | hr.Create(["x"]) | hr.Map(int).with_error_handler(None)
    with pytest.raises(ValueError, match="invalid literal"):
        p.run()


def test_errors_that_nobody_consumes_are_refused_with_the_place_of_the_handler():
    p = TestPipeline()
    handler = ErrorHandler(hr.Map(print))
    _ = p | hr.Create(["x"]) | hr.Map(int).with_error_handler(handler)
    with pytest.raises(
        ErrorHandlerError, match=r"Unclosed error handler, created at .*test_error_ha"
    ):
        p.run()
    q = TestPipeline()
    with CollectingErrorHandler() as collecting:
        _ = q | hr.Create(["x"]) | hr.Map(int).with_error_handler(collecting)
    with pytest.raises(
        ErrorHandlerError, match=r"requires the output .*test_error_handling.py, line"
    ):
        q.run()


def test_the_output_of_a_handler_exists_only_when_it_is_closed_and_used():
    handler = ErrorHandler(hr.Map(print))
    with pytest.raises(ErrorHandlerError, match="does not exist until it is closed"):
        handler.output()
    handler.close()
    with pytest.raises(ErrorHandlerError, match="no transform has added"):
        handler.output()
    function: Any = print
    with pytest.raises(TypeError, match="needs a transform"):
        ErrorHandler(function)
    with pytest.raises(TypeError, match="must be an ErrorHandler"):
        hr.Map(int).with_error_handler(function)
