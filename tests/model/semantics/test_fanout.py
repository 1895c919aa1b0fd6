"""A fanout does not change results: windows, accumulation modes, late elements, batch and stream."""

from collections import Counter
from typing import Any

import pytest

import headrace as hr
from headrace.testing import TestPipeline, capture
from headrace.triggers import AfterCount, AfterWatermark
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EARLY_AND_LATE,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    SLIDING,
    Letters,
    arrive,
    at,
    into,
    watermark,
    words,
)

COUNT = hr.combiners.CountCombineFn()


def spread(fanout=3):
    return words().with_hot_key_fanout(fanout)


EVENTS = [
    arrive(at(12, "a"), at(13, "b")),
    watermark(20),
    arrive(at(14, "c")),
    watermark(30),
    END,
]
"""Elements in the windows [0, 20) and [10, 30); the last one is late in the first of them."""


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (DISCARDING, ["ab", "c"]),
        (ACCUMULATING, ["ab", "abc"]),
        (RETRACTING, ["ab", "-ab", "abc"]),
    ],
)
def test_each_sliding_window_has_its_own_elements_in_every_mode(play, mode, expected):
    late = AfterWatermark(late=AfterCount(1))
    played = play(EVENTS, into(SLIDING, late, mode, lateness=50), spread())
    panes = sorted(played.windows, key=lambda pane: pane[1])
    assert panes == [*((word, (0, 20)) for word in expected), ("abc", (10, 30))]


@pytest.mark.parametrize("mode", [DISCARDING, ACCUMULATING, RETRACTING], ids=lambda mode: mode.name)
@pytest.mark.parametrize("window_fn", [FIXED, SLIDING, SESSIONS], ids=lambda fn: type(fn).__name__)
def test_a_fanout_changes_no_pane(play, window_fn, mode):
    windows = into(window_fn, EARLY_AND_LATE, mode, lateness=50)
    plain = play(EVENTS, windows, "sum" >> words())
    fanned = play(EVENTS, windows, "sum" >> spread(lambda key: 2 if key == "k" else 0))
    assert len(plain.windows) > 2
    assert (fanned.windows, fanned.times, fanned.timings) == (
        plain.windows,
        plain.times,
        plain.timings,
    )


def test_a_grouping_of_retractions(play):
    """Sums that change, and then the letters of all sums: a value that is retracted leaves no trace."""
    events = [arrive(at(1, 1, "a"), at(2, 2, "b")), arrive(at(3, 3, "a")), END]
    sums = "sum" >> hr.CombinePerKey(sum).with_hot_key_fanout(2)
    by_none = "name" >> hr.Map(lambda pair: (None, str(pair[1])))
    windows = into(SLIDING, AfterWatermark(early=AfterCount(1)), RETRACTING)
    played = play(events, windows, sums, by_none, "words" >> spread())
    net: Counter[Any] = Counter()
    for (word, window), element in zip(played.windows, played.elements, strict=True):
        net[word.lstrip("-"), window] += element.diff
    assert {key for key, count in net.items() if count} == {("24", (-10, 10)), ("24", (0, 20))}


@pytest.mark.mode("batch")
def test_fanouts_of_a_batch(runner):
    with TestPipeline(runner=runner) as p:
        times = [hr.TimestampedValue("k", time) for time in (1, 2, 15)]
        elements = p | hr.Create(times) | hr.WindowInto(SLIDING)
        pairs = elements | hr.WithKeys("all") | hr.CombinePerKey(COUNT).with_hot_key_fanout(2)
        whole = elements | hr.CombineGlobally(COUNT).without_defaults().with_fanout(2)
        per_key = capture(pairs | hr.Values(), "per key")
        overall = capture(whole, "overall")
    expected = [(2, -10), (3, 0), (1, 10)]
    for found in (per_key, overall):
        panes = [(each.value, float(each.window.start)) for each in found.elements]
        assert sorted(panes, key=lambda pane: pane[1]) == expected


@pytest.mark.mode("batch")
def test_an_empty_batch_has_the_default(runner):
    with TestPipeline(runner=runner) as p:
        found = capture(p | hr.Create([]) | hr.CombineGlobally(sum).with_fanout(4))
    assert found.values == [0]


@pytest.mark.parametrize("fanout", ["3", 2.5, True, [2]])
def test_a_fanout_that_is_no_number_is_refused(fanout):
    with pytest.raises(hr.PipelineError, match="with_hot_key_fanout needs a number"):
        hr.CombinePerKey(sum).with_hot_key_fanout(fanout)
    with pytest.raises(hr.PipelineError, match="with_fanout needs a number"):
        hr.CombineGlobally(sum).with_fanout(fanout)
    with pytest.raises(hr.PipelineError, match="with_fanout needs a number"):
        hr.CombineGlobally(sum).with_fanout(lambda key: 2)  # type: ignore[arg-type]


class Scaled(hr.CombineFn):
    def create_accumulator(self, factor):
        return 0

    def add_input(self, accumulator, value, factor):
        return accumulator + factor * value

    def merge_accumulators(self, accumulators, factor):
        return sum(accumulators)

    def extract_output(self, accumulator, factor):
        return accumulator


def test_a_fanout_of_a_combine_with_side_inputs_is_refused():
    p = TestPipeline()
    factor = hr.pvalue.AsSingleton(p | hr.Create([10]))
    with pytest.raises(hr.PipelineError, match=r"with_hot_key_fanout.*Scaled.*side inputs"):
        hr.CombinePerKey(Scaled(), factor).with_hot_key_fanout(2)
    with pytest.raises(hr.PipelineError, match=r"with_fanout.*Scaled.*side inputs"):
        hr.CombineGlobally(Scaled(), factor).with_fanout(2)
    assert hr.CombinePerKey(Scaled(), factor).with_hot_key_fanout(None)


def test_no_fanout_is_accepted(play):
    played = play([arrive(at(1, "a")), END], into(FIXED), spread(None))
    assert played.values == ["a"]
    assert isinstance(hr.CombineGlobally(Letters()).with_fanout(None), hr.CombineGlobally)
