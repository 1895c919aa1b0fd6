"""A function that changes what it has emitted is found, and so are accumulators that share an object."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.laws import LawBroken, check_combine_fn, check_streaming_equals_batch
from headrace.transforms.userstate import (
    CombiningValueStateSpec,
    ReadModifyWriteStateSpec,
    TimeDomain,
    TimerSpec,
    on_timer,
)
from tests.model.first_hour.test_mutation import MODES, Pairs, Shared


class Buffer(hr.DoFn):
    """Emits a buffer that it keeps, in one of several ways."""

    def start_bundle(self) -> None:
        self.buffer: list[Any] = []


class Returns(Buffer):
    def process(self, element: Any) -> list[Any]:
        self.buffer.append(element)
        return [self.buffer]


class Tags(Buffer):
    def process(self, element: Any) -> Iterator[Any]:
        self.buffer.append(element)
        yield hr.TaggedOutput("other", self.buffer)


class Stamps(Buffer):
    def process(self, element: Any) -> Iterator[Any]:
        self.buffer.append(element)
        yield hr.TimestampedValue(("k", self.buffer), 5)


class Finishes(Buffer):
    def process(self, element: Any) -> None:
        self.buffer.append(element)

    def finish_bundle(self) -> Iterator[Any]:
        for _ in list(self.buffer):
            yield hr.WindowedValue(self.buffer, 0, [hr.window.GlobalWindow()])
            self.buffer.pop()


class FinishesLater(Buffer):
    """Changes in finish_bundle what process has emitted."""

    def process(self, element: Any) -> Iterator[Any]:
        yield self.buffer

    def finish_bundle(self) -> None:
        self.buffer.append("end")


class Batches(Buffer):
    def process_batch(self, batch: list[Any]) -> Iterator[list[Any]]:
        self.buffer.extend(batch)
        yield self.buffer
        self.buffer.clear()


class Stateful(hr.DoFn):
    LAST = ReadModifyWriteStateSpec("last")

    def setup(self) -> None:
        self.buffer: list[Any] = []

    def process(self, element: Any, last: Any = hr.DoFn.StateParam(LAST)) -> Iterator[Any]:
        self.buffer.append(element[1])
        last.write(element[1])
        yield self.buffer


class Timed(hr.DoFn):
    TIMER = TimerSpec("end", TimeDomain.WATERMARK)

    def process(self, element: Any, timer: Any = hr.DoFn.TimerParam(TIMER)) -> None:
        timer.set(100)

    @on_timer(TIMER)
    def at_end(self) -> Iterator[Any]:
        buffer = [1]
        yield buffer
        buffer.clear()


def remembers(element: Any, acc: dict[Any, Any]) -> dict[Any, Any]:
    acc[element] = len(acc)
    return acc


def remembers_each(element: Any, acc: dict[Any, Any]) -> Iterator[dict[Any, Any]]:
    yield remembers(element, acc)


CASES = {
    "Map": lambda: hr.Map(remembers, {}),
    "FlatMap": lambda: hr.FlatMap(remembers_each, {}),
    "caught": lambda: hr.Map(remembers, {}).with_exception_handling(),
    "yielded": lambda: hr.ParDo(Pairs()),
    "returned": lambda: hr.ParDo(Returns()),
    "tagged": lambda: hr.ParDo(Tags()).with_outputs("other"),
    "stamped": lambda: hr.ParDo(Stamps()),
    "finished": lambda: hr.ParDo(Finishes()),
    "before finish": lambda: hr.ParDo(FinishesLater()),
    "batches": lambda: hr.ParDo(Batches()),
    "stateful": lambda: hr.ParDo(Stateful()),
    "timer": lambda: hr.ParDo(Timed()),
}

PAIRS = [("a", 1), ("a", 2), ("b", 3)]


def apply(transform: Any, flags: tuple[str, ...], elements: Any = PAIRS) -> None:
    with TestPipeline(argv=list(flags)) as p:
        _ = p | hr.Create(deepcopy(elements)) | "Step" >> transform


@MODES
@pytest.mark.parametrize("case", CASES)
def test_what_was_emitted_and_then_changed(case: str, flags: tuple[str, ...]) -> None:
    with pytest.raises(hr.MutationError, match=r"changed what it had emitted, .* to ") as found:
        apply(CASES[case](), flags)
    assert found.value.where.startswith("Step")
    assert "emit a copy, for example list(values)" in found.value.remedy


@MODES
def test_a_function_with_a_side_input(flags: tuple[str, ...]) -> None:
    p = TestPipeline(argv=list(flags))
    side = hr.pvalue.AsSingleton(p | "Side" >> hr.Create([1]))
    one = hr.Map(lambda x, acc, one: remembers(x, acc), {}, side)
    _ = p | hr.Create([1, 2]) | "Step" >> one
    with pytest.raises(
        hr.MutationError, match="Map's function changed what it had emitted"
    ) as found:
        p.run()
    assert (found.value.where, found.value.problem.partition(", ")[2]) == (
        "Step",
        "{1: 0} to {1: 0, 2: 1}",
    )


def test_an_element_of_the_last_bundle_that_changes_in_the_next_one() -> None:
    stream = TestStream().add_elements([1]).add_elements([2]).advance_watermark_to_infinity()
    with pytest.raises(hr.MutationError, match=r"\{1: 0\} to \{1: 0, 2: 1\}"), TestPipeline() as p:
        _ = p | stream | hr.Map(remembers, {})


class Same(hr.DoFn):
    def process(self, element: Any) -> Iterator[Any]:
        made = [element]
        yield made
        yield made
        yield hr.TaggedOutput("other", made)


@MODES
def test_what_is_emitted_twice_may_be_the_same(flags: tuple[str, ...]) -> None:
    with TestPipeline(argv=list(flags)) as p:
        outputs = p | hr.Create([1, 2]) | hr.ParDo(Same()).with_outputs("other", main="main")
        found = capture(outputs["main"])
    assert found.values == [[1], [1], [2], [2]]


class NextBundle(Buffer):
    def process(self, element: Any) -> None:
        self.buffer.append(element)

    def finish_bundle(self) -> Iterator[Any]:
        yield hr.WindowedValue(self.buffer, 0, [hr.window.GlobalWindow()])
        self.buffer = []


def test_a_buffer_may_be_emitted_if_the_next_one_is_new() -> None:
    stream = TestStream().add_elements([1]).add_elements([2]).advance_watermark_to_infinity()
    with TestPipeline() as p:
        found = capture(p | stream | hr.ParDo(NextBundle()))
    assert found.values == [[1], [2]]


def test_a_later_step_that_changes_its_input_is_blamed_itself() -> None:
    made = "Make" >> hr.Map(lambda x: [x])
    with pytest.raises(hr.MutationError) as found, TestPipeline() as p:
        _ = p | hr.Create([1, 2]) | made | "Change" >> hr.Map(list.clear)
    assert found.value.where == "Change"


class Nested(Shared):
    """Accumulators of two items, one of which is shared."""

    def create_accumulator(self) -> Any:
        return [0, self.values]

    def add_input(self, accumulator: Any, element: Any) -> Any:
        accumulator[1].append(element)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [0, [each for one in accumulators for each in one[1]]]

    def extract_output(self, accumulator: Any) -> Any:
        return len(accumulator[1])


class Reuses(Shared):
    """Keeps an object for the results of add_input."""

    def __init__(self) -> None:
        self.last: list[Any] = []

    def create_accumulator(self) -> list[Any]:
        return []

    def add_input(self, accumulator: list[Any], element: Any) -> list[Any]:
        self.last[:] = [*accumulator, element]
        return self.last


class MergesIntoOne(Reuses):
    def add_input(self, accumulator: list[Any], element: Any) -> list[Any]:
        return [*accumulator, element]

    def merge_accumulators(self, accumulators: Any) -> list[Any]:
        self.last[:] = super().merge_accumulators(accumulators)
        return self.last


class FirstInput(Shared):
    """The first input is the accumulator of the others."""

    def create_accumulator(self) -> Any:
        return None

    def add_input(self, accumulator: Any, element: Any) -> Any:
        if accumulator is None:
            return element
        accumulator.extend(element)
        return accumulator

    def add_inputs(self, accumulator: Any, elements: Any) -> Any:
        for element in [list(element) for element in elements]:
            accumulator = self.add_input(accumulator, element)
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [each for one in accumulators for each in one or []]


@MODES
@pytest.mark.parametrize("fn", [Shared, Nested, Reuses])
def test_accumulators_that_share_an_object(fn: Any, flags: tuple[str, ...]) -> None:
    with pytest.raises(
        hr.MutationError, match="add_input changed the accumulator of another"
    ) as found:
        apply(hr.CombinePerKey(fn()), flags)
    assert found.value.where == "Step"
    assert "when it was called with" in found.value.problem


def stream(*batches: Any) -> TestStream:
    stream = TestStream()
    for batch in batches:
        stream.add_elements(batch)
    return stream.advance_watermark_to_infinity()


def test_merged_accumulators_that_share_an_object() -> None:
    merged = stream([("a", 1)], [("a", 2)], [("b", 3)], [("b", 4)])
    with (
        pytest.raises(
            hr.MutationError, match="merge_accumulators changed the accumulator of another"
        ),
        TestPipeline() as p,
    ):
        _ = p | merged | hr.CombinePerKey(MergesIntoOne())


class State(hr.DoFn):
    """The state of each key is an accumulator."""

    def __init__(self, fn: Any) -> None:
        self.spec = CombiningValueStateSpec("all", combine_fn=fn)
        self.process = self.with_state(self.spec)  # type: ignore[method-assign]

    @staticmethod
    def with_state(spec: Any) -> Any:
        def process(element: Any, state: Any = hr.DoFn.StateParam(spec)) -> None:
            state.add(element[1])

        return process


@MODES
def test_the_accumulators_of_a_state(flags: tuple[str, ...]) -> None:
    with pytest.raises(
        hr.MutationError, match="add_input changed the accumulator of another"
    ) as found:
        apply(hr.ParDo(State(Shared())), flags)
    assert found.value.where == "Step"
    with pytest.raises(
        hr.MutationError, match=r"add_input changed an earlier input \[1\] to \[1, 2\]"
    ):
        apply(hr.ParDo(State(FirstInput())), flags, [("a", [1]), ("a", [2])])


class Pops(Reuses):
    add_input = MergesIntoOne.add_input

    def extract_output(self, accumulator: list[Any]) -> list[Any]:
        return [accumulator.pop()]


def test_extract_output_must_not_change_its_accumulator() -> None:
    with pytest.raises(
        hr.MutationError, match=r"extract_output changed its accumulator \[1, 2\] to \[1\]"
    ):
        apply(hr.CombinePerKey(Pops()), ())


def test_the_laws_of_transforms_find_it_and_shrink_it() -> None:
    with pytest.raises(LawBroken) as broken:
        check_streaming_equals_batch(hr.ParDo(Pairs()), [1, 2, 3], cases=20)
    assert broken.value.law == "values are not changed"
    assert broken.value.given.count("TimestampedValue") == 1


def test_the_laws_of_combine_fns_find_it() -> None:
    with pytest.raises(LawBroken, match="an accumulator shares nothing with other accumulators"):
        check_combine_fn(Reuses(), ["a"])
