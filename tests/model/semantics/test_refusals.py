"""What is refused while a pipeline is built: what is wrong, where, and what to do; and what is explained.

The rules of retraction 5, 6 and 7, and pipelines from which nothing right could come.
"""

import pytest

import headrace as hr
from headrace.testing import TestPipeline
from headrace.triggers import AfterCount, AfterWatermark, Repeatedly
from headrace.windowing import GlobalWindows
from tests.model.semantics.scenarios import (
    ACCUMULATING,
    DISCARDING,
    EACH,
    EARLY_AND_LATE,
    FIXED,
    RETRACTING,
    arrive,
    at,
    into,
    script,
    watermark,
    words,
)

pytestmark = pytest.mark.mode("any")


class File(hr.io.Sink):
    """Knows nothing of retractions."""

    def write(self, batch):
        raise AssertionError("nothing may flow")


@pytest.fixture
def pairs(runner):
    """A collection that ends."""
    return TestPipeline(runner=runner) | hr.Create([("k", "a")])


def refused(pcoll, transform):
    """The three parts of a refusal."""
    with pytest.raises(hr.PipelineError) as refusal:
        _ = pcoll | "here" >> transform
    error = refusal.value
    assert str(error).splitlines() == [
        error.problem,
        f"  where: {error.where}",
        f"  what to do: {error.remedy}",
    ]
    return error.problem, error.where, error.remedy


def changing(pcoll, lateness=0):
    return pcoll | into(FIXED, EACH, RETRACTING, lateness) | words()


# Rule 6


def test_a_plain_sink_refuses_retractions(pairs):
    problem, where, remedy = refused(changing(pairs), hr.Write(File()))
    assert problem == "the collection can contain retractions, but File does not accept them"
    assert where == "here"
    assert "hr.ToChangelog()" in remedy
    assert "accepts_retractions" in remedy


def test_however_far_away_they_come_from(pairs):
    far = changing(pairs) | hr.Map(str) | hr.Filter(bool) | hr.Reshuffle()
    steady = pairs.pipeline | "steady" >> hr.Create(["b"]) | "w" >> hr.WindowInto(far.windowing)
    together = (steady, far) | hr.Flatten()
    assert "File does not accept them" in refused(together, hr.Write(File()))[0]


def test_discarding_what_cannot_be_subtracted_is_refused(pairs):
    again = changing(pairs) | "again" >> into(FIXED, EACH, DISCARDING)
    problem, where, remedy = refused(again, words())
    assert "Letters" in problem
    assert where == "here"
    assert "subtract_input" in remedy


def test_a_grouping_that_would_drop_retractions_alone_is_refused(pairs):
    again = changing(pairs, lateness=60) | "again" >> into(FIXED, EACH, RETRACTING, lateness=59)
    problem, where, remedy = refused(again, words())
    assert "a lateness of 59 s" in problem
    assert "60 s late" in problem
    assert where == "here"
    assert "as much lateness" in remedy


# Rule 7


def test_accumulating_panes_into_another_grouping_are_warned_of(pairs):
    panes = pairs | into(FIXED, EARLY_AND_LATE, ACCUMULATING) | "first" >> words()
    with pytest.warns(
        UserWarning, match=r"first .*accumulating panes.* more than once.*RETRACTING"
    ):
        _ = panes | "second" >> words()


@pytest.mark.parametrize(
    ("mode", "trigger"), [(DISCARDING, EARLY_AND_LATE), (ACCUMULATING, AfterWatermark())]
)
def test_but_not_those_that_say_everything_once(pairs, mode, trigger):
    _ = pairs | into(FIXED, trigger, mode) | "first" >> words() | "second" >> words()


# Rule 5


def kept(pcoll, label):
    """What the plan says that a grouping keeps."""
    text = hr.explain(pcoll.pipeline).splitlines()
    (start,) = [
        n
        for n, line in enumerate(text)
        if f"PerKey {label!r}" in line or (f"ByKey {label!r}" in line)
    ]
    return next(line for line in text[start:] if "content: " in line).split("content: ")[1]


def test_the_plan_says_what_can_subtract_and_what_keeps_a_multiset(pairs):
    first = pairs | into(FIXED, EACH, RETRACTING) | "first" >> words()
    lengths = first | hr.MapTuple(lambda key, word: (key, len(word)))
    _ = lengths | "sum" >> hr.CombinePerKey(sum)
    _ = lengths | "max" >> hr.CombinePerKey(max)
    _ = lengths | "list" >> hr.GroupByKey()
    retracts = "; the last pane, to retract it"
    assert kept(pairs, "first") == "an accumulator" + retracts
    assert kept(pairs, "sum") == "an accumulator, from which retractions are subtracted" + retracts
    assert kept(pairs, "max") == (
        "a multiset of values, since its input can retract, and the CombineFn has no subtract_input"
        + retracts
    )
    assert kept(pairs, "list") == "a multiset of values, since its input can retract" + retracts


def test_without_retractions_nothing_is_kept_for_them(pairs):
    _ = pairs | "list" >> hr.GroupByKey()
    _ = pairs | "max" >> hr.CombinePerKey(max)
    assert (kept(pairs, "list"), kept(pairs, "max")) == ("a list of values", "an accumulator")


# Others


def test_elements_that_are_no_pairs_are_refused(runner):
    numbers = TestPipeline(runner=runner) | hr.Create([1, 2])
    problem, where, remedy = refused(numbers, hr.GroupByKey())
    assert "of type int" in problem
    assert where == "here"
    assert "hr.WithKeys" in remedy


def test_an_endless_global_grouping_without_a_trigger_is_refused(runner):
    endless = TestPipeline(runner=runner) | script([arrive(at(1, "a")), watermark(5)])
    problem, where, remedy = refused(endless, words())
    assert "no result would ever be emitted" in problem
    assert where == "here"
    assert "trigger" in remedy
    _ = endless | into(GlobalWindows(), EACH) | "triggered" >> words()


def test_a_trigger_that_may_lose_data_is_refused(pairs):
    problem, where, remedy = refused(pairs | into(FIXED, AfterCount(3)), words())
    assert problem.startswith("the trigger AfterCount(3) may finish")
    assert where == "here"
    assert "Repeatedly" in remedy
    _ = pairs | "repeated" >> into(FIXED, Repeatedly(AfterCount(3))) | words()


def test_what_was_refused_leaves_the_pipeline_as_it_was(pairs):
    before = pairs.pipeline.graph
    refused(pairs | into(FIXED, AfterCount(3)), words())
    labels = [node.label for node in pairs.pipeline.graph]
    assert labels == [*(node.label for node in before), "WindowInto(FixedWindows)"]
