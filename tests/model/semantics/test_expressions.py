"""Expressions of narwhals over fields of elements: the same on rows, on dictionaries and on every runner."""

from datetime import date
from typing import Any, NamedTuple

import narwhals as nw
import pytest

import headrace as hr
from headrace.errors import ElementError, PipelineError, UnsupportedError
from headrace.testing import TestPipeline, assert_that, equal_to

GroupBy: Any = hr.GroupBy
Filter: Any = hr.Filter
WithFields: Any = hr.WithFields


class Sale(NamedTuple):
    shop: str
    price: int
    quantity: int | None


SALES = [Sale("quay", 3, 2), Sale("mill", 5, None), Sale("quay", 7, 1), Sale("ß", -1, 4)]


def rows():
    return [hr.Row(**sale._asdict()) for sale in SALES]


PAID = {"paid": nw.col("price") * nw.col("quantity")}


@pytest.mark.mode("batch")
def test_fields_filters_and_groups(runner):
    with TestPipeline(runner) as p:
        sales = p | hr.Create([hr.TimestampedValue(row, 10 * n) for n, row in enumerate(rows())])
        paid = sales | hr.WithFields(**PAID) | hr.Filter(nw.col("paid") > -10)
        halves = paid | hr.Select("shop", half=nw.col("paid") / 2, one=nw.lit(1))
        totals = (
            paid
            | hr.WindowInto(hr.window.FixedWindows(30))
            | hr.GroupBy("shop").aggregate_field("paid", sum, "total")
        )
        wanted = [hr.Row(shop="quay", half=3.0, one=1), hr.Row(shop="quay", half=3.5, one=1)]
        assert_that(halves, equal_to([*wanted, hr.Row(shop="ß", half=-2.0, one=1)]), label="halves")
        found = totals | hr.Map(tuple)
        assert_that(found, equal_to([("quay", 13), ("ß", -4)]), label="totals")


@pytest.mark.parametrize("kind", [tuple, dict])
def test_elements_with_fields_of_any_kind(kind):
    elements = SALES if kind is tuple else [sale._asdict() for sale in SALES]
    with TestPipeline() as p:
        kept = p | hr.Create(elements) | hr.Filter(nw.col("quantity").is_null())
        assert_that(kept, equal_to(elements[1:2]), label="the element itself")
        made = kept | hr.WithFields(quantity=nw.lit(1))
        assert_that(made, equal_to([hr.Row(shop="mill", price=5, quantity=1)]), label="a row")


def test_other_fields_need_no_arrow_type():
    odd = hr.Row(price=1, made=object)
    with TestPipeline() as p:
        made = p | hr.Create([odd]) | hr.WithFields(twice=nw.col("price") * 2)
        assert_that(made, equal_to([hr.Row(price=1, made=object, twice=2)]))


def test_types_of_fields():
    p = hr.Pipeline()
    sales = p | hr.Create(SALES) | hr.WithFields(late=nw.col("price") > 4, day=nw.lit(date.min))
    assert str(sales.element_type) == (
        "Row(shop: str, price: int, quantity: int | None, late: bool, day: date)"
    )
    made = sales | hr.Select("shop", share=nw.col("price") / nw.col("quantity"))
    assert str(made.element_type) == "Row(shop: str, share: float)"


def test_a_bundle_without_values_has_the_known_types():
    nothing = [Sale("quay", 1, None)]
    with TestPipeline() as p:
        made = p | hr.Create(nothing) | hr.Select(more=nw.col("quantity") + 1)
        assert_that(made, equal_to([hr.Row(more=None)]))


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: hr.Filter(nw.col("town") == "x"), "no field 'town'"),
        (lambda: hr.WithFields(more=nw.col("town") + 1), "no field 'town'"),
        (lambda: hr.Filter(nw.col("price") > nw.col("price").mean()), "looks at other rows"),
        (lambda: hr.WithFields(sum=nw.col("price").cum_sum()), "looks at other rows"),
        (lambda: hr.Select(all=nw.all()), "looks at other rows, or names no field"),
        (lambda: hr.Select(a=nw.col("price"), b=len), "is a function of an element"),
        (lambda: WithFields(a=len), "not an expression"),
        (lambda: Filter(nw.col("price") > 0, 3), "has no arguments"),
        (lambda: GroupBy(nw.col("price")), "has no name"),
    ],
)
def test_refusals_while_the_pipeline_is_built(make, problem):
    p = hr.Pipeline()
    sales = p | hr.Create(SALES)
    with pytest.raises(PipelineError, match=problem):
        _ = sales | make()


def test_types_that_do_not_fit_are_refused_while_the_pipeline_is_built():
    with pytest.raises(ElementError, match="cannot be evaluated"):
        _ = hr.Pipeline() | hr.Create(SALES) | hr.WithFields(more=nw.col("shop") + 1)


def test_exceptions_are_not_handled():
    with pytest.raises(UnsupportedError, match="does not support exception handling"):
        _ = (
            hr.Pipeline()
            | hr.Create(SALES)
            | hr.Filter(nw.col("price") > 0).with_exception_handling()
        )


@pytest.mark.parametrize(
    ("elements", "step", "problem"),
    [
        ([1], hr.Filter(nw.col("a") > 1), "has no named fields"),
        ([{"a": 1}, {"b": 1}], hr.Filter(nw.col("a") > 1), "{'b': 1} has no field 'a'"),
        ([{"a": 1}, {"a": "x"}], hr.Filter(nw.col("a") > 1), "no common Arrow type"),
        ([{"a": 2**70}], hr.WithFields(b=nw.col("a") + 1), "no common Arrow type"),
        ([{"a": 1}], hr.Filter(nw.col("a") + 1), "not booleans"),
        ([{"a": "x"}], hr.WithFields(b=nw.col("a") / 2), "cannot be evaluated"),
    ],
)
def test_errors_of_elements(elements, step, problem):
    with pytest.raises(ElementError) as raised, hr.Pipeline() as p:
        _ = p | hr.Create(elements) | "Step" >> step
    assert problem in str(raised.value)
    assert "in Step" in raised.value.__notes__
