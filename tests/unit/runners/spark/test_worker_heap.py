"""Workers leave what lives long out of the collections after each task."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

import headrace as hr
from headrace.runners.engine.gc_tuning import COLLECTING, freeze_heap
from headrace.runners.spark import SparkRunner
from headrace.testing import TestStream, capture


class Frozen(hr.DoFn):
    """Outputs whether a module that it uses, and an object that it has set up, are left out."""

    def setup(self) -> None:
        self.model = [[n] for n in range(1000)]

    def process(self, element: Any) -> Any:
        scanned = {id(each) for each in gc.get_objects()}
        yield id(vars(hr)) not in scanned, id(self.model) not in scanned


@pytest.mark.usefixtures("spark")
def test_a_job_leaves_modules_out():
    with hr.Pipeline(runner=SparkRunner()) as p:
        seen = capture(p | hr.Create([1]) | hr.ParDo(Frozen()))
    ((modules, _),) = seen.values
    assert modules


@pytest.mark.slow
@pytest.mark.usefixtures("spark")
def test_a_stream_leaves_out_what_its_functions_have_set_up():
    events = TestStream().add_elements([1]).add_elements([2]).advance_watermark_to_infinity()
    with hr.Pipeline(runner=SparkRunner()) as p:
        seen = capture(p | events | hr.ParDo(Frozen()))
    assert seen.values == [(True, True)] * 2


class Node:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_that_was_frozen_is_collected_in_one_of_some_calls() -> None:
    node = Node()
    found = weakref.ref(node)
    try:
        freeze_heap()
        del node
        gc.collect()
        assert found() is not None
        for _ in range(COLLECTING):
            freeze_heap()
        assert found() is None
    finally:
        gc.unfreeze()
