"""What a function receives of a side input, and which programs are refused."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.pardo.side_inputs import DictView
from headrace.testing import TestPipeline, TestStream, capture
from headrace.testing.util import assert_that, equal_to
from headrace.transforms.userstate import BagStateSpec
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import FixedWindows, Sessions

PAIRS = [("a", 1), ("b", 2), ("b", 3)]


class Tagging(hr.DoFn):
    """Sends known words to one output, and the number of bundles to another."""

    def start_bundle(self):
        self.words = 0

    def process(self, word, known, extra=(), window=hr.DoFn.WindowParam):
        self.words += 1
        yield hr.TaggedOutput("known", word) if word in known else f"{word}?{sorted(extra)}"


def largest(values, limit):
    return min(max(values), limit)


@pytest.mark.mode("batch")
def test_each_transform_receives_side_inputs(runner):
    with TestPipeline(runner=runner) as p:
        letters = p | "letters" >> hr.Create(["a", "b", "c"])
        pairs = p | "pairs" >> hr.Create(PAIRS)
        few = p | "few" >> hr.Create([("a", 5), ("b", 7)])
        none = p | "none" >> hr.Create([])
        two = p | "two" >> hr.Create([2])
        table = hr.AsDict(few)
        results = {
            "map": letters | hr.Map(lambda x, d: d.get(x), table),
            "by name": letters | "by name" >> hr.Map(lambda x, d: d.get(x), d=table),
            "twice": letters
            | "twice" >> hr.Map(lambda x, d, e: x in d and d[x] == e[x], table, table),
            "flat": letters | hr.FlatMap(lambda x, d: d[x], hr.AsMultiMap(pairs)),
            "filter": letters | hr.Filter(lambda x, d: x in d, table),
            "tuple": pairs | hr.MapTuple(lambda k, n, d: d[k] * n, table),
            "flat tuple": pairs | hr.FlatMapTuple(lambda k, n, d: [d[k]] * n, table),
            "default": letters | "or" >> hr.Map(lambda x, n: x + n, hr.AsSingleton(none, "!")),
            "largest": few | hr.Values() | hr.CombineGlobally(largest, hr.AsSingleton(two)),
            "empty": none | "nothing" >> hr.CombineGlobally(_count, add=hr.AsIter(few)),
            "by key": pairs | hr.CombinePerKey(largest, limit=hr.AsSingleton(two)),
        }
        split = letters | hr.ParDo(Tagging(), hr.AsDict(few), hr.AsList(none)).with_outputs("known")
        results |= {"known": split.known, "unknown": split[None]}
        expected: dict[str, list[Any]] = {
            "map": [5, 7, None],
            "by name": [5, 7, None],
            "twice": [True, True, False],
            "flat": [1, 2, 3],
            "filter": ["a", "b"],
            "tuple": [5, 14, 21],
            "flat tuple": [5, 7, 7, 7, 7, 7],
            "default": ["a!", "b!", "c!"],
            "largest": [2],
            "empty": [2],
            "by key": [("a", 1), ("b", 2)],
            "known": ["a", "b"],
            "unknown": ["c?[]"],
        }
        for name, values in expected.items():
            assert_that(results[name], equal_to(values), name)


def _count(values, add):
    return len(list(values)) + len(list(add))


class Marked(hr.DoFn):
    def process(self, word, side=hr.DoFn.SideInputParam, time=hr.DoFn.TimestampParam):
        yield word, side


def test_a_parameter_can_be_marked_as_in_beam():
    with TestPipeline() as p:
        side = p | "side" >> hr.Create([1])
        main = p | hr.Create(["a"])
        assert_that(main | hr.ParDo(Marked(), hr.AsSingleton(side)), equal_to([("a", 1)]))
    with pytest.raises(
        hr.PipelineError, match=r"Marked.process takes exactly 2 arguments, but ParDo passes 1"
    ):
        hr.ParDo(Marked())


def test_failing_elements_can_be_set_aside():
    with TestPipeline() as p:
        table = p | "table" >> hr.Create([("a", 1)])
        look_up = hr.Map(lambda x, d: d[x], hr.AsDict(table))
        good, bad = p | hr.Create(["a", "b"]) | look_up.with_exception_handling()
        assert_that(good, equal_to([1]))
        assert_that(bad | hr.Keys(), equal_to(["b"]), "bad")


# Errors.


def failing(values, view) -> str:
    p = TestPipeline()
    side = p | "side" >> hr.Create(values)
    _ = p | hr.Create([1]) | "look up" >> hr.Map(lambda x, s: s[x], view(side))
    with pytest.raises((hr.PipelineError, KeyError)) as raised:
        p.run()
    return "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])


def test_a_singleton_of_several_values():
    text = failing([3, 4], hr.AsSingleton)
    assert "PCollection[side] has 2: [3, 4]" in text
    assert "where: look up" in text
    assert "hr.CombineGlobally" in text


def test_a_dict_of_something_else():
    assert "AsDict needs (key, value) pairs" in failing([3], hr.AsDict)
    assert "AsMultiMap needs (key, value) pairs" in failing([([], 3)], hr.AsMultiMap)


def test_a_missing_key():
    assert failing([(2, 3)], hr.AsDict).split("\n") == [
        "1",
        "the side input PCollection[side] has no key 1 in this window",
        "  what to do: look it up with get(key, default)",
        "on the element 1",
        "in look up",
    ]


def test_the_dict_of_a_side_input_is_a_dict():
    made = DictView()([("a", 1), ("b", 2)], "side")
    assert (made, made.get("c"), "c" in made) == ({"a": 1, "b": 2}, None, False)
    for again in (pickle.loads(pickle.dumps(made)), copy.deepcopy(made), made.copy()):
        assert again == made
        assert type(again) is dict


def test_a_collection_itself_is_refused():
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    for transform in (hr.Map, hr.CombineGlobally):
        with pytest.raises(hr.PipelineError, match=r"pass a side input: hr.pvalue.AsList"):
            numbers | transform(largest, numbers)
    with pytest.raises(hr.PipelineError, match="a side input is a collection"):
        hr.AsList([1, 2])  # type: ignore[arg-type]


def refused(side=(), main=(), transform=hr.Map) -> str:
    """Return the error for a main input and a side input with some steps."""
    p = hr.Pipeline()
    stream = TestStream(stays_open=True).add_elements([("k", 1)])
    pcolls = []
    for name, steps in (("main", main), ("side", side)):
        pcoll: Any = p | name >> stream
        for n, step in enumerate(steps):
            pcoll |= f"{name}{n}" >> step
        pcolls.append(pcoll)
    with pytest.raises(hr.PipelineError) as raised:
        pcolls[0] | "look up" >> transform(lambda x, s: x, hr.AsList(pcolls[1]))
    return str(raised.value)


def repeated(mode):
    return hr.WindowInto(FixedWindows(9), trigger=Repeatedly(AfterCount(1)), accumulation_mode=mode)


def test_windows_that_merge_are_refused():
    text = refused(side=[hr.WindowInto(Sessions(3))])
    assert "the windows of the side input PCollection[side0] merge" in text
    assert "where: look up" in text


def test_a_side_input_that_would_never_be_ready_is_refused():
    assert "would never be complete" in refused(main=[hr.WindowInto(FixedWindows(9))])


def test_a_retracting_main_input_needs_a_side_input_that_fires_once():
    retracting = [repeated(AccumulationMode.RETRACTING), hr.GroupByKey()]
    text = refused(main=retracting, side=[repeated(AccumulationMode.DISCARDING)])
    assert "the main input can contain retractions" in text
    assert "PCollection[side0] can have several panes" in text


class Keeping(hr.DoFn):
    """A stateful DoFn with a side input."""

    BAG = BagStateSpec("bag")

    def process(self, pair, side, bag=hr.DoFn.StateParam(BAG), diff=hr.DoFn.DiffParam):
        bag.add(side)


def keep(fn: Any, side: Any) -> hr.ParDo:
    return hr.ParDo(Keeping(), side)


def test_the_side_inputs_of_a_stateful_dofn_are_checked_too():
    windows = [hr.WindowInto(FixedWindows(9))]
    text = refused(main=windows, side=[hr.WindowInto(Sessions(3))], transform=keep)
    assert "the windows of the side input PCollection[side0] merge" in text
    assert "would never be complete" in refused(main=windows, transform=keep)
    retracting = [repeated(AccumulationMode.RETRACTING), hr.GroupByKey()]
    several = [repeated(AccumulationMode.DISCARDING)]
    text = refused(main=retracting, side=several, transform=keep)
    assert "PCollection[side0] can have several panes" in text


def test_another_pipeline():
    other = hr.Pipeline() | hr.Create([1])
    with pytest.raises(hr.PipelineError, match="belongs to another pipeline"):
        hr.Pipeline() | hr.Create([1]) | hr.Map(lambda x, s: x, hr.AsList(other))


def test_a_global_main_input_with_windows_of_the_side_input():
    p = hr.Pipeline()
    side = p | "side" >> hr.Create([1]) | hr.WindowInto(FixedWindows(9))
    with pytest.warns(hr.HeadraceWarning, match="the main input is in the global window"):
        p | hr.Create([1]) | hr.Map(lambda x, s: x, hr.AsList(side))


def test_the_plan_shows_side_inputs():
    p = hr.Pipeline()
    side = p | "side" >> hr.Create([1])
    _ = p | hr.Create([1]) | "look up" >> hr.Map(lambda x, s: x, hr.AsList(side))
    _ = p | "pairs" >> hr.Create([("k", 1)]) | hr.ParDo(Keeping(), hr.AsList(side))
    assert hr.explain(p).count("side input: PCollection[side] in GlobalWindows()") == 2


# Retractions of the main input.


@pytest.mark.mode("streaming")
def test_retractions_see_what_their_values_saw(runner):
    stream = TestStream().add_elements([hr.TimestampedValue(("k", "a"), 1)])
    stream = stream.add_elements([hr.TimestampedValue(("k", "b"), 2)])
    with TestPipeline(runner=runner) as p:
        words = p | "main" >> stream | repeated(AccumulationMode.RETRACTING) | hr.GroupByKey()
        side = (
            p
            | "side" >> hr.Create([hr.TimestampedValue("!", 3)])
            | "w" >> hr.WindowInto(FixedWindows(9))
        )
        shown = words | hr.MapTuple(lambda key, some, s: "".join(sorted(some) + s), hr.AsList(side))
        captured = capture(shown)
    assert captured.changes == [(1, "a!"), (-1, "a!"), (1, "ab!")]
