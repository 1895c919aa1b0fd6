"""Mistakes that show only at run time: what the error or the warning says, and where."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any, ClassVar

import pytest

import headrace as hr
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.shrinking import smaller
from headrace.sdk.testing.runs.steps import Step
from headrace.testing import TestPipeline, capture
from headrace.testing.laws import (
    LawBroken,
    check_combine_fn,
    check_order_independence,
    check_streaming_equals_batch,
)
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS

MODES = pytest.mark.parametrize("flags", [(), ("--streaming",)], ids=["batch", "streaming"])
MIXED = [("b", 2), ("a", 1), ("a", "x")]
MILLIS = 1_700_000_000_000


def run(elements: Iterable[Any], transform: Any, *flags: str, runner: Any = None) -> list[Any]:
    with TestPipeline(runner, argv=list(flags)) as p:
        found = capture(p | hr.Create(elements) | "Step" >> transform)
    return found.values


def notes(elements: Iterable[Any], transform: Any, *flags: str, runner: Any = None) -> list[str]:
    """Return the notes on the TypeError of a pipeline."""
    with pytest.raises(TypeError) as error:
        run(elements, transform, *flags, runner=runner)
    assert type(error.value) is TypeError
    return error.value.__notes__


# Results that are not iterable, or iterators


def generate(x: int) -> Iterator[int]:
    yield x


@pytest.mark.alone
def test_a_generator_as_the_result_of_map(runner: Any) -> None:
    with pytest.raises(hr.ElementError) as error:
        run([5], hr.Map(generate), runner=runner)
    assert (
        error.value.problem == "Map's function returned a generator as one output for the element 5"
    )
    assert error.value.where == "Step"
    assert error.value.remedy.startswith("use FlatMap")


@pytest.mark.parametrize("result", [iter([1]), map(str, [1]), zip([1], [2], strict=True)])
def test_iterators_as_results_of_map(result: Any) -> None:
    transform = hr.Map({1: result}.get)
    with pytest.raises(hr.ElementError, match="use FlatMap"):
        run([1], transform)
    with pytest.raises(hr.ElementError, match="use FlatMap"), TestPipeline() as p:
        _ = p | hr.Create([1]) | transform.with_exception_handling()


def test_iterables_as_results_of_map() -> None:
    results: dict[int, Any] = {1: [1], 2: range(3), 3: {"a": 1}}
    assert run(list(results), hr.Map(results.get)) == list(results.values())


@pytest.mark.parametrize("elements", [[5], [[1], [], 5]])
def test_what_is_not_iterable_as_the_result_of_flat_map(elements: list[Any]) -> None:
    with pytest.raises(hr.ElementError) as error:
        run(elements, hr.FlatMap(lambda x: x))
    assert error.value.problem == "FlatMap's function returned 5, which is not iterable"
    assert error.value.remedy.startswith("use Map")
    assert error.value.__notes__ == ["on the element 5", "in Step"]


def test_a_type_error_inside_a_generator_stays_as_it_is() -> None:
    assert notes([1], hr.FlatMap(lambda x: (x + y for y in "a"))) == ["on the element 1", "in Step"]


def test_none_as_the_result_of_flat_map_is_no_output() -> None:
    assert run([1], hr.FlatMap(lambda x: None)) == []


class Returns(hr.DoFn):
    def process(self, element: Any) -> Any:
        return element


def test_what_is_not_iterable_as_the_result_of_process() -> None:
    with pytest.raises(hr.ElementError, match="process returned 'abc', which is a single str"):
        run(["abc"], hr.ParDo(Returns()))


# Errors of user code


class Pane(hr.WindowInto):
    """Windows of a grouping that needs more than values and windows."""

    def __init__(self, window_fn: Any) -> None:
        super().__init__(
            window_fn,
            trigger=hr.trigger.Repeatedly(hr.trigger.AfterCount(1)),
            accumulation_mode=hr.trigger.AccumulationMode.RETRACTING,
        )


def two_arguments(one: Any, two: Any) -> None:
    """Needs two arguments."""


@pytest.mark.alone
def test_a_type_error_inside_a_function_names_step_and_element(runner: Any) -> None:
    function: Any = two_arguments
    mistake = hr.Map(lambda x: function(x))
    assert notes([1], mistake, runner=runner) == ["on the element 1", "in Step"]


@pytest.mark.alone
def test_a_sum_of_numbers_and_strings_names_the_element(runner: Any) -> None:
    found = notes(MIXED, hr.CombinePerKey(sum), runner=runner)
    assert found == ["on the element ('a', 'x')", "in Step"]
    found = notes(MIXED, hr.CombinePerKey(max), runner=runner)
    assert found == ["for the key 'a'", "in Step"]


@MODES
@pytest.mark.parametrize(
    "windows",
    [
        hr.WindowInto(hr.window.FixedWindows(10)),
        hr.WindowInto(hr.window.Sessions(10)),
        hr.WindowInto(hr.window.SlidingWindows(10, 5)),
        Pane(hr.window.GlobalWindows()),
    ],
    ids=["fixed", "sessions", "sliding", "panes"],
)
@pytest.mark.parametrize("combine", [sum, hr.combiners.MeanCombineFn()], ids=["sum", "mean"])
def test_a_sum_in_windows(windows: Any, combine: Any, flags: Any) -> None:
    elements = [hr.TimestampedValue(((1.5, key), n), 1) for key, n in MIXED]
    found = notes(elements, windows | "sum" >> hr.CombinePerKey(combine), *flags)
    assert found[0] == "on the element ((1.5, 'a'), 'x')"
    assert found[-1].endswith("sum")


@MODES
def test_a_maximum_that_fails_only_at_the_end_names_the_key(flags: Any) -> None:
    assert notes(MIXED, hr.CombinePerKey(max), *flags) == ["for the key 'a'", "in Step"]


# Timestamps in milliseconds


def stamped(pcoll: Any) -> None:
    _ = pcoll | "function" >> hr.WithTimestamps(lambda x: MILLIS)
    _ = pcoll | "output" >> hr.Map(lambda x: hr.TimestampedValue(x, MILLIS)) | hr.FlatMap(range)
    _ = pcoll | "seconds" >> hr.WithTimestamps(lambda x: MILLIS / 1000)
    _ = pcoll | "end" >> hr.WithTimestamps(lambda x: hr.window.MAX_TIMESTAMP)


@pytest.mark.alone
@MODES
def test_a_warning_of_milliseconds_once_per_step(runner: Any, flags: Any) -> None:
    source = [hr.TimestampedValue(n, 10_000_000_000) for n in range(3)]
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with TestPipeline(runner, argv=[*flags, "--max_records_per_batch=1"]) as p:
            stamped(p | "plain" >> hr.Create([1, 2, 3]))
            _ = p | "source" >> hr.Create(source) | "kept" >> hr.FlatMap(lambda n: [n] * n)
    found = sorted(str(w.message) for w in seen if w.category is hr.HeadraceWarning)
    shown = "Timestamp(1700000000000) is probably a number of milliseconds, but timestamps are in seconds"
    assert found == [
        f"function: {shown}; divide it by 1000: t / 1000",
        f"output: {shown}; divide it by 1000: t / 1000",
        "source: Timestamp(10000000000) is after the year 2200; check the unit: timestamps are in "
        "seconds since 1970",
    ]


# The laws


class Shared(hr.CombineFn):
    accumulator: ClassVar[Any] = []

    def create_accumulator(self) -> Any:
        return self.accumulator

    def add_input(self, accumulator: Any, element: int) -> Any:
        accumulator.append(element)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [n for accumulator in accumulators for n in accumulator]

    def extract_output(self, accumulator: Any) -> int:
        return sum(accumulator)


class SharedInATuple(Shared):
    def create_accumulator(self) -> Any:
        return (self.accumulator, 0)

    def add_input(self, accumulator: Any, element: int) -> Any:
        accumulator[0].append(element)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [n for accumulator, _ in accumulators for n in accumulator], 0

    def extract_output(self, accumulator: Any) -> int:
        return sum(accumulator[0])


class Copied(Shared):
    """Returns the same object, but does not change it."""

    accumulator: ClassVar[Any] = []

    def add_input(self, accumulator: Any, element: int) -> Any:
        return [*accumulator, element]


@pytest.mark.parametrize("fn", [Shared(), SharedInATuple()])
def test_a_shared_accumulator(fn: Any) -> None:
    with pytest.raises(LawBroken) as broken:
        check_combine_fn(fn, [5, 3], cases=20)
    assert broken.value.law == "create_accumulator returns a new accumulator each time"
    assert "returns the same object twice; return a new one" in broken.value.remedy
    assert str(broken.value.given).count("[]") == 2  # one input


def test_an_accumulator_that_is_shared_but_not_changed() -> None:
    check_combine_fn(Copied(), [5, 3], cases=20)


def first(pair: tuple[str, list[int]]) -> int:
    return pair[1][0]


def divide(n: int) -> float:
    return 1 / (n - 7)


TO_INFINITY = ".advance_watermark_to_infinity()"


@pytest.mark.slow
def test_a_dependence_on_order_is_shrunk_to_two_elements() -> None:
    pairs = [("a", n) for n in range(9)]
    with pytest.raises(LawBroken) as broken:
        check_order_independence(hr.GroupByKey() | hr.Map(first), pairs, cases=20)
    assert broken.value.given.count("TimestampedValue") == 2
    assert str(broken.value).count("TestStream()") == 2


@pytest.mark.slow
@pytest.mark.parametrize("law", [check_streaming_equals_batch, check_order_independence])
def test_an_error_of_a_transform_is_shrunk(law: Callable[..., None]) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        law(hr.Map(divide), range(9), cases=20)
    notes = "\n".join(error.value.__notes__)
    shown = notes[notes.index("for:") :].partition(TO_INFINITY)[0]
    assert shown.count("TimestampedValue") == 1
    assert "TimestampedValue(7, " in shown


@pytest.mark.parametrize("end", [(), (("watermark", MAX_MICROS),)])
def test_an_event_of_nine_elements_is_shrunk_in_few_passes(end: Any) -> None:
    """Each pass costs a run of a pack of candidates."""
    burst = ("elements", tuple(("a", n, 0, 1) for n in range(9)))
    found = Run((burst, *end), (Step(WindowingStrategy()),))

    def halved(run: Run, _: int) -> Run:
        return next((less for less in smaller(run) if "('a', 7" in repr(less.script)), run)

    least = reduce(halved, range(4), found)
    assert least.script == (("elements", (("a", 7, 0, 1),)), *end)
