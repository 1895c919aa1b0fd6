"""A function that refers to a collection or a pipeline is refused on every runner, before any data flows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import headrace as hr
from tests.unit.sdk.pipelines.test_picklability import Shipping

RUNNERS = [None, Shipping()]

total: Any = None


def uses_global(x: int) -> Any:
    return x, total


def calls_another(x: int) -> Any:
    return uses_global(x)


class Holding(hr.DoFn):
    """A DoFn with a collection."""

    def __init__(self, held: Any) -> None:
        self.held = held

    def process(self, x: int) -> Any:
        yield x, self.held


class Using(hr.DoFn):
    """A DoFn whose method uses a global variable."""

    def process(self, x: int) -> Any:
        yield x, total


def with_default(x: int, other: Any) -> Any:
    return x, other


def with_collection_as_default(pcoll: Any) -> Any:
    return lambda x, held=(pcoll,): (x, held)


def attribute_of_the_same_name(x: Any) -> Any:
    return x if x else x.total


TRANSFORMS: dict[str, Callable[[Any], Any]] = {
    "closure": lambda pcoll: hr.Map(lambda x: (x, pcoll)),
    "inner": lambda pcoll: hr.Map(lambda x: [y for y in [x] if (lambda: pcoll)()]),
    "default": lambda pcoll: hr.Map(with_collection_as_default(pcoll)),
    "partial": lambda pcoll: hr.Map(partial(with_default, other=pcoll)),
    "global": lambda pcoll: hr.Map(uses_global),
    "function": lambda pcoll: hr.Map(calls_another),
    "DoFn": lambda pcoll: hr.ParDo(Holding(pcoll)),
    "method": lambda pcoll: hr.ParDo(Using()),
    "combine": lambda pcoll: hr.CombineGlobally(lambda values: pcoll or sum(values)),
}


@pytest.mark.parametrize("runner", RUNNERS, ids=["local", "with workers"])
@pytest.mark.parametrize("kind", TRANSFORMS)
def test_a_function_that_uses_a_collection_is_refused(
    kind: str, runner: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    p = hr.Pipeline(runner=runner, argv=[])
    held = p | "Held" >> hr.Create([3])
    monkeypatch.setattr("tests.unit.sdk.pipelines.test_captured_objects.total", held)
    _ = p | hr.Create([1]) | "Uses" >> TRANSFORMS[kind](held)
    with pytest.raises(hr.PipelineError, match="refers to PCollection") as refused:
        p.run()
    assert refused.value.where.startswith("Uses")
    assert "AsList" in refused.value.remedy


def test_a_function_that_uses_the_pipeline_is_refused() -> None:
    p = hr.Pipeline(argv=[])
    _ = p | hr.Create([1]) | "Uses" >> hr.Map(lambda x: p | hr.Create([x]))
    with pytest.raises(hr.PipelineError, match="refers to the pipeline") as refused:
        p.run()
    assert refused.value.where == "Uses"


class Both(hr.PTransform[Any, Any]):
    """A composite that keeps its input, of which its function makes no use."""

    def expand(self, pcoll: Any) -> Any:
        self.before = pcoll
        return pcoll | hr.Map(self.add)

    def add(self, x: int) -> int:
        return x + 1


def test_a_method_of_a_composite_that_knows_a_collection_runs_locally() -> None:
    with hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([1]) | Both()


def test_a_worker_does_not_get_a_collection_from_a_composite() -> None:
    p = hr.Pipeline(runner=Shipping(), argv=[])
    _ = p | hr.Create([1]) | "Both" >> Both()
    with pytest.raises(hr.PipelineError, match="cannot pickle PCollection"):
        p.run()


def test_an_attribute_of_the_name_of_a_collection_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with hr.Pipeline(argv=[]) as p:
        held = p | "Held" >> hr.Create([3])
        monkeypatch.setattr("tests.unit.sdk.pipelines.test_captured_objects.total", held)
        _ = p | hr.Create([1]) | hr.Map(attribute_of_the_same_name)
