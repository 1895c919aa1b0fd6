"""check_combine_fn passes what is sound, and says of the rest which law it breaks, with which inputs."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import headrace as hr
from headrace.testing.laws import LawBroken, check_combine_fn
from headrace.testing.strategies import Largest, combine_fns
from headrace.transforms.combiners import CountCombineFn, MeanCombineFn, ToSetCombineFn


class Total(hr.CombineFn):
    """A sum, to be spoilt."""

    def create_accumulator(self) -> Any:
        return [0]

    def add_input(self, accumulator: Any, element: Any) -> Any:
        accumulator[0] += element
        return accumulator

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [sum(a[0] for a in accumulators)]

    def extract_output(self, accumulator: Any) -> Any:
        return accumulator[0]

    def subtract_input(self, accumulator: Any, element: Any) -> Any:
        accumulator[0] -= element
        return accumulator


class DependsOnOrder(Total):
    subtract_input = None  # type: ignore[assignment]

    def add_input(self, accumulator: Any, element: Any) -> Any:
        accumulator[0] = 2 * accumulator[0] + element
        return accumulator


class AddsTogetherOtherwise(Total):
    def add_inputs(self, accumulator: Any, elements: Any) -> Any:
        return [sum(set(elements))]


class ForgetsTheThird(Total):
    def merge_accumulators(self, accumulators: Any) -> Any:
        return [sum(a[0] for a in list(accumulators)[:2])]


class PrefersTheFirst(Total):
    """Right for three and for nothing in front or behind, but not for two."""

    def merge_accumulators(self, accumulators: Any) -> Any:
        found = [a[0] for a in accumulators]
        return [sum(found) + (found[0] > 7 > found[1] > 0 if len(found) == 2 else 0)]


class CountsMerges(Total):
    """Adds one where the first has been merged before."""

    def merge_accumulators(self, accumulators: Any) -> Any:
        first, *others = accumulators
        return [sum(a[0] for a in [first, *others]) + len(first) - 1, "merged"]


class StartsAtOne(Total):
    def merge_accumulators(self, accumulators: Any) -> Any:
        found = list(accumulators)
        extra = 1 if len(found) == 2 and [0] in found else 0
        return [sum(a[0] for a in found) + extra]


class Unpicklable(Total):
    def create_accumulator(self) -> Any:
        return Forgetful([0])


class Forgetful(list):
    def __reduce__(self) -> Any:
        return Forgetful, ([0],)


class CompactsTooMuch(Total):
    def compact(self, accumulator: Any) -> Any:
        return [accumulator[0] + 1]


class CompactsIntoSomethingElse(Total):
    def compact(self, accumulator: Any) -> Any:
        return [accumulator[0], "compact"]

    def merge_accumulators(self, accumulators: Any) -> Any:
        return [sum(a[0] for a in accumulators if len(a) == 1)]


class UsesUp(Total):
    def extract_output(self, accumulator: Any) -> Any:
        found, accumulator[0] = accumulator[0], 0
        return found


class SubtractsTooMuch(Total):
    def subtract_input(self, accumulator: Any, element: Any) -> Any:
        return [accumulator[0] - element - 1]


class NeverBelowZero(Total):
    def subtract_input(self, accumulator: Any, element: Any) -> Any:
        return [max(accumulator[0] - element, 0)]


SPOILT = {
    DependsOnOrder: "inputs can be added in any order",
    AddsTogetherOtherwise: "add_inputs is equivalent to repeated add_input",
    ForgetsTheThird: "merging accumulators is equivalent to adding all inputs",
    PrefersTheFirst: "merging is commutative",
    CountsMerges: "merging is associative",
    StartsAtOne: "the empty accumulator is the identity of merging",
    Unpicklable: "pickling preserves an accumulator",
    CompactsTooMuch: "compact does not change the result",
    CompactsIntoSomethingElse: "compacted accumulators can be merged",
    UsesUp: "extract_output does not change the accumulator",
    SubtractsTooMuch: "subtract_input undoes add_input",
    NeverBelowZero: "an input can be subtracted before it is added",
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", SPOILT, ids=lambda kind: kind.__name__)
def test_a_law_that_is_broken_is_named(kind: type[Total]) -> None:
    with pytest.raises(LawBroken, match=re.escape(SPOILT[kind])) as raised:
        check_combine_fn(kind(), [1, 2, 3, 8])
    assert raised.value.law == SPOILT[kind]
    assert f"for: {kind.__name__} and the inputs [[" in str(raised.value)
    assert "expected: " in str(raised.value)
    assert "what to do: " in str(raised.value)


def test_the_smallest_inputs_are_shown() -> None:
    with pytest.raises(LawBroken) as raised:
        check_combine_fn(SubtractsTooMuch(), st.integers(0, 100))
    assert "the inputs [[], [0], []]" in str(raised.value)
    assert raised.value.sides == {"added and subtracted": -1, "expected": 0}


def test_inputs_that_are_changed_are_noticed() -> None:
    class Sorts(Total):
        def add_input(self, accumulator: Any, element: Any) -> Any:
            element.sort()
            return [accumulator[0] + sum(element)]

        subtract_input = None  # type: ignore[assignment]

    with pytest.raises(LawBroken, match="values are not changed"):
        check_combine_fn(Sorts(), st.lists(st.integers(0, 3), min_size=2).map(list))


@pytest.mark.parametrize("fn", [Total(), sum, max, Largest(), CountCombineFn(), MeanCombineFn()])
def test_what_is_sound_passes(fn: Any) -> None:
    check_combine_fn(fn, [1, 2, 3, 8], equal=same)


def test_results_are_compared_as_is_asked() -> None:
    check_combine_fn(
        sum, st.floats(0, 1), equal=lambda one, two: math.isclose(one, two, abs_tol=1e-6)
    )
    check_combine_fn(ToSetCombineFn(), ["a", "b"])


def same(one: Any, two: Any) -> bool:
    """The mean of nothing is NaN."""
    return repr(one) == repr(two)


@settings(max_examples=30, suppress_health_check=[HealthCheck.nested_given])
@given(combine_fns())
def test_the_combine_fns_that_are_drawn_are_sound(fn: hr.CombineFn) -> None:
    check_combine_fn(fn, [1, 2, 3], equal=same, cases=10)
