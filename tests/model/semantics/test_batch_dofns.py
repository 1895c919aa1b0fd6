"""DoFns that take lists or arrays of elements at once, or emit them."""

from collections.abc import Iterator

import numpy as np
import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    watermark,
    words,
)


class Lengths(hr.DoFn):
    """Emits each number with the number of elements in its batch."""

    def process_batch(self, batch: list[int]) -> Iterator[list[tuple[int, int]]]:
        yield [(number, len(batch)) for number in batch]


class Scaled(hr.DoFn):
    def process_batch(self, batch: np.ndarray, factor) -> Iterator[np.ndarray]:
        assert isinstance(batch, np.ndarray)
        yield batch * factor


class Totals(hr.DoFn):
    """Takes batches, and emits elements."""

    @hr.DoFn.yields_elements
    def process_batch(self, batch: list[int], time=hr.DoFn.TimestampParam):
        yield sum(batch), float(time)


class Repeated(hr.DoFn):
    """Takes elements, and emits batches, one of which has a tag."""

    @hr.DoFn.yields_batches
    def process(self, number: int) -> Iterator[list[int] | hr.TaggedOutput]:
        yield [number] * number
        yield hr.TaggedOutput("again", [number])


class Upper(hr.DoFn):
    """Has both methods, of which that for batches is called."""

    def process(self, pair):
        raise AssertionError("not called")

    def process_batch(self, batch: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
        yield [(key, word.upper()) for key, word in batch]


@pytest.mark.mode("batch")
def test_batches_are_lists_or_arrays_and_come_out_as_elements(runner):
    with TestPipeline(runner=runner) as p:
        numbers = p | hr.Create([1, 2, 3])
        factor = p | "factor" >> hr.Create([10])
        repeated = numbers | hr.ParDo(Repeated()).with_outputs("again", main="main")
        found = [
            capture(numbers | hr.ParDo(Scaled(), 2), "scaled"),
            capture(numbers | "with side" >> hr.ParDo(Scaled(), hr.AsSingleton(factor)), "side"),
            capture(repeated.main, "main"),
            capture(repeated.again, "again"),
        ]
    assert [sorted(each.values) for each in found] == [
        [2, 4, 6],
        [10, 20, 30],
        [1, 2, 2, 3, 3, 3],
        [1, 2, 3],
    ]
    assert {type(value) for value in found[0].values} == {int}


@pytest.mark.mode("batch")
def test_elements_of_a_batch_have_the_same_timestamp(runner):
    stamped = [hr.TimestampedValue(n, t) for n, t in [(1, 5), (2, 6), (3, 5)]]
    with TestPipeline(runner=runner) as p:
        one_bundle = p | hr.Create(stamped) | hr.Reshuffle(num_buckets=1)
        totals = capture(one_bundle | hr.ParDo(Totals()))
    by_time = {time: 0 for _, time in totals.values}
    for total, time in totals.values:
        by_time[time] += total
    assert by_time == {5.0: 4, 6.0: 2}
    assert {float(e.timestamp) for e in totals.elements} == {5.0, 6.0}


def test_windows_panes_and_retractions_pass_through_batches(play):
    events = [arrive(at(1, "a"), at(12, "b")), watermark(10), arrive(at(13, "c")), END]
    played = play(events, into(FIXED, EACH, RETRACTING, 20), words(), hr.ParDo(Upper()))
    plain = play(events, into(FIXED, EACH, RETRACTING, 20), words(), hr.MapTuple(_upper))
    assert sorted(played.windows) == sorted(plain.windows)
    assert "-B" in played.values


def _upper(key, word):
    return key, word.upper()


def test_the_type_of_the_elements_is_known() -> None:
    numbers = hr.Pipeline() | hr.Create([1])
    assert (numbers | hr.ParDo(Lengths())).element_type == tuple[int, int]
    assert (numbers | hr.ParDo(Repeated())).element_type is int


class Unannotated(hr.DoFn):
    def process_batch(self, batch):
        yield batch


class Keyed(hr.DoFn):
    def process_batch(self, batch: list[int], key=hr.DoFn.KeyParam):
        yield batch


class Torn(hr.DoFn):
    def process(self, number: int) -> Iterator[float]:
        yield number / 2

    def process_batch(self, batch: list[int]) -> Iterator[list[str]]:
        yield list(map(str, batch))


class Sets(hr.DoFn):
    def process_batch(self, batch: set[int]) -> Iterator[set[int]]:
        yield batch


@pytest.mark.parametrize(
    ("dofn", "problem"),
    [
        (Unannotated(), "Unannotated.process_batch has no annotation of its first parameter"),
        (Keyed(), "Keyed.process_batch asks for DoFn.KeyParam, which a batch does not have"),
        (
            Torn(),
            r"Torn emits different types from its two methods: process: float, process_batch: ",
        ),
        (
            Sets(),
            r"the input of Sets.process_batch is set\[int\], which is not a known type of batches",
        ),
    ],
)
def test_a_dofn_with_unclear_batches_is_refused(dofn, problem) -> None:
    numbers = hr.Pipeline() | hr.Create([1])
    with pytest.raises(hr.PipelineError, match=problem) as error:
        numbers | "step" >> hr.ParDo(dofn)
    assert error.value.where == "step"


def test_elements_that_do_not_fit_are_refused() -> None:
    with pytest.raises(
        hr.TypeCheckError, match=r"is list\[int\], but the elements are of type str"
    ):
        hr.Pipeline() | hr.Create(["a"]) | hr.ParDo(Lengths())


def test_exception_handling_of_batches_is_refused() -> None:
    with pytest.raises(hr.UnsupportedError, match="Lengths processes batches"):
        hr.ParDo(Lengths()).with_exception_handling()


def test_an_output_that_is_not_a_batch_is_an_error() -> None:
    class Wrong(hr.DoFn):
        def process_batch(self, batch: list[int]):
            yield 5

    with pytest.raises(hr.ElementError, match="emitted 5, which is not a batch") as error:
        [1] | hr.ParDo(Wrong())
    assert error.value.where == "ParDo(Wrong)"


def test_a_batch_has_a_maximum_size() -> None:
    assert {size for _, size in range(10_000) | hr.ParDo(Lengths())} == {4_096, 1_808}
