"""Strategies for CombineFns."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec

from headrace.sdk.combiners.approximate.distinct import ApproximateCountDistinctCombineFn
from headrace.sdk.combiners.approximate.frequent import HeavyHittersCombineFn
from headrace.sdk.combiners.approximate.kll import KllQuantilesCombineFn
from headrace.sdk.combiners.approximate.theta import ThetaSketchCombineFn
from headrace.sdk.combiners.arithmetic import MeanCombineFn
from headrace.sdk.combiners.counting import CountCombineFn
from headrace.sdk.combiners.top import TopCombineFn
from headrace.sdk.combiners.tuples import SingleInputTupleCombineFn
from headrace.sdk.groups.combine_fn import CombineFn
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.run import Largest, Spread


@cache
def combine_fns(depth: int = 1) -> st.SearchStrategy[CombineFn]:
    """Draw CombineFns of numbers: with and without ``subtract_input``, alone and combined in tuples.

    Args:
        depth: maximum nesting of tuples.

    >>> from headrace.testing.strategies import Largest
    >>> from hypothesis import find
    >>> find(combine_fns(), lambda fn: isinstance(fn, Largest)).apply([3, 1])
    3
    """
    alone = st.one_of(
        st.sampled_from([CombineFn.from_callable(fn) for fn in (sum, min, max)]),
        st.builds(CountCombineFn),
        st.builds(MeanCombineFn),
        st.builds(Spread),
        *([] if find_spec("datasketches") is None else _sketches()),
        st.builds(Largest),
        st.builds(TopCombineFn, st.integers(1, 3), reverse=st.booleans()),
    )
    if not depth:
        return alone
    parts = st.lists(combine_fns(depth - 1), min_size=1, max_size=3)
    return alone | parts.map(lambda fns: SingleInputTupleCombineFn(*fns))


def _sketches() -> list[st.SearchStrategy[CombineFn]]:
    return [
        st.builds(ApproximateCountDistinctCombineFn),
        st.builds(ThetaSketchCombineFn),
        st.builds(KllQuantilesCombineFn),
        st.builds(HeavyHittersCombineFn),
    ]
