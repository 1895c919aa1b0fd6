"""A function that changes its input is found, with its step, the element and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from copy import deepcopy
from functools import cached_property
from typing import Any, ClassVar

import attrs
import pytest

import headrace as hr
from headrace.runners.calls.invoker import ParDoInvoker
from headrace.runners.checks.accumulator_check import CheckedCombineFn
from headrace.runners.plan.planning import KeyedStep, plan
from headrace.sdk.testing.runs import run as runs
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import run_streaming
from headrace.sdk.testing.runs.steps import Step
from headrace.testing import TestPipeline, capture
from headrace.testing.laws import (
    LawBroken,
    check_deterministic,
    check_order_independence,
    check_streaming_equals_batch,
)
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS

PAIRS = [("b", [1]), ("a", [2, 1])]


def sorts(pair: Any) -> Any:
    pair[1].sort()
    return pair


def pops(pair: Any) -> Iterator[Any]:
    """Changes its input only when its outputs are collected."""
    yield pair[1].pop()


class Pops(hr.DoFn):
    def process(self, element: Any, window: Any = hr.DoFn.WindowParam) -> Iterator[Any]:
        yield element[1].pop()


class Longest(hr.CombineFn):
    """A list of lists, whose items it changes in one of its methods."""

    def __init__(self, method: str) -> None:
        self.method = method

    def _change(self, method: str, lists: list[Any]) -> None:
        if method == self.method:
            for each in lists:
                each.append(0)

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, accumulator: list[Any], element: Any) -> list[Any]:
        self._change("add_input", [element])
        return [*accumulator, list(element)]

    def merge_accumulators(self, accumulators: Any) -> list[Any]:
        merged = [each for accumulator in accumulators for each in accumulator]
        self._change("merge_accumulators", merged)
        return merged

    def extract_output(self, accumulator: list[Any]) -> Any:
        return max(map(len, accumulator), default=0)


def longest(lists: Any) -> Any:
    first, *others = lists
    for other in others:
        first.extend(other)
    return first


class Pairs(hr.DoFn):
    """Emits a buffer, and then uses it again."""

    def setup(self) -> None:
        self.buffer: list[Any] = []

    def process(self, element: Any) -> Iterator[list[Any]]:
        self.buffer.append(element)
        yield self.buffer
        self.buffer.clear()


class Shared(hr.CombineFn):
    """A list of inputs, which is the same one for all keys."""

    values: ClassVar[list[Any]] = []

    def __init__(self) -> None:
        self.values.clear()

    def create_accumulator(self) -> list[Any]:
        return self.values

    def add_input(self, accumulator: list[Any], element: Any) -> list[Any]:
        accumulator.append(element)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> list[Any]:
        return [each for accumulator in accumulators for each in accumulator]

    def extract_output(self, accumulator: list[Any]) -> list[Any]:
        return list(accumulator)


def run(transform: Any, *flags: str, runner: Any = None, elements: Any = PAIRS) -> list[Any]:
    with TestPipeline(runner, argv=list(flags)) as p:
        found = capture(p | hr.Create(deepcopy(elements)) | "Step" >> transform)
    return found.values


MODES = pytest.mark.parametrize("flags", [(), ("--streaming",)], ids=["batch", "streaming"])


@MODES
@pytest.mark.parametrize(
    "transform",
    [
        hr.Map(sorts),
        hr.FlatMap(pops),
        hr.Filter(lambda pair: pair[1].sort() is None),
        hr.ParDo(Pops()),
        hr.MapTuple(lambda key, values: values.sort()),
        hr.WithKeys(lambda pair: pair[1].pop()),
        hr.GroupBy(lambda pair: pair[1].sort()),
        hr.WithTimestamps(lambda pair: pair[1].pop()),
        hr.CombinePerKey(Longest("add_input")),
        hr.CombinePerKey(longest),
    ],
    ids=lambda transform: transform.label.split("(")[0],
)
def test_a_function_that_changes_its_input(transform: Any, flags: tuple[str, ...]) -> None:
    elements = [("a", [2, 1]), ("a", [3])]
    with pytest.raises(hr.MutationError, match=r"changed its input .*\[2, 1") as error:
        run(transform, *flags, elements=elements)
    assert error.value.where.startswith("Step")
    assert "sorted(values) or dict(value)" in error.value.remedy


ON_EACH_RUNNER = [
    (lambda: hr.Map(sorts), "the function changed its input ('a', [2, 1]) to ('a', [1, 2])"),
    (lambda: hr.ParDo(Pairs()), "process changed what it had emitted, ["),
    (
        lambda: hr.CombinePerKey(Shared()),
        "add_input changed the accumulator of another key or window, []",
    ),
]


@pytest.mark.alone
@MODES
@pytest.mark.parametrize(
    ("transform", "problem"), ON_EACH_RUNNER, ids=["input", "output", "combine"]
)
def test_on_each_runner(runner: Any, flags: tuple[str, ...], transform: Any, problem: str) -> None:
    with pytest.raises(hr.MutationError) as error:
        run(transform(), *flags, runner=runner)
    assert error.value.problem.startswith(problem)
    assert error.value.where == "Step"


def test_a_list_of_a_group_must_not_change() -> None:
    with pytest.raises(hr.MutationError, match=re.escape("('a', [2, 1]) to ('a', [1, 2])")):
        run(hr.GroupByKey() | hr.Map(sorts), elements=[("a", 2), ("a", 1)])


def test_a_dead_letter_does_not_hide_a_change() -> None:
    def fails(pair: Any) -> None:
        pair[1].clear()
        raise ValueError

    with (
        pytest.raises(hr.MutationError, match=re.escape("('b', [1]) to ('b', [])")),
        TestPipeline() as p,
    ):
        _ = p | hr.Create([("b", [1])]) | hr.Map(fails).with_exception_handling()


@attrs.define
class Tank:
    level: int
    name: Any = "tank"


@attrs.define(slots=False)
class Cached:
    level: int

    @cached_property
    def total(self) -> int:
        return self.level + 1


def fill(tank: Tank) -> int:
    tank.level += 1
    return tank.level


def test_objects() -> None:
    with pytest.raises(hr.MutationError, match=re.escape("Tank(level=1, name='tank') to Tank(lev")):
        run_objects([Tank(1)], fill)


def test_objects_that_cannot_be_pickled_are_compared_by_their_encodings() -> None:
    @attrs.frozen
    class Local:
        levels: list[int]

    with pytest.raises(hr.MutationError, match=r"changed its input to .*Local"):
        run_objects([Local([1])], lambda local: local.levels.append(2))


def test_objects_that_have_no_encoding_are_not_checked() -> None:
    assert run_objects([Tank(1, lambda: None)], fill) == [2]


def test_objects_that_cache_what_they_compute_do_not_change() -> None:
    assert run_objects([Cached(1)], lambda cached: cached.total) == [2]


def run_objects(elements: list[Any], fn: Any) -> list[Any]:
    with TestPipeline() as p:
        found = capture(p | hr.Create(elements) | hr.Map(fn))
    return found.values


def test_large_groups_are_not_read_into_memory_for_the_check() -> None:
    pickled = []

    class Plain(list[int]):
        def __reduce__(self) -> Any:
            pickled.append(type(self))
            return list, (list(self),)

    class Stored(Plain):
        gives_copies = True

    assert run_objects([("a", Plain([1])), ("a", Stored([2]))], len) == [2, 2]
    assert Plain in pickled
    pickled.clear()
    assert run_objects([("a", Stored([1]))], len) == [2]
    assert pickled == []


def test_what_may_change() -> None:
    """Accumulators, copies, the order of a dict, and values that a function makes."""
    assert run(hr.CombinePerKey(Longest("merge_accumulators"))) == [("b", 1), ("a", 2)]
    assert run(hr.Map(lambda pair: sorts((pair[0], pair[1][:]))))[1] == ("a", [1, 2])
    turned = run(hr.Map(lambda d: d.update(a=d.pop("a"))), elements=[{"a": 1, "b": 2}])
    assert turned == [None]


def test_the_flags() -> None:
    changed = run(hr.Map(sorts), "--no-check-mutation")
    assert changed == [("b", [1]), ("a", [1, 2])]
    with hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([("a", [2, 1])]) | hr.Map(sorts)
    with (
        pytest.raises(hr.MutationError),
        hr.Pipeline(argv=["--check-mutation"]) as p,
    ):
        _ = p | hr.Create([("a", [2, 1])]) | hr.Map(sorts)


def test_without_the_check_nothing_is_wrapped() -> None:
    with TestPipeline() as p:
        _ = p | hr.Create([("a", 1)]) | hr.CombinePerKey(max) | hr.Map(print)
        graph = p.graph
    for check in (False, True):
        planned = plan(graph, check)
        (step,) = planned.steps.values()
        assert isinstance(step, KeyedStep)
        assert isinstance(step.reduction.fn, CheckedCombineFn) is check  # type: ignore[attr-defined]
    invoker = ParDoInvoker(graph.nodes[-1])  # type: ignore[arg-type]
    assert "mutation" not in invoker._program.__code__.co_filename  # type: ignore[attr-defined]


LAWS = [check_streaming_equals_batch, check_order_independence, check_deterministic]


@pytest.mark.slow
@pytest.mark.parametrize("law", LAWS)
def test_the_laws_of_transforms_find_it_and_shrink_it(law: Callable[..., None]) -> None:
    with pytest.raises(LawBroken) as broken:
        law(hr.Map(sorts), [("a", [2, 1]), ("b", [1]), ("c", [1, 2])], cases=20)
    assert broken.value.law == "values are not changed"
    assert broken.value.given.count("TimestampedValue") <= 2
    assert "TimestampedValue(('a', [2, 1]), 0)" in broken.value.given


def test_a_random_program_with_a_seeded_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of the kit run with the check."""

    def weight(value: Any) -> Any:
        if isinstance(value, list):
            value.sort(reverse=True)
            return sum(value)
        return value

    script = (("elements", (("a", 1, 0, 1), ("a", 2, 0, 1))), ("watermark", MAX_MICROS))
    lists = Step(WindowingStrategy(), kind="list")
    sums = Step(WindowingStrategy(), kind="sum", assigns=False)
    run_ = Run(script, (lists, sums))
    assert run_streaming([run_], "local", watched=False)
    monkeypatch.setattr(runs, "weight", weight)
    with pytest.raises(hr.MutationError, match="adapt 1"):
        run_streaming([run_], "local", watched=False)
