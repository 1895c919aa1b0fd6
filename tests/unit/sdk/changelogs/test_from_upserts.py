"""FromUpserts: the latest value of each key, tombstones, order, and lateness."""

from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.windowing.time.timestamps import MAX_MICROS


def at(time: float, key: str, value: Any) -> hr.TimestampedValue[Any]:
    return hr.TimestampedValue((key, value), time)


def script(*steps: Any) -> TestStream:
    """A stream of elements, and of watermarks as numbers."""
    stream = TestStream()
    for step in steps:
        if isinstance(step, hr.TimestampedValue):
            stream = stream.add_elements([step])
        else:
            stream = stream.advance_watermark_to(step)
    return stream.advance_watermark_to_infinity()


def changes(*steps: Any, **how: Any) -> list[tuple[int, Any, float]]:
    with TestPipeline() as p:
        found = capture(p | script(*steps) | hr.FromUpserts(**how))
    return [(e.diff, e.value[1], float(e.timestamp)) for e in found.elements]


def test_a_value_replaces_the_one_before_at_its_time() -> None:
    found = changes(at(1, "k", "a"), at(5, "k", "b"), at(6, "k", None), at(9, "k", "c"))
    assert found == [(1, "a", 1), (-1, "a", 1), (1, "b", 5), (-1, "b", 5), (1, "c", 9)]


def test_keys_do_not_concern_each_other() -> None:
    assert changes(at(1, "k", "a"), at(2, "l", "b")) == [(1, "a", 1), (1, "b", 2)]


def test_the_same_again_changes_nothing() -> None:
    assert changes(at(1, "k", "a"), at(1, "k", "a"), at(2, "l", None)) == [(1, "a", 1)]


def test_an_older_upsert_is_ignored_also_after_a_deletion() -> None:
    with TestPipeline() as p:
        rows = [("k", 2, "b"), ("k", 1, "a"), ("k", 4, None), ("k", 3, "c")]
        stream = script(*(hr.TimestampedValue(row, 0) for row in rows))
        latest = hr.FromUpserts(lambda row: row[0], lambda row: row[2], lambda row: row[1])
        found = capture(p | stream | latest)
    assert [(e.diff, e.value) for e in found.elements] == [(1, ("k", "b")), (-1, ("k", "b"))]


def test_a_late_change_is_dropped_with_the_row_that_it_would_replace() -> None:
    kept = changes(at(1, "k", "a"), 11, at(20, "k", "b"), allowed_lateness=10)
    assert kept == [(1, "a", 1), (-1, "a", 1), (1, "b", 20)]
    final = changes(at(1, "k", "a"), 12, at(20, "k", "b"), allowed_lateness=10)
    assert final == [(1, "a", 1)]


def test_a_row_that_is_written_again_after_a_late_deletion_is_new() -> None:
    found = changes(at(1, "k", "a"), 12, at(20, "k", None), at(21, "k", "b"), allowed_lateness=10)
    assert found == [(1, "a", 1), (1, "b", 21)]


def test_the_position_of_a_deleted_row_is_forgotten_after_the_lateness() -> None:
    how: Any = {"order_by": lambda pair: (pair[1] or (0, "", 2))[2] * 1, "allowed_lateness": 10}
    gone = at(1, "k", ("v", 0, 1)), at(2, "k", None)
    old = ("w", 0, 0)
    assert len(changes(*gone, 12, at(30, "k", old), **how)) == 2
    assert len(changes(*gone, 13, at(30, "k", old), **how)) == 3


def test_positions_have_an_order() -> None:
    with pytest.raises(hr.ElementError, match="have no order"):
        changes(at(1, "k", 1), at(2, "k", "b"), order_by=lambda pair: pair[1])


def test_its_arguments_and_elements_are_checked() -> None:
    with pytest.raises(hr.PipelineError, match="value without a key"):
        hr.FromUpserts(value=lambda row: row)
    with pytest.raises(hr.ElementError, match=r"not a .key, value. pair"), TestPipeline() as p:
        p | hr.Create([1]) | hr.FromUpserts()


def test_forever_is_the_longest_lateness() -> None:
    assert hr.window.FOREVER.micros == MAX_MICROS
    windows = hr.WindowInto(hr.window.FixedWindows(10), allowed_lateness=hr.window.FOREVER)
    with TestPipeline() as p:
        steps = at(1, "k", 1), 1_000_000, at(2, "k", None)
        rows = p | script(*steps) | hr.FromUpserts()
        found = capture(rows | windows | hr.CombinePerKey(sum))
    assert [e.value[1] for e in found.elements][:1] == [1]
    assert sum(e.value[1] for e in found.elements) == 0
