"""AsyncWrapper: calls of a DoFn in the background, with the results of calls that wait."""

import asyncio
import threading
from threading import Barrier, Event
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.batching.async_calls import EventLoop
from headrace.sdk.batching.async_dofn import WaitingPair
from headrace.sdk.coders.base import PickleCoder
from headrace.testing import TestPipeline, capture
from headrace.transforms.async_dofn import AsyncWrapper
from tests.model.semantics.scenarios import END, FIXED, arrive, at, into, watermark

TOGETHER = Barrier(2, timeout=60)
"""Two calls pass it only if they run at the same time."""


class Meet(hr.DoFn):
    def process(self, pair):
        TOGETHER.wait()
        yield pair


class Double(hr.DoFn):
    def start_bundle(self):
        self.seen = 0

    def process(self, pair):
        yield pair[0], 2 * pair[1]


class Coroutine(hr.DoFn):
    async def process(self, pair):
        await asyncio.sleep(0)
        return [(pair[0], 2 * pair[1])]


class Generator(hr.DoFn):
    async def process(self, pair):
        for _ in range(2):
            await asyncio.sleep(0)
            yield pair


@pytest.mark.mode("batch")
def test_calls_run_at_the_same_time_and_a_batch_waits_for_them(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([("k", 1), ("k", 2)])
        found = capture(pairs | "meet" >> hr.ParDo(AsyncWrapper(Meet(), parallelism=2)))
        coroutines = hr.ParDo(AsyncWrapper(Coroutine(), use_asyncio=True))
        doubled = capture(pairs | "await" >> coroutines, "doubled")
        twice = hr.ParDo(AsyncWrapper(Generator(), use_asyncio=True))
        repeated = capture(pairs | "generate" >> twice, "repeated")
    assert sorted(found.values) == [("k", 1), ("k", 2)]
    assert sorted(doubled.values) == [("k", 2), ("k", 4)]
    assert sorted(repeated.values) == [("k", 1), ("k", 1), ("k", 2), ("k", 2)]


def test_threads_end_with_the_run():
    test_calls_run_at_the_same_time_and_a_batch_waits_for_them("local")
    for thread in threading.enumerate():
        if thread.name == "headrace-asyncio":
            thread.join(60)
            assert not thread.is_alive()


def test_outputs_have_the_timestamps_and_windows_of_their_elements(play):
    events = [arrive(at(3, 1), at(12, 2), at(4, 3)), END]
    seen = play(events, into(FIXED), hr.ParDo(AsyncWrapper(Double())))
    found = sorted((each.value[1], float(each.timestamp)) for each in seen.elements)
    assert found == [(2, 3), (4, 12), (6, 4)]
    windows = {each.value[1]: float(each.window.start) for each in seen.elements}
    assert windows == {2: 0, 4: 10, 6: 0}


def test_an_element_holds_the_watermark_until_its_outputs_are_emitted(play):
    events = [arrive(at(3, 1)), arrive(at(2, 2)), watermark(8)]
    slow = AsyncWrapper(Double(), callback_frequency=1e6)
    seen = play(events, into(FIXED), "slow" >> hr.ParDo(slow))
    assert seen.watermark("slow") == 2
    done = play([*events, watermark(15)], into(FIXED), "slow" >> hr.ParDo(slow))
    assert done.watermark("slow") == 15
    assert sorted(each.value[1] for each in done.elements) == [2, 4]


def test_a_timer_emits_the_outputs_of_calls_that_have_finished():
    start = hr.Timestamp.now()
    with TestPipeline() as p:
        impulses = p | hr.PeriodicImpulse(start, start + 1, 0.1)
        keyed = impulses | hr.Map(lambda time: ("k", 1))
        found = capture(keyed | hr.ParDo(AsyncWrapper(Double(), callback_frequency=0.02)))
    assert found.values == [("k", 2)] * 10
    assert len({each.now for each in found.elements}) > 1


def test_more_elements_than_there_is_room_for_are_processed():
    with TestPipeline() as p:
        pairs = p | hr.Create([("k", n) for n in range(9)])
        wrapper = AsyncWrapper(Double(), max_items_to_buffer=1, timeout=0)
        found = capture(pairs | hr.ParDo(wrapper))
    assert sorted(found.values) == [("k", 2 * n) for n in range(9)]


def test_an_element_with_an_identity_is_dropped_while_another_one_waits():
    with TestPipeline() as p:
        pairs = p | hr.Create([("k", "a1"), ("k", "a2"), ("k", "b1"), ("l", "a1")])
        by_letter = AsyncWrapper(Double(), id_fn=lambda value: value[0])
        found = capture(pairs | "once" >> hr.ParDo(by_letter))
        equal = p | "equal" >> hr.Create([("k", 1), ("k", 1)])
        each = capture(equal | "each" >> hr.ParDo(AsyncWrapper(Double())), "each found")
    assert sorted(found.values) == [("k", "a1a1"), ("k", "b1b1"), ("l", "a1a1")]
    assert each.values == [("k", 2), ("k", 2)]


def test_outputs_can_have_tags_and_timestamps_of_their_own():
    class Split(hr.DoFn):
        def process(self, pair):
            yield hr.TaggedOutput("tagged", pair[1])
            yield hr.TimestampedValue(pair[1], 9)

        def finish_bundle(self):
            yield "end"

    with TestPipeline() as p:
        pairs = p | hr.Create([hr.TimestampedValue(("k", 1), 5)])
        split = hr.ParDo(AsyncWrapper(Split())).with_outputs("tagged", main="main")
        outputs = pairs | split
        main, tagged = capture(outputs.main), capture(outputs.tagged, "tags")
    assert [(each.value, float(each.timestamp)) for each in main.elements] == [(1, 9), ("end", 5)]
    assert [(each.value, float(each.timestamp)) for each in tagged.elements] == [(1, 5)]


def test_a_call_that_fails_is_an_error_of_the_step():
    class Fails(hr.DoFn):
        def process(self, pair):
            raise ValueError(pair)

    p = TestPipeline()
    _ = p | hr.Create([("k", 1)]) | "call" >> hr.ParDo(AsyncWrapper(Fails()))
    with pytest.raises(ValueError, match=r"\('k', 1\)") as raised:
        p.run()
    assert "in call" in raised.value.__notes__


class Bag(list):
    """A bag outside of a run, as after a failed round."""

    add, read = list.append, list.copy


class Alarm:
    """A timer outside of a run."""

    def __init__(self):
        self.times = []

    def set(self, moment, output_timestamp=None):
        self.times.append(output_timestamp)


def test_calls_that_the_state_does_not_have_are_forgotten_and_missing_ones_are_made():
    done = Event()

    class Notes(Double):
        def process(self, pair):
            yield from super().process(pair)
            done.set()

    wrapper, bag, alarm = AsyncWrapper(Notes()), Bag(), Alarm()
    assert wrapper.process(("k", 1), alarm, bag, hr.Timestamp(7)) == []
    assert (bag, alarm.times) == ([("k", 1)], [7])
    lost, bag = bag, Bag([("k", 5)])
    while not (found := wrapper.commit_finished_items(bag, alarm)):
        done.wait()
    assert found == [("k", 10)]
    assert bag == []
    assert (
        wrapper.commit_finished_items(lost, alarm) == []
    )  # its call was forgotten, and is made again
    assert lost == [("k", 1)]
    AsyncWrapper.reset_state()
    assert wrapper.is_empty()
    assert wrapper.accepting_items()


def test_an_element_that_comes_again_after_a_failed_round_has_the_call_that_was_made():
    calls = []

    class Notes(Double):
        def process(self, pair):
            calls.append(pair)
            yield pair

    wrapper, alarm, bag = AsyncWrapper(Notes()), Alarm(), Bag()
    wrapper.process(("k", 1), alarm, Bag())
    wrapper.process(("k", 1), alarm, bag)
    while not (found := wrapper.commit_finished_items(bag, alarm)):
        pass
    assert found == calls == [("k", 1)]


def test_a_pair_keeps_what_is_known_of_it_in_a_checkpoint():
    coder = PickleCoder()
    pair = coder.decode(coder.encode(WaitingPair.of(("k", 1), ("k", None, "id"), hr.Timestamp(3))))
    assert (pair, pair.name, pair.timestamp) == (("k", 1), ("k", None, "id"), 3)


def test_an_event_loop_can_be_stopped():
    async def answer():
        return 42

    loop = EventLoop()
    assert loop.submit(answer).result() == 42
    loop.shutdown()


def test_a_dofn_that_needs_more_than_its_element_is_refused():
    class Asks(hr.DoFn):
        def process(self, pair, window=hr.DoFn.WindowParam):
            yield window

    with pytest.raises(hr.UnsupportedError, match=r"Asks asks for DoFn.WindowParam, and a call in"):
        AsyncWrapper(Asks())
    for name in ("parallelism", "callback_frequency", "max_items_to_buffer"):
        arguments: dict[str, Any] = {name: 0}
        with pytest.raises(hr.PipelineError, match=f"{name} is 0"):
            AsyncWrapper(Double(), **arguments)
