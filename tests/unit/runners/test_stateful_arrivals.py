"""Elements of a stateful DoFn by key, and the outputs of its calls."""

from itertools import repeat
from typing import Any

import pytest

import headrace as hr
from headrace.errors import ElementError
from headrace.grouping.bundle import Bundle
from headrace.runners.stateful.stateful_arrivals import KeyedElements
from headrace.sdk.pardo.state.state_cells import CombiningValueState
from headrace.testing.util import assert_that, equal_to
from headrace.transforms.userstate import CombiningValueStateSpec


def by_key(*bundles: Bundle) -> dict[Any, list[tuple[Any, int]]]:
    elements = KeyedElements()
    for bundle in bundles:
        elements.add(bundle)
    return {
        key: [(row.value[1], row.timestamp) for row in found.rows()]
        for key, found in elements.drain()
    }


def at(time: Any, *values: Any) -> Bundle:
    return Bundle(list(values), time)


ONE, TWO = ("k", 1), ("l", 2)


@pytest.mark.parametrize("first", [repeat(5), [5, 5]])
@pytest.mark.parametrize("then", [repeat(5), repeat(6), [6, 7]])
def test_each_element_keeps_its_metadata_and_its_place(first: Any, then: Any) -> None:
    times = [*zip(range(2), then, strict=False)]
    found = by_key(at(first, ONE, TWO), at(then, TWO, ONE), at(repeat(5), ("k", 3)))
    assert found == {
        "k": [(1, 5), (1, times[1][1]), (3, 5)],
        "l": [(2, 5), (2, times[0][1])],
    }


def test_elements_are_given_once() -> None:
    elements = KeyedElements()
    elements.add(at(repeat(5), ONE))
    assert len(list(elements.drain())) == 1
    elements.add(at(repeat(6), TWO))
    assert [(key, next(iter(found.timestamps))) for key, found in elements.drain()] == [("l", 6)]


@pytest.mark.parametrize("time", [repeat(5), [5, 5]])
def test_keys_of_different_types_are_different_keys(time: Any) -> None:
    assert len(by_key(at(time, (1, "a"), (True, "b")))) == 2


@pytest.mark.parametrize("value", ["no", ["k", 1], ("k", 1, 2)])
def test_only_pairs_have_a_key(value: Any) -> None:
    with pytest.raises(ElementError, match="is not a"):
        by_key(at([5, 5], ONE, value))


class Total(hr.DoFn):
    """Returns the sum so far in several forms; fails if it is 4."""

    TOTAL = CombiningValueStateSpec("total", sum)

    def process(self, element: Any, total: Any = hr.DoFn.StateParam(TOTAL)) -> Any:
        total.add(element[1])
        if total.read() == 4:
            raise ValueError("unlucky")
        return {1: None, 2: "text", 3: [3, 3], 6: iter([6])}[total.read()]


def totals(*numbers: int) -> None:
    with hr.Pipeline(argv=[]) as p:
        rows = [("k", number) for number in numbers]
        assert_that(p | hr.Create(rows) | "here" >> hr.ParDo(Total()), equal_to([3, 3, 6]))


def test_each_call_returns_any_iterable_or_none() -> None:
    totals(1, 2, 3)


def test_each_result_is_checked() -> None:
    with pytest.raises(ElementError, match="'text', which is a single str"):
        totals(1, 1)


def test_an_error_names_the_element_of_its_call() -> None:
    with pytest.raises(ValueError, match="unlucky") as found:
        totals(3, 1, 5)
    assert found.value.__notes__ == ["on the element ('k', 1)", "in here"]


def test_a_sum_is_that_of_its_combine_fn() -> None:
    spec = CombiningValueStateSpec("total", sum)
    fast, plain = spec.new_cell(), CombiningValueState(spec.combine_fn)
    assert type(fast) is not type(plain)
    for cell in (fast, plain):
        assert (cell.read(), cell.is_empty, cell.written) == (0, True, False)
        cell.add(True)
        cell.add(1.5)
        assert (cell.read(), cell.is_empty, cell.written) == (2.5, False, True)
        other = spec.new_cell()
        other.thaw(cell.freeze())
        other.add(1)
        assert other.read() == 3.5
        cell.clear()
        assert (cell.read(), cell.is_empty, cell.written) == (0, True, True)


def test_other_combine_fns_have_no_cell_of_their_own() -> None:
    cell = CombiningValueStateSpec("number", hr.combiners.CountCombineFn()).new_cell()
    cell.add("a")
    assert cell.read() == 1
