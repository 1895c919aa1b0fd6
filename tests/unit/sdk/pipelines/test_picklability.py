"""Functions that cannot travel to workers are refused before any data flows."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import ClassVar

import pytest

import headrace as hr
from headrace.sdk.pipelines.result import PipelineResult


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


@pytest.mark.parametrize("mode", ["r", "w", "rb"])
def test_a_lambda_over_an_open_file_is_refused_by_name(mode: str, tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    path.write_text("1")
    with path.open(mode) as file:
        p = hr.Pipeline(runner=Shipping(), argv=[])
        _ = p | hr.Create([1]) | "Reads" >> hr.Map(lambda x: (x, file.name))
        with pytest.raises(
            hr.PipelineError, match="cannot be sent to workers: cannot pickle"
        ) as refused:
            p.run()
    assert refused.value.where == "Reads"
    assert "DoFn.setup" in refused.value.remedy


def test_the_standard_output_can_travel() -> None:
    p = hr.Pipeline(runner=Shipping(), argv=[])
    _ = p | hr.Create([1]) | hr.Map(lambda x: print(x, file=sys.__stdout__))
    p.run()


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
