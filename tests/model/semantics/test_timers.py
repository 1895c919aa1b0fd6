"""Timers of stateful DoFns: when they fire, in which order, and what they do to the watermark."""

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, capture
from headrace.transforms.timeutil import TimeDomain
from headrace.transforms.userstate import (
    BagStateSpec,
    CombiningValueStateSpec,
    TimerSpec,
    on_timer,
    on_window_expiration,
)
from tests.model.semantics.scenarios import (
    END,
    FIXED,
    MICRO,
    arrive,
    at,
    clock,
    into,
    watermark,
    words,
)


class Alarms(hr.DoFn):
    """Sets a timer of event time at each number that comes; "-5" clears the one that is named 5."""

    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=hr.DoFn.TimerParam(TIMER)):
        number = element[1]
        if number < 0:
            timer.clear(str(-number))
        else:
            timer.set(number, str(number))

    @on_timer(TIMER)
    def fire(
        self, key=hr.DoFn.KeyParam, tag=hr.DoFn.DynamicTimerTagParam, time=hr.DoFn.TimestampParam
    ):
        yield key, f"{tag} at {float(time):g}"


def test_timers_fire_in_the_order_of_their_times(play):
    events = [arrive(at(1, 30), at(1, 10), at(1, 20)), watermark(25), END]
    assert play(events, hr.ParDo(Alarms())).values == ["10 at 10", "20 at 20", "30 at 30"]


def test_a_timer_fires_once_when_the_watermark_reaches_it(play):
    story = [arrive(at(1, 10)), watermark(10 - MICRO)]
    assert play(story, hr.ParDo(Alarms())).values == []
    assert play([*story, watermark(10)], hr.ParDo(Alarms())).values == ["10 at 10"]
    more = [*story, watermark(10), watermark(11), arrive(at(12, 50)), watermark(12)]
    assert play(more, hr.ParDo(Alarms())).values == ["10 at 10"]


def test_a_cleared_timer_does_not_fire(play):
    events = [arrive(at(1, 10), at(1, 20)), watermark(5), arrive(at(6, -10), at(6, -7)), END]
    assert play(events, hr.ParDo(Alarms())).values == ["20 at 20"]


def test_timers_belong_to_a_key_and_a_window(play):
    events = [arrive(at(1, 5, "x"), at(11, 15, "x"), at(1, 5, "y")), END]
    played = play(events, into(FIXED), hr.ParDo(Alarms()))
    assert sorted(e.value for e in played.elements) == [
        ("x", "15 at 15"),
        ("x", "5 at 5"),
        ("y", "5 at 5"),
    ]
    assert sorted(played.windows) == [
        ("15 at 15", (10, 20)),
        ("5 at 5", (0, 10)),
        ("5 at 5", (0, 10)),
    ]


class OneAlarm(Alarms):
    """One timer without a tag."""

    def process(self, element, timer=hr.DoFn.TimerParam(Alarms.TIMER)):
        timer.set(element[1])


def test_a_timer_that_is_set_again_has_only_its_new_time(play):
    later = [arrive(at(1, 10)), watermark(5), arrive(at(6, 20)), watermark(15), END]
    assert play(later, hr.ParDo(OneAlarm())).values == [" at 20"]
    earlier = [arrive(at(1, 20)), watermark(5), arrive(at(6, 10)), watermark(15)]
    assert play(earlier, hr.ParDo(OneAlarm())).values == [" at 10"]


def test_a_timer_later_than_its_window_fires_when_that_expires(play):
    events = [arrive(at(1, 30)), watermark(13), watermark(14)]
    assert play(events[:2], into(FIXED, lateness=4), hr.ParDo(OneAlarm())).values == []
    played = play(events, into(FIXED, lateness=4), hr.ParDo(OneAlarm()))
    assert played.times == [(" at 14", 10 - MICRO)]


def test_a_timer_that_is_past_fires_at_once_with_the_timestamp_of_its_element(play):
    events = [watermark(20), arrive(at(25, 3)), watermark(21)]
    played = play(events, hr.ParDo(OneAlarm()))
    assert played.times == [(" at 3", 25)]


class Chain(hr.DoFn):
    """A timer that sets itself to a second later until 5; at 3 it sets another, which is due already."""

    AGAIN = TimerSpec("again", TimeDomain.WATERMARK)
    DUE = TimerSpec("due", TimeDomain.WATERMARK)

    def process(self, element, again=hr.DoFn.TimerParam(AGAIN)):
        again.set(element[1])

    @on_timer(AGAIN)
    def continue_(
        self,
        key=hr.DoFn.KeyParam,
        time=hr.DoFn.TimestampParam,
        again=hr.DoFn.TimerParam(AGAIN),
        due=hr.DoFn.TimerParam(DUE),
    ):
        if time < 5:
            again.set(time + 1)
        if time == 3:
            due.set(time)
        yield key, f"{float(time):g}"

    @on_timer(DUE)
    def fire(self, key=hr.DoFn.KeyParam):
        yield key, "due"


def test_timers_that_are_set_while_firing_and_are_due_fire_in_the_same_bundle(play):
    played = play([arrive(at(0, 1)), watermark(4), clock(10), watermark(9)], hr.ParDo(Chain()))
    first = [("1", 0), ("2", 0), ("3", 0), ("due", 0), ("4", 0)]
    assert played.moments == [*first, ("5", 10)]


class Loop(hr.DoFn):
    """A timer that always sets itself to three seconds later."""

    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=hr.DoFn.TimerParam(TIMER)):
        timer.set(element[1])

    @on_timer(TIMER)
    def again(
        self, key=hr.DoFn.KeyParam, time=hr.DoFn.TimestampParam, timer=hr.DoFn.TimerParam(TIMER)
    ):
        timer.set(time + 3)
        yield key, f"{float(time):g}"


def test_a_looping_timer_ends_with_its_window(play):
    played = play([arrive(at(1, 3)), END], into(FIXED), hr.ParDo(Loop()))
    assert played.values == ["3", "6", "9", "10"]


# Processing time


class Patience(hr.DoFn):
    """Collects letters, and emits them 15 seconds of processing time after the first of them."""

    BAG = BagStateSpec("bag")
    WAIT = TimerSpec("wait", TimeDomain.REAL_TIME)

    def process(self, element, bag=hr.DoFn.StateParam(BAG), wait=hr.DoFn.TimerParam(WAIT)):
        if not bag.read():
            wait.set(element[1][1])
        bag.add(element[1][0])

    @on_timer(WAIT)
    def emit(self, key=hr.DoFn.KeyParam, bag=hr.DoFn.StateParam(BAG)):
        yield key, "".join(bag.read())
        bag.clear()


PATIENT = [
    arrive(at(3, ("a", 15)), at(4, ("b", 15))),
    clock(10),
    arrive(at(5, ("c", 15))),
    clock(10),
    arrive(at(6, ("d", 90))),
    watermark(12),
]


def test_a_timer_of_processing_time_goes_by_the_clock(play):
    played = play(PATIENT, hr.ParDo(Patience()))
    assert (played.moments, played.times) == ([("abc", 20)], [("abc", 3)])


def test_it_fires_when_its_window_expires_if_the_clock_has_not_reached_it(play):
    played = play(PATIENT, into(FIXED), hr.ParDo(Patience()))
    assert (played.moments, played.times) == ([("abc", 20), ("d", 20)], [("abc", 3), ("d", 6)])


@pytest.mark.mode("batch")
def test_so_in_a_batch_it_fires_too(runner):
    with TestPipeline(runner=runner) as p:
        letters = p | hr.Create([at(1, ("a", 15)), at(2, ("b", 99)), at(11, ("c", 1 << 40))])
        emitted = capture(letters | into(FIXED) | hr.ParDo(Patience()))
    assert sorted(emitted.values) == [("k", "ab"), ("k", "c")]


def test_until_it_fires_its_output_holds_the_watermark(play):
    held = play([PATIENT[0], watermark(9)], "wait" >> hr.ParDo(Patience()))
    assert held.watermark("wait") == 3
    windows = "windows" >> into(FIXED)
    played = play([*PATIENT, END], hr.ParDo(Patience()), windows, "again" >> words())
    assert (played.timings, played.dropped) == ([("abcd", "ON_TIME")], 0)


# Timestamps and holds


class Delayed(hr.DoFn):
    """Emits a letter when its timer fires at 20, at the timestamp that the element names."""

    BAG = BagStateSpec("bag")
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, bag=hr.DoFn.StateParam(BAG), timer=hr.DoFn.TimerParam(TIMER)):
        letter, output = element[1]
        bag.add(letter)
        timer.set(20, output_timestamp=output)

    @on_timer(TIMER)
    def emit(self, key=hr.DoFn.KeyParam, bag=hr.DoFn.StateParam(BAG)):
        yield key, "".join(bag.read())


def test_the_outputs_of_a_timer_have_its_output_timestamp(play):
    events = [arrive(at(1, ("a", 7), "x"), at(1, ("b", None), "y")), END]
    assert sorted(play(events, hr.ParDo(Delayed())).times) == [("a", 7), ("b", 20)]


def test_the_output_timestamp_holds_the_watermark_until_the_timer_fires(play):
    events = [arrive(at(1, ("a", 7), "x"), at(1, ("b", None), "y")), watermark(18), watermark(20)]
    assert play(events[:2], "late" >> hr.ParDo(Delayed())).watermark("late") == 7
    assert play(events, "late" >> hr.ParDo(Delayed())).watermark("late") == 20


def test_so_the_next_grouping_is_on_time(play):
    events = [arrive(at(1, ("a", 7))), watermark(18), watermark(20), END]
    played = play(events, hr.ParDo(Delayed()), into(FIXED), words())
    assert (played.windows, played.timings) == ([("a", (0, 10))], [("a", "ON_TIME")])
    assert played.dropped == 0


@pytest.mark.parametrize(
    ("output", "problem"),
    [(30, "would have the later timestamp"), (3, "before that of the element")],
)
def test_an_output_timestamp_after_the_timer_or_before_the_element_is_an_error(output, problem):
    with pytest.raises(hr.PipelineError, match=problem) as found, TestPipeline() as p:
        _ = p | hr.Create([at(5, ("a", output))]) | "here" >> hr.ParDo(Delayed())
    assert found.value.__notes__ == [f"on the element ('k', ('a', {output}))", "in here"]


# The end of a window


class Last(hr.DoFn):
    """Shows what is called at the end of a window, in order."""

    EVENT = TimerSpec("event", TimeDomain.WATERMARK)
    CLOCK = TimerSpec("clock", TimeDomain.REAL_TIME)
    CALLS = CombiningValueStateSpec("calls", sum)

    def process(
        self,
        element,
        event=hr.DoFn.TimerParam(EVENT),
        wait=hr.DoFn.TimerParam(CLOCK),
        calls=hr.DoFn.StateParam(CALLS),
    ):
        calls.add(1)
        wait.set(1000)
        event.set(10)

    @on_timer(EVENT)
    def at_the_end(self, key=hr.DoFn.KeyParam, calls=hr.DoFn.StateParam(CALLS)):
        calls.add(1)
        yield key, f"{calls.read()} timer"

    @on_timer(CLOCK)
    def by_the_clock(
        self,
        key=hr.DoFn.KeyParam,
        calls=hr.DoFn.StateParam(CALLS),
        event=hr.DoFn.TimerParam(EVENT),
    ):
        calls.add(1)
        event.set(10)
        yield key, f"{calls.read()} clock"

    @on_window_expiration
    def rest(
        self,
        key=hr.DoFn.KeyParam,
        calls=hr.DoFn.StateParam(CALLS),
        wait=hr.DoFn.TimerParam(CLOCK),
    ):
        calls.add(1)
        wait.set(0)
        yield key, f"{calls.read()} rest"


CALLED = ["2 timer", "3 clock", "4 rest"]


def test_at_the_end_of_a_window_timers_fire_and_then_it_expires(play):
    played = play([arrive(at(1, "a")), watermark(10), END], into(FIXED), hr.ParDo(Last()))
    assert played.values == CALLED


@pytest.mark.mode("batch")
def test_in_a_batch_too(runner):
    with TestPipeline(runner=runner) as p:
        found = capture(p | hr.Create([at(1, "a")]) | into(FIXED) | hr.ParDo(Last()))
    assert [value for _, value in found.values] == CALLED


def test_nothing_is_left_of_an_expired_window(play):
    """An element of another window finds neither its state nor its timers."""
    events = [arrive(at(1, "a")), watermark(10), arrive(at(11, "b")), watermark(20), END]
    assert play(events, into(FIXED), hr.ParDo(Last())).values == CALLED * 2


class Broken(hr.DoFn):
    TIMER = TimerSpec("timer", TimeDomain.WATERMARK)

    def process(self, element, timer=hr.DoFn.TimerParam(TIMER)):
        timer.set(element[1])

    @on_timer(TIMER)
    def fail(self):
        raise ValueError("unlucky")


def test_an_error_in_a_timer_names_the_step_the_timer_and_the_key():
    with pytest.raises(ValueError, match="unlucky") as found, TestPipeline() as p:
        _ = p | hr.Create([at(1, 5)]) | "here" >> hr.ParDo(Broken())
    assert found.value.__notes__ == ["from the timer 'timer'", "for the key 'k'", "in here"]


def test_without_an_end_of_the_stream_no_window_expires():
    stays_open = TestStream(stays_open=True).add_elements([at(1, "a")])
    with TestPipeline() as p:
        found = capture(p | stays_open | into(FIXED) | hr.ParDo(Last()))
    assert found.values == []


class Times(hr.DoFn):
    """Emits the current time in both domains."""

    EVENT = TimerSpec("event", TimeDomain.WATERMARK)
    REAL = TimerSpec("real", TimeDomain.REAL_TIME)

    def process(self, pair, event=hr.DoFn.TimerParam(EVENT), real=hr.DoFn.TimerParam(REAL)):
        yield pair[0], (float(event.current_relative_time()), float(real.current_relative_time()))

    @on_timer(EVENT)
    def on_event(self):
        """Do nothing."""

    @on_timer(REAL)
    def on_real(self):
        """Do nothing."""


def test_a_timer_tells_the_time_in_its_domain(play):
    events = [watermark(3), clock(7), arrive(at(5, "a")), END]
    assert play(events, hr.ParDo(Times())).values == [(3, 7)]
