"""Records of four kinds: rows, named tuples, dataclasses and attrs classes, whose fields have names."""

import copy
import pickle
from dataclasses import dataclass
from datetime import date
from typing import Any, NamedTuple

import attrs
import pytest

import headrace as hr
from headrace.sdk.coders.keys import encode_key
from headrace.sdk.elements.schemas import Schema, checked_records, records_of, schema_of
from headrace.testing import TestPipeline, assert_that, equal_to, row_namedtuple_equals_fn
from tests.unit.sdk.io.files import Kept, pipeline


class Tupled(NamedTuple):
    mill: str
    turns: int
    flour: float = 0.5


@dataclass(frozen=True)
class Data:
    mill: str
    turns: int
    flour: float = 0.5


@attrs.frozen
class Attrs:
    mill: str
    turns: int
    flour: float = 0.5


KINDS: tuple[Any, ...] = (hr.Row, Tupled, Data, Attrs)
WRONG: Any = 3
FIELDS = [("north", 3, 1.5), ("south", 1, 0.5), ("north", 4, 2.5)]


def records(kind: Any) -> list[Any]:
    return [kind(mill=mill, turns=turns, flour=flour) for mill, turns, flour in FIELDS]


def odd(record: Any) -> bool:
    return bool(record.turns % 2)


# ------------------------------------------------------------------------------------- on each runner


def steps(p: Any, kind: Any) -> dict[str, Any]:
    """What the transforms make of records of a kind, by name."""
    name = kind.__name__
    found = p | name >> hr.Create(
        [hr.window.TimestampedValue(record, 5) for record in records(kind)]
    )
    found = found | f"{name} in windows" >> hr.WindowInto(hr.window.FixedWindows(60))
    totals = hr.GroupBy("mill", odd=odd).aggregate_field("turns", sum, "turns")
    totals = totals.aggregate_field(lambda record: record.flour, max, "most")
    pairs = found | f"{name} as keys" >> hr.Map(lambda record: (record, record.turns))
    return {
        "groups": found
        | f"{name} by mill" >> hr.GroupBy("mill")
        | f"{name} sizes" >> hr.MapTuple(sizes),
        "all": found | f"{name} all" >> hr.GroupBy() | f"{name} size" >> hr.MapTuple(sizes),
        "totals": found | f"{name} totals" >> totals,
        "most": found | f"{name} most" >> hr.GroupBy().aggregate_field("flour", max, "most"),
        "selected": found | f"{name} selected" >> hr.Select("mill", odd, twice=twice),
        "keys": pairs | f"{name} sums" >> hr.CombinePerKey(sum),
        "again": found
        | f"{name} totals by mill" >> hr.GroupBy("mill").aggregate_field("turns", sum, "n")
        | f"{name} n" >> hr.Select("n"),
    }


def twice(record: Any) -> int:
    return 2 * int(record.turns)


def sizes(key: Any, group: list[Any]) -> tuple[Any, Any]:
    return key, (type(group[0]).__name__, sorted(record.turns for record in group))


EXPECTED: dict[str, list[str]] = {
    "groups": ["('north', ('{}', [3, 4]))", "('south', ('{}', [1]))"],
    "all": ["(Key(), ('{}', [1, 3, 4]))"],
    "totals": [
        "Result(mill='north', odd=False, turns=4, most=2.5)",
        "Result(mill='north', odd=True, turns=3, most=1.5)",
        "Result(mill='south', odd=True, turns=1, most=0.5)",
    ],
    "most": ["Result(most=2.5)"],
    "selected": [
        "Row(mill='north', arg01=False, twice=8)",
        "Row(mill='north', arg01=True, twice=6)",
        "Row(mill='south', arg01=True, twice=2)",
    ],
    "keys": [
        "({}(mill='north', turns=3, flour=1.5), 3)",
        "({}(mill='north', turns=4, flour=2.5), 4)",
        "({}(mill='south', turns=1, flour=0.5), 1)",
    ],
    "again": ["Row(n=1)", "Row(n=7)"],
}


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_records_of_all_kinds_on_each_runner(runner: Any, mode: str) -> None:
    found: dict[tuple[str, str], list[tuple[Any, float]]] = {}
    with pipeline(runner, mode) as p:
        for kind in KINDS:
            for name, result in steps(p, kind).items():
                kept = found[kind.__name__, name] = []
                _ = result | f"keep {kind.__name__} {name}" >> hr.Write(Kept(kept))
    shown = {key: sorted(repr(value) for value, _ in kept) for key, kept in found.items()}
    assert shown == {
        (kind.__name__, name): [text.format(kind.__name__) for text in texts]
        for kind in KINDS
        for name, texts in EXPECTED.items()
    }


# ------------------------------------------------------------------------------------ while it is built


def element_type(values: Any) -> Any:
    return (hr.Pipeline(argv=[]) | hr.Create(values)).element_type


def test_the_schema_of_rows_is_that_of_their_values() -> None:
    rows = [hr.Row(a=1, b="x", c=None, d=1), hr.Row(a=None, b="y", c=None, d="z")]
    assert str(element_type(rows)) == "Row(a: int | None, b: str, c: Any, d: Any)"
    assert element_type([hr.Row(a=1), hr.Row(b=1)]) is hr.Row
    assert str(element_type([hr.Row(a=hr.Row(b=1))])) == "Row(a: Row(b: int))"


def test_schemas_of_classes() -> None:
    for kind in KINDS[1:]:
        schema = schema_of(kind)
        assert schema == Schema(kind, (("mill", str), ("turns", int), ("flour", float)))
    for other in (hr.Row, int, tuple, dict, Any, list[int]):
        assert schema_of(other) is None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "transform",
    [
        hr.Select("turn"),
        hr.GroupBy("turn"),
        hr.GroupBy("mill", other="turn"),
        hr.GroupBy("mill").aggregate_field("turn", sum, "total"),
        hr.GroupBy().aggregate_field("turn", sum, "total"),
    ],
    ids=lambda transform: transform.label,
)
def test_an_unknown_field_is_refused_while_the_pipeline_is_built(kind: Any, transform: Any) -> None:
    p = hr.Pipeline(argv=[])
    kept = p | hr.Create(records(kind)) | hr.Filter(odd) | hr.WindowInto(hr.window.FixedWindows(1))
    with pytest.raises(hr.PipelineError) as error:
        _ = kept | "Wrong" >> transform
    assert (
        error.value.problem
        == "the elements of PCollection[WindowInto(FixedWindows)] have no field 'turn'"
    )
    assert error.value.where == "Wrong"
    assert error.value.remedy == "use one of mill, turns, flour, or a function of the element"


def test_declared_types_and_results_have_schemas() -> None:
    p = hr.Pipeline(argv=[])
    declared = p | hr.Create([1]) | hr.Map(lambda n: Tupled("a", n)).with_output_types(Tupled)
    totals = declared | hr.GroupBy("mill").aggregate_field("turns", sum, "n")
    selected = totals | hr.Select("mill", total="n", size=len)
    assert str(totals.element_type) == "Result(mill: str, n: int)"
    assert str(selected.element_type) == "Row(mill: str, total: int, size: Any)"
    with pytest.raises(hr.PipelineError, match="have no field 'n'"):
        _ = selected | hr.GroupBy("n")


def test_fields_of_fields_and_attributes_that_are_not_fields() -> None:
    class Measured(NamedTuple):
        step: Tupled

        @property
        def total(self) -> float:
            return self.step.turns * self.step.flour

    p = hr.Pipeline(argv=[])
    measured = p | hr.Create([Measured(Tupled("north", 2))])
    selected = measured | hr.Select("total", mill="step.mill")
    assert str(selected.element_type) == "Row(total: Any, mill: str)"
    with pytest.raises(hr.PipelineError, match=r"have no field 'step\.mile'"):
        _ = measured | "Wrong" >> hr.Select("step.mile")


def test_rows_and_results_of_more_than_two_fields_are_not_pairs() -> None:
    p = hr.Pipeline(argv=[])
    rows: Any = p | hr.Create([hr.Row(a=1, b=2)])
    with pytest.raises(hr.PipelineError, match=r"are of type Row\(a: int, b: int\), but"):
        _ = rows | hr.GroupByKey()
    totals = rows | hr.GroupBy("a", "b").aggregate_field("a", sum, "n")
    with pytest.raises(hr.PipelineError, match="but a grouping needs"):
        _ = totals | "Again" >> hr.GroupByKey()
    _ = rows | "Two" >> hr.GroupBy("a").aggregate_field("a", sum, "n") | "Pairs" >> hr.GroupByKey()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: hr.GroupBy("turns", turns=len), "two fields of the result have the name 'turns'"),
        (
            lambda: hr.GroupBy("turns").aggregate_field("turns", sum, "turns"),
            "two fields of the result have the name 'turns'",
        ),
        (
            lambda: hr.GroupBy("mill").aggregate_field("turns", sum, "all turns"),
            "'all turns' cannot be the name of a field of the result",
        ),
        (
            lambda: hr.GroupBy("mill", _id="turns"),
            "'_id' cannot be the name of a field of the result",
        ),
        (lambda: hr.GroupBy(WRONG), "3 is neither the name of a field nor a function"),
        (lambda: hr.Select(n=WRONG), "3 is neither the name of a field nor a function"),
        (
            lambda: hr.GroupBy("mill").aggregate_field(WRONG, sum, "n"),
            "3 is neither the name of a field",
        ),
    ],
)
def test_expressions_that_make_no_sense(make: Any, problem: str) -> None:
    with pytest.raises(hr.PipelineError) as error:
        _ = hr.Pipeline(argv=[]) | hr.Create(records(Tupled)) | make()
    assert error.value.problem.startswith(problem)


# ------------------------------------------------------------------------------------- while it runs


@pytest.mark.parametrize(
    ("element", "transform", "remedy"),
    [
        (hr.Row(a=1), hr.Select("b"), "use one of a, or a function of the element"),
        (
            {"b": 1},
            hr.GroupBy("b"),
            "a dict has no attributes: pass a function, such as lambda x: x['b']",
        ),
        ({"b": 1}, hr.GroupBy().aggregate_field("b", sum, "n"), "a dict has no attributes"),
        (
            7,
            hr.Select("b"),
            "turn the element into an hr.Row with an hr.Map, or pass a function of it",
        ),
    ],
)
def test_an_element_without_the_field(element: Any, transform: Any, remedy: str) -> None:
    with (
        pytest.raises(hr.ElementError, match="has no field 'b'") as error,
        hr.Pipeline(argv=[]) as p,
    ):
        _ = p | hr.Create([element]) | hr.Map(lambda x: x) | "Fields" >> transform
    assert error.value.remedy.startswith(remedy)
    assert any("Fields" in note for note in error.value.__notes__)


def test_a_row_without_the_field_is_cut_short_in_the_error() -> None:
    with pytest.raises(AttributeError) as error, hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([hr.Row(a="x" * 500, b=1)]) | "here" >> hr.Map(lambda row: row.c)
    assert str(error.value).endswith("xx', b=1) has no field 'c'; its fields are a, b")
    assert max(map(len, [str(error.value), *error.value.__notes__])) < 150
    assert error.value.__notes__[-1] == "in here"


def test_an_error_of_a_function_keeps_its_type() -> None:
    with pytest.raises(AttributeError, match="upper"), hr.Pipeline(argv=[]) as p:
        _ = p | hr.Create([hr.Row(a=1)]) | hr.Select("a", b=lambda row: row.a.upper())


def test_elements_without_a_field_as_dead_letters() -> None:
    with TestPipeline() as p:
        rows = p | hr.Create([hr.Row(a=1), hr.Row(b=2)])
        good, bad = rows | hr.Select("a").with_exception_handling()
        assert_that(good, equal_to([hr.Row(a=1)]), label="good")
        assert_that(bad | hr.Keys(), equal_to([hr.Row(b=2)]), label="bad")


def test_one_aggregation_does_not_change_another() -> None:
    base = hr.GroupBy("mill").aggregate_field("turns", sum, "turns")
    more = base.aggregate_field("flour", sum, "flour")
    with TestPipeline() as p:
        steps = p | hr.Create(records(Tupled))
        assert_that(steps | "base" >> base, equal_to([("north", 7), ("south", 1)]), label="one")
        assert_that(
            steps | "more" >> more, equal_to([("north", 7, 4.0), ("south", 1, 0.5)]), label="two"
        )


# ------------------------------------------------------------------------------------ rows themselves


@pytest.mark.parametrize("kind", KINDS)
def test_records_as_keys_are_equal_if_their_fields_are(kind: Any) -> None:
    north, south, again = records(kind)
    same = pickle.loads(pickle.dumps(north))
    assert same == north
    assert encode_key(same) == encode_key(north)
    assert len({encode_key(record) for record in (north, south, again)}) == 3
    assert len({north, same, south}) == 2


def test_rows_can_be_copied_and_pickled() -> None:
    row = hr.Row(a=1, b=[2], as_dict=3)
    for other in (copy.copy(row), copy.deepcopy(row), pickle.loads(pickle.dumps(row))):
        assert other == row
        assert repr(other) == "Row(a=1, b=[2], as_dict=3)"
    assert copy.deepcopy(row).b is not row.b
    assert encode_key(row) == encode_key(copy.copy(row))


def test_the_order_of_fields_matters() -> None:
    one, other = hr.Row(a=1, b=2), hr.Row(b=2, a=1)
    assert one != other
    assert encode_key(one) != encode_key(other)


def test_records_of_columns() -> None:
    hidden = attrs.make_class("Hidden", {"_n": attrs.field(kw_only=True), "day": attrs.field()})
    columns: list[list[Any]] = [[1, 2], [date(2013, 1, 1), None]]
    assert records_of(Tupled, ("turns", "mill", "flour"), [[3], ["a"], [1.5]]) == [
        Tupled("a", 3, 1.5)
    ]
    assert records_of(hidden, ("_n", "day"), columns)[1] == hidden(n=2, day=None)
    with pytest.raises(hr.ElementError) as error:
        checked_records(Data, ("mill", "turns", "flour"), [["a", "b"], [1, "many"], [1, 2]])
    assert error.value.problem == "'many' in the column 'turns' is not of type int"
    assert error.value.remedy == "give 'turns' another type in Data"
    (record,) = checked_records(Data, ("mill", "turns", "flour"), [["a"], [None], [1]])
    assert repr(record) == "Data(mill='a', turns=None, flour=1)"


def test_in_tests_a_row_equals_a_named_tuple() -> None:
    assert row_namedtuple_equals_fn(hr.Row(mill="a", turns=1, flour=0.5), Tupled("a", 1))
    assert not row_namedtuple_equals_fn(hr.Row(mill="a", turns=2, flour=0.5), Tupled("a", 1))
    assert not row_namedtuple_equals_fn(hr.Row(mill="a"), Tupled("a", 1))
    assert row_namedtuple_equals_fn(
        hr.Row(a=Tupled("a", 1)), hr.Row(a=hr.Row(mill="a", turns=1, flour=0.5))
    )
    equal_to([hr.Row(mill="a", turns=1, flour=0.5)])([Tupled("a", 1)])
