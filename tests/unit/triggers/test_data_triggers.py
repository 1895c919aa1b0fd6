"""AfterCount, AfterBytes, AfterElement, Always and Never, each alone."""

from typing import Any

import pytest

from headrace.errors import PipelineError
from headrace.triggers import AfterAll, AfterBytes, AfterCount, AfterElement, Always, Never
from headrace.triggers.trigger import ASLEEP
from tests.unit.triggers.one_window import OneWindow, merged


def test_after_count_fires_when_that_many_have_arrived() -> None:
    window = OneWindow(AfterCount(3))
    assert [window.arrive(), window.arrive(), window.arrive()] == [False, False, True]


def test_after_count_means_at_least() -> None:
    window = OneWindow(AfterCount(3))
    assert [window.arrive(2), window.arrive(40)] == [False, True]


def test_after_count_fires_once() -> None:
    window = OneWindow(AfterCount(1))
    assert [window.arrive(), window.arrive()] == [True, False]
    assert window.finished


def test_after_count_looks_at_no_clock() -> None:
    window = OneWindow(AfterCount(2))
    assert [window.arrive(), window.watermark(1000), window.now(1000)] == [False, False, False]
    assert window.wake == ASLEEP


def test_counts_add_in_a_merge() -> None:
    one, other = OneWindow(AfterCount(3)), OneWindow(AfterCount(3))
    one.arrive(1)
    other.arrive(2)
    assert one.merge(other)


def test_a_count_that_fired_in_one_window_has_fired_in_the_merged_one() -> None:
    one, other = OneWindow(AfterCount(3)), OneWindow(AfterCount(3))
    one.arrive(3)
    other.arrive(2)
    assert not one.merge(other)
    assert one.finished


def test_after_bytes_waits_for_a_size() -> None:
    window = OneWindow(AfterBytes(100))
    assert [window.arrive(9, size=99), window.arrive(size=1), window.arrive(size=500)] == [
        False,
        True,
        False,
    ]
    assert window.finished


def test_sizes_add_in_a_merge() -> None:
    one, other = OneWindow(AfterBytes(100)), OneWindow(AfterBytes(100))
    one.arrive(size=60)
    other.arrive(size=60)
    assert one.merge(other)


def test_a_size_that_fired_in_one_window_has_fired_in_the_merged_one() -> None:
    one, other = OneWindow(AfterBytes(100)), OneWindow(AfterBytes(100))
    one.arrive(size=100)
    other.arrive(size=99)
    one.merge(other)
    assert one.finished


def test_after_element_waits_for_a_mark() -> None:
    window = OneWindow(AfterElement(str.isupper))
    assert not window.arrive(5)
    assert not window.arrive(5, matched_predicates=[str.islower])
    assert window.arrive(5, matched_predicates=[str.islower, str.isupper])
    assert window.finished


def test_a_mark_is_remembered_until_it_fires() -> None:
    window = OneWindow(AfterAll(AfterElement(str.isupper), AfterCount(2)))
    assert [window.arrive(matched_predicates=[str.isupper]), window.arrive()] == [False, True]


def test_a_mark_survives_a_merge_until_it_fires() -> None:
    one, other = OneWindow(AfterElement(str.isupper)), OneWindow(AfterElement(str.isupper))
    one.arrive()
    other.take(matched_predicates=[str.isupper])
    assert one.merge(other)


def test_a_mark_that_fired_in_one_window_has_fired_in_the_merged_one() -> None:
    one, other = OneWindow(AfterElement(str.isupper)), OneWindow(AfterElement(str.isupper))
    one.arrive(matched_predicates=[str.isupper])
    one.merge(other)
    assert one.finished


def test_always_fires_at_every_arrival_and_at_nothing_else() -> None:
    window = OneWindow(Always())
    assert [window.arrive(), window.now(50), window.arrive(), window.watermark(500)] == [
        True,
        False,
        True,
        False,
    ]
    assert not window.finished
    assert window.wake == ASLEEP


def test_always_fires_on_a_merge_that_brings_something_unfired() -> None:
    one, other = OneWindow(Always()), OneWindow(Always())
    one.arrive()
    assert not one.merge(other)
    other.take(matched_predicates=[str.isupper])
    assert one.merge(other)


def test_never_never_fires() -> None:
    window = OneWindow(Never())
    assert [window.arrive(1000), window.watermark(10**9), window.now(10**9)] == [False] * 3
    assert not window.finished
    assert window.wake == ASLEEP
    assert merged(window, window) == Never().start


@pytest.mark.parametrize("make", [AfterCount, AfterBytes])
@pytest.mark.parametrize("threshold", [0, -1, 1.5, "3", None])
def test_a_threshold_is_a_positive_integer(make: Any, threshold: object) -> None:
    with pytest.raises(PipelineError, match="needs a positive integer") as caught:
        make(threshold)
    assert caught.value.where == make.__name__
    assert f"{make.__name__}(1)" in caught.value.remedy


def test_a_predicate_is_a_function() -> None:
    with pytest.raises(PipelineError, match="not 'end'"):
        AfterElement("end")  # type: ignore[arg-type]
