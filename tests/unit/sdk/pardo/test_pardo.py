"""Element-wise transforms: what functions see, and what becomes of what they give out."""

from typing import Any, ClassVar

import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.pvalue import TaggedOutput
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.transforms.window import (
    FixedWindows,
    GlobalWindow,
    IntervalWindow,
    SlidingWindows,
    TimestampedValue,
)
from headrace.triggers import PaneInfoTiming
from headrace.utils.windowed_value import WindowedValue


def results_of(values, *transforms):
    """The values of a collection after some transforms."""
    with TestPipeline() as p:
        pcoll = p | hr.Create(values)
        for number, transform in enumerate(transforms):
            pcoll = pcoll | f"Step{number}" >> transform
        captured = capture(pcoll)
    return captured.values


def test_map_gives_one_output_for_each_element() -> None:
    assert results_of([1, 2], hr.Map(lambda x: x * 10)) == [10, 20]


def test_flat_map_gives_the_items_of_each_result() -> None:
    assert results_of(["a b", "", "c"], hr.FlatMap(str.split)) == ["a", "b", "c"]


def test_flat_map_takes_any_iterable_and_none() -> None:
    results: dict[int, Any] = {0: None, 1: [], 2: (2, 2), 3: iter([3]), 4: range(4, 5)}
    assert results_of(list(results), hr.FlatMap(results.get)) == [2, 2, 3, 4]


def test_flat_map_without_a_function_flattens() -> None:
    assert results_of([[1, 2], [3]], hr.FlatMap()) == [1, 2, 3]


@pytest.mark.parametrize("result", ["text", b"bytes", {"a": 1}, 7])
def test_flat_map_refuses_what_nobody_means(result) -> None:
    with pytest.raises(hr.ElementError, match=r"which is (a single|not) "):
        results_of([1], hr.FlatMap(lambda x: result))


def test_filter_keeps_what_is_true() -> None:
    assert results_of([0, 1, "", "a"], hr.Filter(lambda x: x)) == [1, "a"]


def test_tuples_can_be_spread_over_arguments() -> None:
    assert results_of([(1, 2), (3, 4)], hr.MapTuple(lambda a, b: a * b)) == [2, 12]
    assert results_of([("a", 2)], hr.FlatMapTuple(lambda a, n: [a] * n)) == ["a", "a"]


def test_further_arguments_follow_the_element() -> None:
    def combine(x, a, b=0, *, c=0):
        return (x, a, b, c)

    assert results_of([1], hr.Map(combine, 2, c=3)) == [(1, 2, 0, 3)]
    assert results_of([(1, 2)], hr.MapTuple(lambda a, b, c=0: (a, b, c), 3)) == [(1, 2, 3)]  # type: ignore[call-overload]
    assert results_of([1, 5], hr.Filter(lambda x, least: x >= least, 3)) == [5]
    assert results_of([2], hr.FlatMap(lambda x, n: [x] * n, n=2)) == [2, 2]


def timestamp_of(x, t=hr.DoFn.TimestampParam):
    return float(t)


def everything(
    x,
    extra,
    timestamp=hr.DoFn.TimestampParam,
    plain="plain",
    *,
    window=hr.DoFn.WindowParam,
    pane=hr.DoFn.PaneInfoParam,
    diff=hr.DoFn.DiffParam,
):
    return x, extra, float(timestamp), plain, window, pane.timing, diff


def test_a_function_sees_what_it_asks_for() -> None:
    stamped = hr.WithTimestamps(lambda x: x)
    windows = hr.WindowInto(FixedWindows(10))
    seen = results_of([12], stamped, windows, hr.Map(everything, "extra"))
    window = IntervalWindow(10, 20)
    assert seen == [(12, "extra", 12.0, "plain", window, PaneInfoTiming.UNKNOWN, 1)]


def test_arguments_go_to_parameters_that_ask_for_nothing() -> None:
    stamped = hr.WithTimestamps(lambda x: x)
    seen = results_of([12], stamped, hr.Map(everything, "extra", "given"))
    assert seen == [(12, "extra", 12.0, "given", GlobalWindow(), PaneInfoTiming.UNKNOWN, 1)]


def test_a_named_argument_replaces_a_wish() -> None:
    assert results_of([1], hr.Map(timestamp_of, t=3)) == [3.0]


def test_a_spread_function_may_ask_too() -> None:
    stamped = hr.WithTimestamps(lambda pair: pair[1])
    at = hr.MapTuple(lambda k, v, t=hr.DoFn.TimestampParam: (k, float(t)))  # type: ignore[misc]
    assert results_of([("a", 5)], stamped, at) == [("a", 5.0)]


def test_who_sees_the_window_is_called_once_in_each() -> None:
    stamped = hr.WithTimestamps(lambda x: x)
    sliding = hr.WindowInto(SlidingWindows(20, 10))
    starts = hr.Map(lambda x, w=hr.DoFn.WindowParam: float(w.start))  # type: ignore[arg-type, misc]
    assert sorted(results_of([15], stamped, sliding, starts)) == [0.0, 10.0]


def test_who_does_not_see_the_window_is_called_once() -> None:
    calls: list[Any] = []
    stamped = hr.WithTimestamps(lambda x: x)
    sliding = hr.WindowInto(SlidingWindows(20, 10))
    results_of([15], stamped, sliding, hr.Map(calls.append))
    assert calls == [15]


def elements_of(values, *transforms):
    with TestPipeline() as p:
        pcoll = p | hr.Create(values)
        for number, transform in enumerate(transforms):
            pcoll = pcoll | f"Step{number}" >> transform
        captured = capture(pcoll)
    return [(e.value, float(e.timestamp), e.windows) for e in captured.elements]


def test_an_output_inherits_time_and_windows() -> None:
    stamped = hr.WithTimestamps(lambda x: x)
    windows = hr.WindowInto(FixedWindows(10))
    seen = elements_of([12, 3], stamped, windows, hr.FlatMap(lambda x: [x] * (x // 3)))
    ten, zero = (IntervalWindow(10, 20),), (IntervalWindow(0, 10),)
    assert seen == [(12, 12.0, ten)] * 4 + [(3, 3.0, zero)]


@pytest.mark.parametrize("transform", [hr.Map, hr.ParDo, hr.FlatMap])
def test_an_output_can_say_its_time(transform) -> None:
    def at(x):
        value = TimestampedValue(x, x + 0.5)
        return value if transform is hr.Map else [value]

    assert elements_of([1, 2], transform(at)) == [
        (1, 1.5, (GlobalWindow(),)),
        (2, 2.5, (GlobalWindow(),)),
    ]


def test_outputs_of_all_kinds_may_come_together() -> None:
    window = IntervalWindow(0, 10)

    def give(x):
        yield x
        yield TimestampedValue(x, 5)
        yield WindowedValue(x, 6, [window])

    stamped = hr.WithTimestamps(lambda x: 1)
    assert elements_of(["a"], stamped, hr.FlatMap(give)) == [
        ("a", 1.0, (GlobalWindow(),)),
        ("a", 5.0, (GlobalWindow(),)),
        ("a", 6.0, (window,)),
    ]


def test_created_values_can_say_their_time() -> None:
    assert elements_of([TimestampedValue("a", 3)]) == [("a", 3.0, (GlobalWindow(),))]


@pytest.mark.parametrize(
    ("time", "seconds"), [(3, 3.0), (1.25, 1.25), ("1970-01-01T00:01:00Z", 60.0)]
)
def test_with_timestamps_takes_any_time(time, seconds) -> None:
    ((_, timestamp, _),) = elements_of(["a"], hr.WithTimestamps(lambda x: time))
    assert timestamp == seconds


def test_with_timestamps_refuses_what_is_no_time() -> None:
    with pytest.raises(hr.TimeError) as error:
        elements_of(["a"], hr.WithTimestamps(lambda x: "noon"))
    assert any("Step0" in note for note in error.value.__notes__)


class Logged(hr.DoFn):
    """Logs what happens to it."""

    log: ClassVar[list[str]] = []

    def setup(self):
        self.log.append("setup")

    def start_bundle(self):
        self.log.append("start")

    def process(self, element):
        self.log.append(element)
        yield element

    def finish_bundle(self):
        self.log.append("finish")

    def teardown(self):
        self.log.append("teardown")


def test_the_life_of_a_dofn() -> None:
    Logged.log.clear()
    results_of([1, 2], hr.ParDo(Logged()))
    assert Logged.log == ["setup", "start", 1, 2, "finish", "teardown"]


def test_what_arrives_together_is_one_bundle() -> None:
    Logged.log.clear()
    stream = TestStream().add_elements([1]).add_elements([2, 3]).advance_watermark_to_infinity()
    with TestPipeline() as p:
        p | stream | hr.ParDo(Logged())
    calls = ["setup", "start", 1, "finish", "start", 2, 3, "finish", "teardown"]
    assert Logged.log == calls


def test_a_dofn_is_torn_down_when_the_run_fails() -> None:
    Logged.log.clear()
    with pytest.raises(ZeroDivisionError):
        results_of([0], hr.ParDo(Logged()), hr.Map(lambda x: 1 / x))
    assert Logged.log[-1] == "teardown"


def test_two_steps_do_not_share_a_dofn() -> None:
    class Counting(hr.DoFn):
        def setup(self):
            self.seen = 0

        def process(self, element):
            self.seen += 1
            yield self.seen

    dofn = Counting()
    assert results_of(["a", "b"], hr.ParDo(dofn), hr.ParDo(dofn)) == [1, 2]


class Batching(hr.DoFn):
    def start_bundle(self):
        self.batch = []

    def process(self, element):
        self.batch.append(element)

    def finish_bundle(self):
        yield WindowedValue(self.batch, 7, [GlobalWindow()])
        yield TaggedOutput("size", WindowedValue(len(self.batch), 8, [GlobalWindow()]))


def test_the_end_of_a_bundle_gives_out_windowed_values() -> None:
    with TestPipeline() as p:
        batches, sizes = (
            p | hr.Create([1, 2]) | hr.ParDo(Batching()).with_outputs("size", main="batch")
        )
        assert_that(batches, equal_to([[1, 2]]))
        assert_that(sizes, equal_to([2]))


def test_the_end_of_a_bundle_knows_no_time() -> None:
    class Careless(Batching):
        def finish_bundle(self):
            yield self.batch

    with pytest.raises(hr.ElementError, match="without timestamp and windows"):
        results_of([1], hr.ParDo(Careless()))


class Sorting(hr.DoFn):
    def process(self, element, limit=10):
        if element < 0:
            yield TaggedOutput("negative", element)
        elif element < limit:
            yield element
        else:
            yield TaggedOutput("large", TimestampedValue(element, 5))


def test_tagged_outputs_by_name_attribute_and_place() -> None:
    with TestPipeline() as p:
        sorted_ = (
            p
            | hr.Create([3, -1, 20])
            | hr.ParDo(Sorting()).with_outputs("negative", "large", main="small")
        )
        small, negative, large = sorted_
        assert_that(sorted_.small, equal_to([3]))
        assert_that(sorted_["negative"], equal_to([-1]))
        assert_that(sorted_[None], equal_to([3]))
        captured = capture(large)
        assert_that(small, equal_to([3]))
        assert_that(negative, equal_to([-1]))
    (element,) = captured.elements
    assert (element.value, float(element.timestamp)) == (20, 5.0)


def test_without_a_main_tag_only_the_others_are_unpacked() -> None:
    with TestPipeline() as p:
        (negative,) = p | hr.Create([3, -1]) | hr.ParDo(Sorting()).with_outputs("negative")
        assert_that(negative, equal_to([-1]))


def test_without_tags_every_tag_that_is_asked_for_exists() -> None:
    with TestPipeline() as p:
        sorted_ = p | hr.Create([3, -1]) | hr.ParDo(Sorting()).with_outputs()
        assert_that(sorted_.negative, equal_to([-1]))
        assert_that(sorted_.unheard_of, equal_to([]))


def test_outputs_that_nobody_named_are_left_out_if_any_tag_is_accepted() -> None:
    any_tag = hr.ParDo(Sorting()).with_outputs(main="positive")
    with TestPipeline() as p:
        found = capture((p | hr.Create([3, -1]) | any_tag)["positive"])
    assert found.values == [3]
    with pytest.raises(hr.ElementError, match="'negative', which is not declared"):
        results_of([3, -1], hr.ParDo(Sorting()))


def test_a_tag_that_was_not_named_is_refused() -> None:
    sorted_ = hr.Pipeline() | hr.Create([3]) | hr.ParDo(Sorting()).with_outputs("negative")
    with pytest.raises(hr.PipelineError, match="no output 'positive'"):
        sorted_["positive"]


@pytest.mark.parametrize("tags", [("a", "a"), ("main",)])
def test_tags_are_taken_only_once(tags) -> None:
    with pytest.raises(hr.PipelineError, match="is used twice"):
        hr.Map(str).with_outputs(*tags)


def test_map_may_tag_too() -> None:
    with TestPipeline() as p:
        odd = p | hr.Create([1, 2]) | hr.Map(lambda x: TaggedOutput("odd", x)).with_outputs("odd")
        assert_that(odd.odd, equal_to([1, 2]))


def broken(x):
    return 6 // (x - 2)


@pytest.mark.parametrize(
    "transform",
    [
        hr.Map(broken),
        hr.FlatMap(lambda x: [broken(x)]),
        hr.FlatMap(lambda x: (broken(y) for y in [x])),
        hr.Filter(broken),
        hr.WithTimestamps(broken),
        hr.ParDo(lambda x: [broken(x)]),
    ],
    ids=["Map", "FlatMap", "generator", "Filter", "WithTimestamps", "ParDo"],
)
def test_an_error_keeps_its_type_and_gains_label_and_element(transform) -> None:
    with pytest.raises(ZeroDivisionError) as error:
        results_of([1, 2, 3], transform)
    notes = "\n".join(error.value.__notes__)
    assert "Step0" in notes
    assert "the element 2" in notes
    assert error.traceback[-1].name == "broken"


def test_the_element_of_an_error_is_cut_short() -> None:
    with pytest.raises(TypeError) as error:
        results_of(["x" * 10_000], hr.Map(lambda x: x + 1))
    assert all(len(note) < 200 for note in error.value.__notes__)


@pytest.mark.parametrize("thing", [3, "text", None])
def test_a_function_must_be_callable(thing) -> None:
    with pytest.raises(TypeError, match="Map needs a function"):
        hr.Map(thing)


def test_a_dofn_belongs_into_a_pardo() -> None:
    with pytest.raises(TypeError, match="use ParDo"):
        hr.Map(Sorting())  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"use ParDo\(Sorting\(\)\)"):
        hr.ParDo(Sorting)


def test_a_collection_as_an_argument_is_refused() -> None:
    p = hr.Pipeline()
    numbers = p | hr.Create([1])
    with pytest.raises(hr.PipelineError, match=r"pass a side input: hr\.pvalue\.AsList"):
        numbers | hr.Map(lambda x, y: x, numbers)


def test_values_with_a_diff() -> None:
    options = PipelineOptions(["--streaming"])
    with TestPipeline(options=options) as p:
        assert_that(p | hr.Create(["a"]) | hr.ToChangelog(), equal_to([(1, "a")]))
