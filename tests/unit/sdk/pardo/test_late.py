"""Elements that come too late leave by an output of their own, where there is one."""

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.windowing import FixedWindows, IntervalWindow, TimestampedValue


def stream(late=("a", 7)):
    return (
        TestStream()
        .add_elements([TimestampedValue(("a", 1), 1)])
        .advance_watermark_to(100)
        .add_elements([TimestampedValue(late, 2)])
        .advance_watermark_to_infinity()
    )


def windows(**options):
    return hr.WindowInto(FixedWindows(60), late_output_tag="late", **options)


@pytest.mark.parametrize("grouping", [hr.GroupByKey(), hr.CombinePerKey(sum)])
def test_the_late_output_of_a_grouping(grouping) -> None:
    with TestPipeline() as p:
        grouped = p | stream() | windows() | grouping
        assert grouped.late.tag == "late"
        on_time = capture(grouped)
        late = capture(grouped.late, "by attribute")
        same = capture(grouped["late"], "by tag")
    assert len(on_time.elements) == 1
    (element,) = late.elements
    assert element.value == ("a", 7)
    assert float(element.timestamp) == 2
    assert element.window == IntervalWindow(0, 60)
    assert same.values == late.values


def test_the_late_output_of_a_composite() -> None:
    with TestPipeline() as p:
        values = p | stream() | "numbers" >> hr.Values() | windows()
        total = values | hr.CombineGlobally(sum).without_defaults()
        assert_that(total, equal_to([1]))
        assert_that(total.late | hr.Values(), equal_to([7]))


@pytest.mark.parametrize("tags", [("orders", "payments"), None])
def test_the_late_output_of_a_co_group_by_key_keeps_the_tags(tags) -> None:
    with TestPipeline() as p:
        orders = p | "orders" >> stream(("a", 7)) | "in minutes" >> windows()
        payments = p | "payments" >> stream(("a", 8)) | "also in minutes" >> windows()
        sides = (orders, payments)
        joined = (dict(zip(tags, sides, strict=True)) if tags else sides) | hr.CoGroupByKey()
        late = capture(joined.late)
    first, second = tags or (0, 1)
    assert sorted(late.values) == [("a", (first, 7)), ("a", (second, 8))]


def test_late_elements_can_be_processed_on() -> None:
    with TestPipeline() as p:
        grouped = p | stream() | windows() | hr.CombinePerKey(sum)
        again = grouped.late | "longer" >> hr.WindowInto(FixedWindows(60), allowed_lateness=1000)
        assert_that(again | "Again" >> hr.GroupByKey(), equal_to([("a", [7])]))


def test_what_is_not_too_late_does_not_leave_there() -> None:
    with TestPipeline() as p:
        grouped = p | stream() | windows(allowed_lateness=60) | hr.CombinePerKey(sum)
        assert_that(grouped.late, equal_to([]))


def test_without_a_tag_there_is_no_late_output() -> None:
    grouped = hr.Pipeline() | hr.Create([("a", 1)]) | hr.GroupByKey()
    with pytest.raises(hr.PipelineError, match="no outputs for late") as refusal:
        _ = grouped.late
    assert "late_output_tag" in refusal.value.remedy


def test_only_the_late_output_has_a_tag() -> None:
    grouped = hr.Pipeline() | stream() | windows() | hr.GroupByKey()
    with pytest.raises(hr.PipelineError, match="no output 'other'"):
        grouped["other"]


def test_what_lies_behind_the_grouping_has_no_late_output() -> None:
    grouped = hr.Pipeline() | stream() | windows() | hr.GroupByKey()
    with pytest.raises(hr.PipelineError, match="no outputs for late"):
        _ = (grouped | hr.Keys()).late
