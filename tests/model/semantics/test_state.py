"""State of stateful DoFns: per key and window, of several kinds, and removed when it is empty or expires."""

import pickle
from typing import Any

import pytest

import headrace as hr
from headrace.grouping.bundle import Bundle, Element
from headrace.runners.grouping.keyed_table import KeyedTable
from headrace.runners.grouping.output import UnkeyedOutputs
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_outputs import DoFnOutputs
from headrace.sdk.pardo.stateful_dofn import stateful
from headrace.sdk.pipelines.outputs import CallingStep
from headrace.testing import TestPipeline, capture
from headrace.transforms.combiners import ToListCombineFn
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    MapStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from headrace.triggers import AfterCount, AfterWatermark
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import Clock
from tests.model.semantics.scenarios import (
    DISCARDING,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    SLIDING,
    arrive,
    at,
    clock,
    into,
    watermark,
    words,
)

SECOND = 1_000_000


class Kinds(hr.DoFn):
    """Adds each letter to a state of each kind, and shows what each holds."""

    BAG = BagStateSpec("bag")
    SET = SetStateSpec("set")
    LAST = ReadModifyWriteStateSpec("last")
    COUNT = CombiningValueStateSpec("count", sum)
    ORDERED = OrderedListStateSpec("ordered")
    COUNTS = MapStateSpec("counts")

    def process(
        self,
        element,
        time=hr.DoFn.TimestampParam,
        bag=hr.DoFn.StateParam(BAG),
        unique=hr.DoFn.StateParam(SET),
        last=hr.DoFn.StateParam(LAST),
        count=hr.DoFn.StateParam(COUNT),
        ordered=hr.DoFn.StateParam(ORDERED),
        counts=hr.DoFn.StateParam(COUNTS),
    ):
        key, letter = element
        bag.add(letter)
        unique.add(letter)
        count.add(1)
        ordered.add((time, letter))
        counts.put(letter, counts.get(letter, 0) + 1)
        before, in_order = last.read(), "".join(letter for _, letter in ordered.read())
        last.write(letter)
        yield (
            key,
            (
                "".join(bag.read()),
                "".join(unique.read()),
                before,
                count.read(),
                in_order,
                counts.items(),
            ),
        )


def test_each_kind_of_state_keeps_what_was_added(play):
    events = [arrive(at(3, "b")), arrive(at(1, "a"), at(2, "b")), watermark(5), END]
    assert [value for _, _, value in play(events, hr.ParDo(Kinds())).pairs] == [
        ("b", "b", None, 1, "b", [("b", 1)]),
        ("ba", "ba", "b", 2, "ab", [("b", 1), ("a", 1)]),
        ("bab", "ba", "a", 3, "abb", [("b", 2), ("a", 1)]),
    ]


class Running(hr.DoFn):
    """The letters of a key and window so far; "!" removes them."""

    BAG = BagStateSpec("bag")

    def process(self, element, bag=hr.DoFn.StateParam(BAG)):
        key, letter = element
        if letter == "!":
            bag.clear()
        else:
            bag.add(letter)
        yield key, "".join(bag.read())


def test_state_belongs_to_a_key(play):
    events = [arrive(at(1, "a", "x"), at(1, "b", "y")), arrive(at(1, "c", "x"), at(1, "d", "y"))]
    played = play(events, hr.ParDo(Running()))
    assert sorted(played.pairs) == [(1, "x", "a"), (1, "x", "ac"), (1, "y", "b"), (1, "y", "bd")]


def test_keys_are_equal_if_their_encodings_are(play):
    events = [arrive(at(1, "a", 1)), arrive(at(1, "b", 1.0)), arrive(at(1, "c", 1))]
    assert play(events, hr.ParDo(Running())).values == ["a", "b", "ac"]


def test_state_belongs_to_a_window(play):
    events = [arrive(at(1, "a"), at(11, "b")), arrive(at(2, "c"), at(12, "d"))]
    assert play(events, into(FIXED), hr.ParDo(Running())).windows == [
        ("a", (0, 10)),
        ("b", (10, 20)),
        ("ac", (0, 10)),
        ("bd", (10, 20)),
    ]


def test_an_element_in_two_windows_is_processed_in_each(play):
    events = [arrive(at(11, "a")), arrive(at(21, "b"))]
    played = play(events, into(SLIDING), hr.ParDo(Running()))
    assert sorted(played.windows) == [
        ("a", (0, 20)),
        ("a", (10, 30)),
        ("ab", (10, 30)),
        ("b", (20, 40)),
    ]


def test_cleared_state_is_empty(play):
    events = [arrive(at(1, "a"), at(1, "!"), at(1, "b")), arrive(at(1, "!")), arrive(at(1, "c"))]
    assert play(events, hr.ParDo(Running())).values == ["a", "", "b", "", "c"]


def test_elements_of_expired_windows_are_dropped_and_counted(play):
    events = [arrive(at(1, "a")), watermark(12), arrive(at(2, "b"), at(11, "c")), watermark(13)]
    strict = play(events, into(FIXED), hr.ParDo(Running()))
    assert (strict.values, strict.dropped) == (["a", "c"], 1)
    lenient = play(events, into(FIXED, lateness=3), hr.ParDo(Running()))
    assert (lenient.values, lenient.dropped) == (["a", "ab", "c"], 0)


def test_outputs_have_the_timestamp_and_window_of_their_element(play):
    played = play([arrive(at(3, "a"))], into(FIXED), hr.ParDo(Running()))
    assert (played.times, played.windows) == ([("a", 3)], [("a", (0, 10))])


# Time to live


class Remembering(hr.DoFn):
    """What was said within the last 15 seconds of processing time; "?" only asks."""

    SAID = BagStateSpec("said", time_to_live=15)

    def process(self, element, said=hr.DoFn.StateParam(SAID)):
        key, letter = element
        if letter != "?":
            said.add(letter)
        yield key, "".join(said.read())


def test_state_with_a_time_to_live_ends_so_long_after_the_last_write(play):
    question = arrive(at(1, "?"))
    events = [arrive(at(1, "a")), clock(10), question, clock(10), question, arrive(at(1, "b"))]
    assert play(events, hr.ParDo(Remembering())).values == ["a", "a", "", "b"]


def test_each_write_starts_the_time_again(play):
    events = [arrive(at(1, "a")), clock(10), arrive(at(1, "b")), clock(10), arrive(at(1, "?"))]
    assert play(events, hr.ParDo(Remembering())).values == ["a", "ab", "ab"]


# Removal


class Kept:
    """The table of one stateful DoFn."""

    def __init__(self, dofn):
        declared = stateful(dofn)
        assert declared is not None
        self.keys = StatefulKeys(dofn, declared, WindowingStrategy(FIXED))
        self.table = KeyedTable(self.keys)
        self.clock = Clock(0, 0)

    def window(self, time):
        start = time // 10 * 10
        return hr.window.IntervalWindow(start, start + 10)

    def play(self, *rounds):
        """Rounds of elements, watermark and processing time; return the outputs of all."""
        out = DoFnOutputs(CallingStep("Stateful", "process"))
        for elements, mark, now in rounds:
            rows = [
                Element((key, value), time * SECOND, (self.window(time),))
                for key, value, time in elements
            ]
            arrivals = [(row.value[0], row.value[0], Bundle.of([row])) for row in rows]
            self.table.process(arrivals, Clock(self.clock.watermark, now), UnkeyedOutputs(out))
            self.clock = Clock(mark * SECOND, now * SECOND)
            self.table.wake(self.clock, UnkeyedOutputs(out))
        return out.values


def test_a_key_without_state_takes_no_space():
    kept = Kept(Running())
    kept.play(([("k", "a", 1), ("l", "b", 1)], 0, 0))
    assert len(kept.table) == 2
    kept.play(([("k", "!", 1)], 0, 0))
    assert len(kept.table) == 1


def test_an_expired_window_takes_no_space():
    kept = Kept(Running())
    kept.play(([("k", "a", 1), ("k", "b", 11)], 5, 0))
    assert len(kept.table) == 1
    kept.play(([], 10, 0))
    assert len(kept.table) == 1
    kept.play(([], 20, 0))
    assert len(kept.table) == 0


def test_state_past_its_time_to_live_takes_no_space_without_further_elements():
    kept = Kept(Remembering())
    kept.play(([("k", "a", 1)], 0, 0), ([], 0, 14))
    assert len(kept.table) == 1
    kept.play(([], 0, 15))
    assert len(kept.table) == 0


class OnlyTimer(hr.DoFn):
    """A timer and no state; "!" clears it."""

    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=hr.DoFn.TimerParam(TIMER)):
        if element[1] == "!":
            timer.clear()
        else:
            timer.set(5)

    @on_timer(TIMER)
    def fire(self, key=hr.DoFn.KeyParam):
        yield key, "fired"


def test_a_key_without_timers_takes_no_space():
    kept = Kept(OnlyTimer())
    kept.play(([("k", "a", 1), ("l", "a", 1)], 2, 0))
    assert len(kept.table) == 2
    kept.play(([("k", "!", 1)], 2, 0))
    assert len(kept.table) == 1
    assert kept.play(([], 5, 0)) == [("l", "fired")]
    assert len(kept.table) == 0


@pytest.mark.parametrize("dofn", [Kinds(), Running(), Remembering(), OnlyTimer()])
def test_frozen_state_continues_as_if_it_had_not_been_stored(dofn):
    first = ([("k", "b", 1), ("k", "a", 11), ("l", "b", 2)], 3, 3)
    then: Any = ([("k", "a", 2), ("l", "c", 11)], 4, 10), ([], 12, 18), ([("k", "?", 12)], 25, 30)
    one, other = Kept(dofn), Kept(dofn)
    one.play(first)
    other.play(first)
    stored = dict(other.table.entries(pickle.dumps))
    other.table = KeyedTable(other.keys, pickle.loads, stored)
    assert one.play(*then) == other.play(*then)
    assert len(one.table) == len(other.table)


def test_what_a_state_returned_does_not_change_later():
    kept = Kept(Listing())
    assert kept.play(([("k", "a", 1), ("k", "b", 1)], 0, 0)) == [("k", ["a"]), ("k", ["a", "b"])]


class Listing(hr.DoFn):
    """A list of all letters so far, by a CombineFn whose output is its accumulator."""

    ALL = CombiningValueStateSpec("all", ToListCombineFn())

    def process(self, element, letters=hr.DoFn.StateParam(ALL)):
        letters.add(element[1])
        yield element[0], letters.read()


# Expiration


class Rest(hr.DoFn):
    """The letters of a window, when it expires."""

    BAG = BagStateSpec("bag")

    def process(self, element, bag=hr.DoFn.StateParam(BAG)):
        bag.add(element[1])

    @on_window_expiration
    def rest(self, key=hr.DoFn.KeyParam, bag=hr.DoFn.StateParam(BAG)):
        yield key, "".join(bag.read())


def test_a_method_is_called_when_a_window_expires(play):
    events = [arrive(at(1, "a"), at(11, "b")), watermark(10), arrive(at(2, "c")), watermark(14)]
    played = play(events, into(FIXED, lateness=4), hr.ParDo(Rest()))
    assert played.windows == [("ac", (0, 10))]
    assert played.times == [("ac", pytest.approx(10))]


def test_what_it_emits_is_on_time_for_the_next_grouping(play):
    """The watermark is held at the end of the window until the window expires."""
    events = [arrive(at(1, "a")), watermark(11), watermark(14), END]
    steps = into(FIXED, lateness=4), "rest" >> hr.ParDo(Rest()), "new" >> into(FIXED)
    played = play(events, *steps, "again" >> words())
    assert (played.timings, played.dropped) == ([("a", "ON_TIME")], 0)
    assert play(events[:2], *steps[:2]).watermark("rest") == pytest.approx(10)


# Batch, bundles, metrics


@pytest.mark.mode("batch")
def test_a_batch_has_the_result_of_a_stream(runner):
    with TestPipeline(runner=runner) as p:
        rows = p | hr.Create([at(11, "a"), at(1, "b"), at(2, "c", "l"), at(3, "d")])
        letters = capture(rows | into(FIXED) | hr.ParDo(Rest()))
    assert sorted(letters.values) == [("k", "a"), ("k", "bd"), ("l", "c")]


class Odd(hr.DoFn):
    """Numbers the elements of a key; those with odd numbers go to another output, and are counted."""

    COUNT = CombiningValueStateSpec("count", sum)

    def __init__(self):
        self.odd = hr.metrics.Metrics.counter("test", "odd")

    def process(self, element, base, count=hr.DoFn.StateParam(COUNT)):
        count.add(1)
        number = base + count.read()
        if number % 2:
            self.odd.inc()
            yield hr.pvalue.TaggedOutput("odd", (element[0], number))
        else:
            yield element[0], number


@pytest.mark.mode("batch")
def test_a_stateful_dofn_has_outputs_arguments_and_metrics_like_any_other(runner):
    with TestPipeline(runner=runner) as p:
        rows = p | hr.Create([at(1, "a"), at(1, "b"), at(1, "c")])
        numbered = rows | hr.ParDo(Odd(), 10).with_outputs("odd", main="even")
        even, odd = capture(numbered.even), capture(numbered.odd, "capture odd")
    assert (even.values, odd.values) == ([("k", 12)], [("k", 11), ("k", 13)])
    assert p.result is not None
    (counter,) = p.result.metrics().query()["counters"]
    assert (counter.key.metric.name, counter.committed) == ("odd", 2)


class Bundled(Running):
    """Emits the number of elements of each bundle."""

    def start_bundle(self):
        self.number = 0

    def process(self, element, bag=hr.DoFn.StateParam(Running.BAG)):
        self.number += 1

    def finish_bundle(self):
        yield hr.WindowedValue(("k", str(self.number)), 0, (hr.window.GlobalWindow(),))


def test_elements_that_arrive_together_are_one_bundle(play):
    events = [arrive(at(1, "a"), at(1, "b")), watermark(5), arrive(at(6, "c"))]
    assert play(events, hr.ParDo(Bundled())).values == ["2", "1"]


# Refusals


def refused(transform, *before):
    p = TestPipeline()
    pcoll = p | hr.Create([("k", "a")])
    for each in before:
        pcoll = pcoll | each
    with pytest.raises(hr.PipelineError) as refusal:
        _ = pcoll | "here" >> transform
    assert refusal.value.where == "here"
    return refusal.value.problem, refusal.value.remedy


def test_merging_windows_are_refused():
    problem, remedy = refused(hr.ParDo(Running()), into(SESSIONS))
    assert "the windows of a stateful DoFn cannot merge, but Sessions" in problem
    assert "hr.GroupByKey" in remedy


def test_elements_that_are_not_pairs_are_refused():
    p = TestPipeline()
    with pytest.raises(hr.PipelineError, match="must be key-value pairs") as refusal:
        _ = p | hr.Create([1, 2]) | "here" >> hr.ParDo(Running())
    assert refusal.value.where == "here"
    with (
        pytest.raises(hr.ElementError, match=r"the element 1 is not a .key, value. pair") as found,
        hr.Pipeline() as running,
    ):
        _ = running | hr.Create([1, 2]) | hr.Map(lambda x: x) | "here" >> hr.ParDo(Running())
    assert found.value.__notes__ == ["in here"]


class Net(hr.DoFn):
    """The letters of a key, without those that were retracted."""

    BAG = BagStateSpec("bag")

    def process(self, element, diff=hr.DoFn.DiffParam, bag=hr.DoFn.StateParam(BAG)):
        words = bag.read()
        words.append(element[1]) if diff > 0 else words.remove(element[1])
        bag.clear()
        for word in words:
            bag.add(word)
        yield element[0], "+".join(words)


EARLY = AfterWatermark(early=AfterCount(1))


def test_retractions_are_refused():
    problem, remedy = refused(hr.ParDo(Running()), into(FIXED, EARLY, RETRACTING), words())
    assert "the collection can contain retractions, but Running would add them" in problem
    assert "DiffParam" in remedy


def test_unless_process_takes_the_diff(play):
    events = [arrive(at(1, "a")), arrive(at(2, "b")), END]
    steps = into(FIXED, EARLY, RETRACTING), words(), into(FIXED, mode=DISCARDING)
    assert play(events, *steps[:2], hr.ParDo(Net())).values == ["a", "", "ab", "", "ab"]


def without_a_dofn(x, bag=hr.DoFn.StateParam(Running.BAG)):
    return x


def test_a_state_outside_a_dofn_is_refused():
    with pytest.raises(hr.PipelineError, match=r"apply it with hr\.ParDo") as refusal:
        hr.Map(without_a_dofn)
    assert refusal.value.problem == (
        "the function of Map asks for DoFn.StateParam(bag), but only DoFns have state and timers"
    )


class InBundle(Running):
    def start_bundle(self, bag=hr.DoFn.StateParam(Running.BAG)):
        raise AssertionError("never called")


def test_a_state_outside_of_a_key_is_refused():
    with pytest.raises(hr.PipelineError, match=r"InBundle.start_bundle asks for BagStateSpec"):
        hr.ParDo(InBundle())


class Keeping(Running):
    """Keeps a cell in an attribute, and uses it for the next key."""

    kept: Any = None

    def process(self, element, bag=hr.DoFn.StateParam(Running.BAG)):
        if self.kept is not None:
            self.kept.add(element[1])
        self.kept = bag

    def finish_bundle(self):
        self.kept.read()


@pytest.mark.parametrize("rows", [[("k", "a"), ("l", "b")], [("k", "a")]])
@pytest.mark.parametrize("flags", [[], ["--streaming"]])
def test_a_state_that_is_kept_for_another_key_or_the_end_of_the_bundle_is_an_error(rows, flags):
    with (
        pytest.raises(hr.PipelineError, match="a BagState is used outside of the calls") as found,
        TestPipeline(argv=flags) as p,
    ):
        _ = p | hr.Create(rows) | "here" >> hr.ParDo(Keeping())
    assert found.value.__notes__[-1] == "in here"
    assert "do not keep it in an attribute" in found.value.remedy


class Changing(Running):
    def process(self, element, bag=hr.DoFn.StateParam(Running.BAG)):
        element[1].append("!")


def test_a_changed_element_is_found():
    with pytest.raises(hr.MutationError) as found, TestPipeline(argv=["--check-mutation"]) as p:
        _ = p | hr.Create([("k", ["a"])]) | "here" >> hr.ParDo(Changing())
    assert "process changed its input ('k', ['a'])" in str(found.value)
    assert found.value.where == "here"


class Fails(Running):
    def process(self, element, bag=hr.DoFn.StateParam(Running.BAG)):
        raise ValueError("unlucky")


def test_an_error_names_the_step_and_the_element():
    with pytest.raises(ValueError, match="unlucky") as found, TestPipeline() as p:
        _ = p | hr.Create([("k", "a")]) | "here" >> hr.ParDo(Fails())
    assert found.value.__notes__ == ["on the element ('k', 'a')", "in here"]


@pytest.mark.parametrize("length", [0, -1])
def test_a_time_to_live_is_longer_than_nothing(length):
    with pytest.raises(hr.PipelineError, match=f"time_to_live of the state 'said' is {length}"):
        BagStateSpec("said", time_to_live=length)


def test_the_end_of_time_expires_the_global_window(play):
    events = [arrive(at(1, "a")), watermark(5), arrive(at(6, "b"))]
    assert play(events, hr.ParDo(Rest())).values == []
    assert play([*events, END], hr.ParDo(Rest())).values == ["ab"]
