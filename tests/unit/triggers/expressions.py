"""Random trigger expressions, and random histories of the windows that they watch."""

from __future__ import annotations

from hypothesis import strategies as st

from headrace.triggers import (
    AfterAll,
    AfterAny,
    AfterBytes,
    AfterCount,
    AfterEach,
    AfterElement,
    AfterProcessingTime,
    AfterWatermark,
    Always,
    AtPeriod,
    DefaultTrigger,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
)
from tests.unit.triggers.one_window import OneWindow

MICRO = 1e-6

counts = st.integers(1, 5)
leaves = st.one_of(
    st.sampled_from([DefaultTrigger(), AfterWatermark(), Always(), Never()]),
    st.builds(AfterCount, counts),
    st.builds(AfterBytes, counts),
    st.builds(AfterElement, st.sampled_from([str.isupper, str.islower])),
    st.builds(lambda delay: AfterProcessingTime(delay * MICRO), st.integers(0, 30)),
    st.builds(
        lambda period, offset: AtPeriod(period * MICRO, offset * MICRO),
        st.integers(1, 30),
        st.integers(0, 30),
    ),
)


def _composites(parts: st.SearchStrategy[Trigger]) -> st.SearchStrategy[Trigger]:
    several = st.lists(parts, min_size=1, max_size=3)
    return st.one_of(
        st.builds(Repeatedly, parts),
        st.builds(lambda triggers: AfterAny(*triggers), several),
        st.builds(lambda triggers: AfterAll(*triggers), several),
        st.builds(lambda triggers: AfterEach(*triggers), several),
        st.builds(OrFinally, parts, parts),
        st.builds(AfterWatermark, st.none() | parts, st.none() | parts),
    )


triggers: st.SearchStrategy[Trigger] = st.recursive(leaves, _composites, max_leaves=6)

matched_predicates = st.sets(st.sampled_from([str.isupper, str.islower]))
arrivals = st.tuples(st.just("arrive"), counts, counts, matched_predicates)
watermarks = st.tuples(st.just("watermark"), st.integers(0, 150))
nows = st.tuples(st.just("now"), st.integers(0, 100))
histories = st.lists(arrivals | watermarks | nows, max_size=10)


def play(window: OneWindow, history: list[tuple]) -> list[bool]:
    """Let things happen to a window; tell on which of them its trigger fired."""
    return [getattr(window, kind)(*arguments) for kind, *arguments in history]
