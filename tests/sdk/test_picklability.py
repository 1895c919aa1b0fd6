"""Functions that cannot travel to workers are refused before any data flows."""

from __future__ import annotations

import threading
from typing import ClassVar

import pytest

import headrace as hr
from headrace.sdk.result import PipelineResult


class Shipping:
    """A runner with workers elsewhere."""

    ships_functions: ClassVar[bool] = True

    def __init__(self) -> None:
        self.ran = False

    def run(self, graph: object, options: object) -> PipelineResult:
        self.ran = True
        return PipelineResult()


def test_a_lambda_over_a_lock_is_refused_by_name() -> None:
    lock, workers = threading.Lock(), Shipping()
    p = hr.Pipeline(runner=workers, argv=[])
    _ = p | hr.Create([1]) | "Guarded" >> hr.Map(lambda x: (lock, x))
    with pytest.raises(hr.PipelineError, match="cannot be sent to workers") as refused:
        p.run()
    assert refused.value.where == "Guarded"
    assert "DoFn.setup" in refused.value.remedy
    assert not workers.ran


def test_a_combine_function_over_a_lock_is_refused_by_name() -> None:
    lock = threading.Lock()
    p = hr.Pipeline(runner=Shipping(), argv=[])
    pairs = p | hr.Create([("a", 1)])
    _ = pairs | "Sum" >> hr.CombinePerKey(lambda values: lock and sum(values))
    with pytest.raises(hr.PipelineError) as refused:
        p.run()
    assert refused.value.where == "Sum"


def test_functions_that_can_travel_pass() -> None:
    workers, factor = Shipping(), 3
    p = hr.Pipeline(runner=workers, argv=[])
    _ = p | hr.Create([1]) | hr.Map(lambda x: factor * x)
    p.run()
    assert workers.ran


def test_the_local_runner_ships_nothing() -> None:
    lock = threading.Lock()
    with hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([1]) | hr.Map(lambda x: (lock, x)[1])
