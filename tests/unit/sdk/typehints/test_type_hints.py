"""Types of elements, as functions and transforms declare them, are compared while a pipeline is built."""

import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from types import GenericAlias
from typing import Any, Literal, NamedTuple, NewType, Protocol, TypedDict, TypeVar

import numpy as np
import pytest

import headrace as hr
from headrace import typehints
from headrace.options.pipeline_options import OptionsContext
from headrace.sdk.typehints.conformance import fault_of
from headrace.sdk.typehints.consistency import is_consistent
from headrace.sdk.typehints.hints import normalized
from headrace.typehints.row_type import RowTypeConstraint

T = TypeVar("T")
Text = TypeVar("Text", bound=str)
Either = TypeVar("Either", int, str)
Celsius = NewType("Celsius", float)


class Point(NamedTuple):
    x: int
    y: str


class Named(Protocol):
    name: str


class Options(TypedDict):
    size: int


class Base: ...


class Derived(Base): ...


def length(word: str) -> int:
    return len(word)


def words_of(line: str) -> Iterator[str]:
    yield from line.split()


def half(number: int) -> float:
    return number / 2


def swapped(pair: tuple[str, T]) -> tuple[T, str]:
    return pair[1], pair[0]


def numbers(*values):
    return hr.Pipeline() | hr.Create(list(values))


# Two types


CONSISTENT = [
    (int, int),
    (int, float),
    (bool, int),
    (np.int64, int),
    (np.float64, float),
    (Any, str),
    (str, Any),
    (str, object),
    (Derived, Base),
    (int, int | None),
    (None, int | None),
    (int | bool, int),
    (int, T),
    (T, int),
    (str, Text),
    (int, Either),
    (int, Celsius),
    (tuple[str, int], tuple[str, float]),
    (tuple[int, int], tuple[int, ...]),
    (tuple[int, ...], tuple[int, int]),
    (tuple[str, int], tuple),
    (Point, tuple[int, str]),
    (Point, Point),
    (list, list[int]),
    (list[int], Sequence[int]),
    (list[bool], Iterable[int]),
    (dict[str, int], Mapping[str, float]),
    (dict[str, int], Options),
    (str, Iterable[str]),
    (Literal[1, 2], int),
    (Base, Named),
    (typing.List[int], list[int]),  # noqa: UP006
    (typehints.KV[str, int], typehints.Tuple[str, int]),
    (RowTypeConstraint.from_fields([("x", int), ("y", str)]), Point),
    (int, "a name that is not known"),
]

INCONSISTENT = [
    (int, str),
    (float, int),
    (str, bytes),
    (Decimal, float),
    (Base, Derived),
    (int | None, int),
    (int | str, int),
    (int, Text),
    (float, Either),
    (tuple[str, int], tuple[str, str]),
    (tuple[str, int], tuple[str, int, int]),
    (tuple[int, str], tuple[int, ...]),
    (Point, tuple[int, int]),
    (list[str], list[int]),
    (list[int], tuple[int, ...]),
    (dict[str, str], dict[str, int]),
    (str, Iterable[int]),
    (int, Iterable[int]),
    (Literal["a"], int),
    (RowTypeConstraint.from_fields([("x", str)]), RowTypeConstraint.from_fields([("x", int)])),
]


@pytest.mark.parametrize(("given", "wanted"), CONSISTENT)
def test_types_that_suit(given, wanted) -> None:
    assert is_consistent(normalized(given), normalized(wanted))


@pytest.mark.parametrize(("given", "wanted"), INCONSISTENT)
def test_types_that_do_not_suit(given, wanted) -> None:
    assert not is_consistent(normalized(given), normalized(wanted))


@pytest.mark.parametrize(
    ("value", "hint", "fault"),
    [
        (1, float, ""),
        ("a", int, "it is 'a', not int"),
        (None, int | None, ""),
        (None, int, "it is None, not int"),
        ((1, "a"), tuple[int, str], ""),
        ((1, 2, 3), tuple[int, int], "it has 3 items, not 2"),
        ([[1], ["a"]], list[list[int]], "in item 1, item 0 is 'a', not int"),
        ({"a": "b"}, dict[str, int], "the value of 'a' is 'b', not int"),
        ({1: "b"}, dict[str, str], "a key is 1, not str"),
        (iter(["a"]), Iterable[int], ""),
        (1, Text, "it is 1, not str"),
        ("b", Literal["a"], "it is 'b', not Literal['a']"),
        (Point("a", "b"), Point, ""),  # type: ignore[arg-type]
        (hr.Row(x="a"), RowTypeConstraint.from_fields([("x", int)]), "field 'x' is 'a', not int"),
        (hr.Row(y=1), RowTypeConstraint.from_fields([("x", int)]), "it has no field 'x'"),
    ],
)
def test_whether_a_value_is_of_a_type(value, hint, fault) -> None:
    assert fault_of(value, hint) == fault


# Functions and DoFns


class Typed(hr.DoFn):
    def process(self, element: int, factor: float = 1) -> Iterator[str]:
        yield str(element * factor)


@typehints.with_input_types(int)
@typehints.with_output_types(str)
class Declared(hr.DoFn):
    def process(self, element):
        yield str(element)


@typehints.with_input_types(int, times=int)
def repeated(element, times):
    return element * times


MISTAKES = [
    (hr.Map(length), "Map(length) requires elements of type str"),
    (hr.FlatMap(words_of), "FlatMap(words_of) requires elements of type str"),
    (hr.Filter(length), "Filter(length) requires elements of type str"),
    (hr.Map(str.upper), "Map(upper) requires elements of type str"),
    (hr.WithTimestamps(length), "WithTimestamps(length) requires elements of type str"),
    (hr.ParDo(Typed()) | "twice" >> hr.ParDo(Typed()), "ParDo(Typed) requires elements of type int"),  # type: ignore[operator]
    (hr.ParDo(Declared()) | "again" >> hr.ParDo(Declared()), "ParDo(Declared) requires elements of"),
    (hr.Map(half) | "name" >> hr.Map(length), "Map(length) requires elements of type str, but was "  # type: ignore[operator]
     "applied to elements of type float"),
    (hr.Map(repeated, "3"), "Map(repeated) requires int but got str for the argument times"),
    (hr.Map(repeated, times="3"), "Map(repeated) requires int but got str for the argument times"),
    (hr.ParDo(Typed(), factor="2"), "ParDo(Typed) requires float but got str for the argument factor"),
    (hr.Map(lambda x: x).with_input_types(str), "requires elements of type str"),
    (hr.Map(lambda x: x).with_output_types(str) | hr.Map(half), "Map(half) requires elements of type"),
    (hr.WithKeys("k") | hr.MapTuple(lambda k, v: v) | hr.Map(half), None),
    (hr.Map(half) | hr.GroupByKey(), "of type float, but a grouping needs (key, value) pairs"),  # type: ignore[operator]
]  # fmt: skip


@pytest.mark.parametrize(("steps", "problem"), MISTAKES)
def test_elements_and_arguments_of_another_type_are_refused(steps, problem) -> None:
    if problem is None:
        numbers(1, 2) | steps
        return
    with pytest.raises(hr.TypeCheckError) as error:
        numbers(1, 2) | steps
    assert problem in str(error.value)
    assert error.value.where
    assert error.value.remedy


def test_side_inputs_have_types() -> None:
    def joined(word: str, others: list[str]) -> str:
        return word + "".join(others)

    p = hr.Pipeline()
    words = p | "words" >> hr.Create(["a"])
    words | hr.Map(joined, hr.AsList(words))
    ints = p | "ints" >> hr.Create([1])
    with pytest.raises(hr.TypeCheckError, match=r"requires list\[str\] but got list\[int\]"):
        words | "bad" >> hr.Map(joined, hr.AsList(ints))  # type: ignore[call-overload]


def test_the_items_of_tuples_are_checked() -> None:
    def of(key: str, value: int) -> str:
        return key * value

    pairs = hr.Pipeline() | hr.Create([(1, "a")])
    with pytest.raises(hr.TypeCheckError, match="an item 0 of type str, but was applied to"):
        pairs | hr.MapTuple(of)  # type: ignore[arg-type]


def test_type_variables_stand_for_the_type_of_the_input() -> None:
    pairs = hr.Pipeline() | hr.Create([("a", 1)])
    assert (pairs | hr.Map(swapped)).element_type == tuple[int, str]


def test_the_type_of_many_tuples_is_that_of_all():
    pairs = [("a", 1)] * 5_000
    assert numbers(*pairs).element_type == tuple[str, int]
    assert numbers(*pairs, ("a", None)).element_type == tuple[str, Any]
    assert numbers(*pairs, ("a", 1, 2)).element_type is tuple


def test_the_items_of_many_lists_are_those_of_a_sample():
    lists = [[1]] * 999
    assert numbers(*lists, [None]).element_type is list
    assert numbers(*lists * 100, [None]).element_type == list[int]
    assert numbers(*lists * 100, {None}).element_type is Any
    dicts = [{"a": 1}] * 999
    assert numbers(*dicts, {"a": None}).element_type == dict[str, Any]
    assert numbers(*dicts * 100, {"a": None}).element_type == dict[str, int]


def test_a_filter_may_remove_members_of_a_union() -> None:
    def maybe(number: int) -> int | None:
        return number or None

    optional = numbers(1) | hr.Map(maybe)
    optional | hr.Filter(lambda n: n is not None) | hr.Map(half)
    with pytest.raises(hr.TypeCheckError, match=r"elements of type int \| None"):
        optional | "unfiltered" >> hr.Map(half)


def test_outputs_with_tags_and_timestamps_have_the_types_of_their_values() -> None:
    def parsed(
        number: int,
    ) -> Iterator[hr.TimestampedValue[str] | hr.TaggedOutput[Literal["bad"], float]]:
        yield hr.TimestampedValue(str(number), 0)

    outputs = numbers(1) | hr.ParDo(parsed).with_outputs("bad", main="good")
    assert (outputs.good.element_type, outputs.bad.element_type) == (str, float)


@pytest.mark.parametrize("result", [int, str, dict[str, int], int | None])
def test_a_result_that_is_not_iterable_is_refused(result) -> None:
    def one(number: int):
        return number

    one.__annotations__["return"] = result
    for step in (hr.ParDo(one), hr.FlatMap(one)):
        with pytest.raises(
            hr.TypeCheckError, match=r"one: .* is not iterable, or is a single output"
        ):
            numbers(1) | step
    numbers(1) | hr.Map(one)


def test_annotations_that_are_not_to_be_used() -> None:
    def wrong(number: str) -> str:
        return number

    assert [1] | hr.Map(typehints.decorators.no_annotations(wrong)) == [1]


def test_hints_of_an_object_take_precedence() -> None:
    dofn = Declared().with_input_types(str).with_output_types(int)
    assert dofn.get_type_hints().input_types == ((str,), {})
    assert hr.ParDo(dofn).get_type_hints().output_types == ((int,), {})
    assert Declared().get_type_hints().input_types == ((int,), {})


# CombineFns


class TotalLength(hr.CombineFn):
    def create_accumulator(self) -> int:
        return 0

    def add_input(self, total: int, word: str) -> int:
        return total + len(word)

    def merge_accumulators(self, totals: Iterable[int]) -> int:
        return sum(totals)

    def extract_output(self, total: int) -> int:
        return total


def longest(words: Iterable[str]) -> str:
    return max(words, key=len)


@pytest.mark.parametrize("fn", [TotalLength(), longest])
@pytest.mark.parametrize(
    ("combine", "good", "bad", "result"),
    [
        (hr.CombineGlobally, "a", 1, lambda kind: kind),
        (hr.CombinePerKey, ("k", "a"), ("k", 1), lambda kind: GenericAlias(tuple, (str, kind))),
        (hr.CombineValues, ("k", ["a"]), ("k", [1]), lambda kind: GenericAlias(tuple, (Any, kind))),
    ],
)
def test_combine_fns_have_types(fn, combine, good, bad, result) -> None:
    kind = int if isinstance(fn, TotalLength) else str
    assert (numbers(good) | combine(fn)).element_type == result(kind)
    with pytest.raises(hr.TypeCheckError, match=f"the input of {combine.__name__}"):
        numbers(bad) | combine(fn)


def test_declared_types_of_a_combine_fn_have_precedence() -> None:
    @typehints.with_input_types(float)
    class Declared(TotalLength):
        pass

    numbers(0.5) | hr.CombineGlobally(Declared())
    numbers(1) | hr.CombineGlobally(TotalLength().with_input_types(int))
    with pytest.raises(hr.TypeCheckError, match="expected float, got str"):
        numbers("a") | hr.CombineGlobally(Declared())


# Composites


class Doubled(hr.PTransform):
    def expand(self, pcoll: hr.PCollection[int]) -> hr.PCollection[int]:
        return pcoll | hr.Map(lambda x: 2 * x)


def test_the_annotations_of_expand_are_checked() -> None:
    assert (numbers(1) | Doubled()).element_type is int
    with pytest.raises(
        hr.TypeCheckError, match="the input of Doubled has another type than declared"
    ):
        numbers("a") | "step" >> Doubled()


def test_the_output_of_a_composite_is_checked() -> None:
    class Wrong(hr.PTransform):
        def expand(self, pcoll) -> hr.PCollection[str]:
            return pcoll | hr.Map(half)

    with pytest.raises(hr.TypeCheckError, match=r"the output of Wrong .* expected str, got float"):
        numbers(1) | Wrong()


def test_several_inputs_have_types_by_place_or_by_name() -> None:
    class Both(hr.PTransform):
        def expand(self, pcolls):
            return pcolls["left"]

    p = hr.Pipeline()
    both = {"left": p | "l" >> hr.Create([1]), "right": p | "r" >> hr.Create(["a"])}
    both | Both().with_input_types(left=int, right=str)
    with pytest.raises(hr.TypeCheckError, match="the input 'right' of Both"):
        both | "again" >> Both().with_input_types(right=int)
    with pytest.raises(hr.TypeCheckError, match="the input 1 of Flatten"):
        tuple(both.values()) | hr.Flatten().with_input_types(int, int)


def test_a_function_that_makes_a_transform_has_types() -> None:
    @hr.ptransform_fn
    @typehints.with_input_types(int)
    def Same(pcoll):
        return pcoll | hr.Map(lambda x: x)

    numbers(1) | Same()
    with pytest.raises(hr.TypeCheckError, match="expected int, got str"):
        numbers("a") | Same()


# Options


@pytest.mark.parametrize("wrong", [hr.Map(length), hr.Map(half) | hr.GroupByKey(), Doubled()])  # type: ignore[operator]
def test_the_checks_can_be_turned_off(wrong) -> None:
    p = hr.Pipeline(argv=["--no_pipeline_type_check"])
    p | hr.Create([1, "a"]) | hr.Map(lambda x: x).with_output_types(int) | wrong


def test_options_of_implicit_pipelines() -> None:
    with OptionsContext(pipeline_type_check=False):
        assert ["a"] | hr.Map(typehints.with_input_types(int)(lambda x: x)) == ["a"]

    @OptionsContext(pipeline_type_check=False)
    def run():
        return ["a"] | hr.Map(half)

    with pytest.raises(TypeError, match="unsupported operand"):
        run()
    with pytest.raises(hr.TypeCheckError):
        ["a"] | hr.Map(half)


def test_annotations_that_say_nothing_of_elements_are_ignored() -> None:
    def text(element: "Unknown") -> "Unknown too": ...  # type: ignore  # noqa: F722, F821

    def number(element: 5) -> 7: ...  # type: ignore

    def final(element: typing.Annotated[int, "metres"]) -> typing.Final: ...  # type: ignore

    def function(element: int) -> typing.Callable[[int], str]: ...  # type: ignore

    for step in (text, number, final, function):
        assert [1] | hr.Map(step) == [None]
