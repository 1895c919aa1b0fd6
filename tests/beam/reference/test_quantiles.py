"""Our quantiles are Beam's, for groups that Beam keeps whole."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

from hypothesis import given, strategies as st

from headrace.transforms.stats import ApproximateQuantilesCombineFn

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from apache_beam.transforms.stats import ApproximateQuantilesCombineFn as BeamsCombineFn

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

VALUES = st.lists(st.integers(-20, 20), max_size=40)
WEIGHTED = st.lists(st.tuples(st.integers(-20, 20), st.sampled_from([0.5, 1, 2, 5])), max_size=40)


def negated(value: int) -> int:
    return -value


def in_beam(inputs: list[Any], **options: Any) -> Any:
    fn = BeamsCombineFn.create(**options)
    accumulator = fn.create_accumulator()
    for each in inputs:
        accumulator = fn.add_input(accumulator, each)
    return fn.extract_output(accumulator)


@given(
    st.integers(2, 9),
    st.booleans(),
    st.sampled_from([None, negated]),
    st.one_of(VALUES.map(lambda v: (v, False)), WEIGHTED.map(lambda v: (v, True))),
)
def test_quantiles(
    number: int, reverse: bool, key: Any, inputs_and_weighted: tuple[list[Any], bool]
) -> None:
    inputs, weighted = inputs_and_weighted
    options = {"num_quantiles": number, "reverse": reverse, "key": key, "weighted": weighted}
    ours = ApproximateQuantilesCombineFn.create(**options)
    assert ours.apply(inputs) == in_beam(inputs, **options)
