"""Elements that fail: set aside as dead letters, each processed once, and retracted when they are."""

import logging
import time
from collections import Counter

import pytest

import headrace as hr
from headrace.testing import TestPipeline, TestStream, assert_that, capture, equal_to
from headrace.transforms.window import FixedWindows, SlidingWindows, TimestampedValue
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark

pytestmark = pytest.mark.mode("batch")


def outputs_of(values, transform, runner="local"):
    """What the two outputs of a transform hold."""
    with TestPipeline(runner=runner) as p:
        good, bad = p | hr.Create(values) | transform
        captured = capture(good, "good"), capture(bad, "bad")
    return captured[0].values, captured[1].values


def elements(letters):
    return [letter[0] for letter in letters]


def reciprocal(x):
    return 1 / x


def repeated(x):
    for number in range(4):
        if number == x:
            raise ValueError(x)
        yield x * 10 + number


class Repeated(hr.DoFn):
    def process(self, element):
        return repeated(element)


def test_good_and_bad(runner) -> None:
    with TestPipeline(runner=runner) as p:
        good, bad = p | hr.Create([1, 0, 2]) | hr.Map(reciprocal).with_exception_handling()
        assert_that(good, equal_to([1.0, 0.5]), "good")
        kinds = bad | hr.MapTuple(lambda element, error: (element, error[0], error[1]))
        wrong = (0, ZeroDivisionError, "ZeroDivisionError('division by zero')")
        assert_that(kinds, equal_to([wrong]), "bad")


def test_a_dead_letter_holds_the_traceback_of_the_users_code() -> None:
    _, [(_, (_, _, lines))] = outputs_of([0], hr.Map(reciprocal).with_exception_handling())
    text = "".join(lines)
    assert "return 1 / x" in text
    assert text.endswith("ZeroDivisionError: division by zero\n")
    assert "headrace" not in text.replace(__file__, "")


@pytest.mark.parametrize(
    "transform",
    [
        hr.ParDo(Repeated()),
        hr.ParDo(repeated),
        hr.FlatMap(repeated),
        hr.FlatMap(lambda x: list(repeated(x))),
    ],
    ids=["DoFn", "function", "generator", "list"],
)
@pytest.mark.parametrize("values", [[1, 5, 2, 6], [5, 1], [1, 2], []])
def test_an_element_that_fails_half_way_gives_out_nothing(transform, values) -> None:
    good, bad = outputs_of(values, transform.with_exception_handling())
    assert good == [x * 10 + n for x in values if x > 3 for n in range(4)]
    assert elements(bad) == [x for x in values if x < 4]


def test_partial_outputs_go_out_if_asked_for() -> None:
    handled = hr.FlatMap(repeated).with_exception_handling(partial=True)
    assert outputs_of([2, 5], handled)[0] == [20, 21, 50, 51, 52, 53]


@pytest.mark.parametrize(
    ("transform", "values", "kept", "failed"),
    [
        (hr.Filter(lambda x: 1 / x > 0), [1, 0, -1, 2], [1, 2], [0]),
        (hr.MapTuple(lambda a, b: a / b), [(1, 2), (1, 0), 7], [0.5], [(1, 0), 7]),
        (hr.FlatMapTuple(lambda a, b: [a] * b), [("a", 2), ("b", "c")], ["a"] * 2, [("b", "c")]),
        (hr.WithKeys(lambda x: 1 / x), [0, 2], [(0.5, 2)], [0]),
        (hr.WithTimestamps(lambda x: x), [3, "never", None], [3], ["never", None]),
        (hr.Map(lambda x, y: x / y, 2), [4, "a"], [2.0], ["a"]),
        (hr.ToChangelog(), ["a"], [(1, "a")], []),
    ],
    ids=["Filter", "MapTuple", "FlatMapTuple", "WithKeys", "WithTimestamps", "args", "sure"],
)
def test_all_that_go_by_element_can_do_it(transform, values, kept, failed) -> None:
    good, bad = outputs_of(values, transform.with_exception_handling())
    assert good == kept
    assert elements(bad) == failed


def test_each_element_is_processed_once() -> None:
    seen = []

    def picky(x):
        seen.append(x)
        return 1 / (x % 3)

    good, bad = outputs_of(list(range(30)), hr.Map(picky).with_exception_handling())
    assert seen == list(range(30))
    assert len(good) == 20
    assert elements(bad) == list(range(0, 30, 3))


@pytest.mark.parametrize("make", [hr.Map, hr.FlatMap])
def test_stop_iteration_is_an_exception_like_others(make) -> None:
    def advance(x):
        return [next(iter([x] * x))]

    good, bad = outputs_of([0, 1, 0, 2], make(advance).with_exception_handling())
    assert len(good) == 2
    assert [(element, error[0]) for element, error in bad] == [(0, RuntimeError)] * 2


def test_other_exceptions_stop_the_pipeline() -> None:
    handled = hr.Map(reciprocal).with_exception_handling(exc_class=(KeyError, ZeroDivisionError))
    assert elements(outputs_of([0], handled)[1]) == [0]
    with pytest.raises(TypeError) as caught:
        outputs_of([1, 0, "a"], handled)
    assert caught.value.__notes__ == ["on the element 'a'", "in Map(reciprocal)"]


def test_what_nobody_means_is_still_refused() -> None:
    with pytest.raises(hr.ElementError, match=r"which is (a single|not) "):
        outputs_of(["a"], hr.FlatMap(lambda x: x).with_exception_handling())


def test_other_outputs_and_other_names() -> None:
    class Sorted(hr.DoFn):
        def process(self, element):
            yield 1 / element
            if element < 0:
                yield hr.TaggedOutput("below", element)

    for transform in (
        hr.ParDo(Sorted()).with_outputs("below", main="fine").with_exception_handling(),
        hr.ParDo(Sorted()).with_exception_handling("fine").with_outputs("below"),
    ):
        with TestPipeline() as p:
            outputs = p | hr.Create([-1, 0, 1]) | transform
            found = {tag: capture(outputs[tag], tag) for tag in ("fine", "below", "bad")}
        assert found["fine"].values == [-1.0, 1.0]
        assert found["below"].values == [-1]
        assert elements(found["bad"].values) == [0]


def test_a_dofn_may_write_dead_letters_itself() -> None:
    class Honest(hr.DoFn):
        def process(self, element):
            if element == 2:
                yield hr.TaggedOutput("bad", "two")
            yield 1 / element

    assert [
        str(x)[:4] for x in outputs_of([2, 0], hr.ParDo(Honest()).with_exception_handling())[1]
    ] == [
        "two",
        "(0, ",
    ]


def test_dead_letters_keep_timestamp_and_windows() -> None:
    with TestPipeline() as p:
        stamped = p | hr.Create([0, 15]) | hr.WithTimestamps(lambda x: x)
        sliding = stamped | hr.WindowInto(SlidingWindows(20, 10))
        _, bad = sliding | hr.Map(lambda x: 1 / 0).with_exception_handling()
        seen = capture(bad)
    assert [(float(e.timestamp), len(e.windows)) for e in seen.elements] == [(0.0, 2), (15.0, 2)]


def test_who_sees_the_window_fails_in_each() -> None:
    def fail_in_the_first(x, window=hr.DoFn.WindowParam):
        return 1 / float(window.start)

    with TestPipeline() as p:
        timed = (
            p
            | hr.Create([5])
            | hr.WithTimestamps(lambda x: x)
            | hr.WindowInto(SlidingWindows(20, 10))
        )
        good, bad = timed | hr.Map(fail_in_the_first).with_exception_handling()
        kept, failed = capture(good, "good"), capture(bad, "bad")
    assert kept.values == [-0.1]
    assert [float(e.window.start) for e in failed.elements] == [0.0]


RETRACTING = hr.WindowInto(
    FixedWindows(60),
    trigger=AfterWatermark(early=AfterCount(1)),
    accumulation_mode=AccumulationMode.RETRACTING,
)


@pytest.mark.mode("streaming")
def test_the_dead_letter_of_a_retracted_element_is_retracted(runner) -> None:
    """The sums are 2, 3 and 5; 3 fails, and so does its retraction."""
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("a", 2), 1)])
        .add_elements([TimestampedValue(("a", 1), 2)])
        .add_elements([TimestampedValue(("a", 2), 3)])
        .advance_watermark_to_infinity()
    )

    def no_threes(key, total):
        if total == 3:
            raise ValueError(total)
        return key, total

    with TestPipeline(runner=runner) as p:
        sums = p | stream | RETRACTING | hr.CombinePerKey(sum)
        good, bad = sums | hr.MapTuple(no_threes).with_exception_handling()
        # Grouped again, a retraction finds its dead letter only if the two are equal.
        counts = bad | hr.combiners.Count.Globally().without_defaults()
        kept, failed, counted = capture(good, "kept"), capture(bad, "failed"), capture(counts, "n")
        assert_that(good, equal_to([("a", 5)]), "good")
        assert_that(bad, equal_to([]), "bad")
    assert Counter(kept.values[:1]) == {("a", 2): 1}
    assert [(diff, element) for diff, (element, _) in failed.changes] == [
        (1, ("a", 3)),
        (-1, ("a", 3)),
    ]
    value, retraction = failed.values
    assert value == retraction
    assert sum(diff * count for diff, count in counted.changes) == 0


def test_a_callback_hears_of_each_failure(caplog) -> None:
    heard = []

    def hear(error, element):
        heard.append((type(error), element))
        raise OSError("deaf")

    handled = hr.Map(reciprocal).with_exception_handling(on_failure_callback=hear)
    with caplog.at_level(logging.WARNING):
        outputs_of([0, 1, 0], handled)
    assert heard == [(ZeroDivisionError, 0)] * 2
    assert caplog.text.count("OSError: deaf") == 2


def test_a_threshold_is_for_each_window() -> None:
    """Half of the first minute fails, and nothing of the second one."""
    values = [0, 0, 1, 2, 61, 62, 63, 64]

    def run(threshold, windowing=None):
        with TestPipeline() as p:
            stamped = p | hr.Create(values) | hr.WithTimestamps(lambda x: x)
            windowed = stamped | hr.WindowInto(FixedWindows(60))
            handled = hr.Map(reciprocal).with_exception_handling(
                threshold=threshold, threshold_windowing=windowing
            )
            good, bad = windowed | handled
            found = capture(good, "good"), capture(bad, "bad")
        return len(found[0].values), len(found[1].values)

    assert run(0.5) == (6, 2)
    assert run(0.3, FixedWindows(3600)) == (6, 2)
    with pytest.raises(hr.FailuresError, match=r"2 of 4 elements failed in the window"):
        run(0.3)
    with pytest.raises(ValueError, match="threshold of 0"):
        run(0)


def test_an_element_in_several_windows_counts_once_in_each() -> None:
    def run():
        with TestPipeline() as p:
            stamped = p | hr.Create([0]) | hr.WithTimestamps(lambda x: x)
            sliding = stamped | hr.WindowInto(SlidingWindows(60, 30))
            sliding | hr.Map(reciprocal).with_exception_handling(threshold=0.5)

    with pytest.raises(hr.FailuresError, match=r"1 of 1 elements failed in the window"):
        run()


def test_nothing_is_counted_without_a_threshold() -> None:
    p = hr.Pipeline()
    _ = p | hr.Create([1]) | hr.Map(reciprocal).with_exception_handling()
    assert [node.label for node in p.graph] == ["Create", "Map(reciprocal)"]


def slow_at_two(x):
    yield x
    if x == 2:
        time.sleep(60)


def test_an_element_that_takes_too_long_is_a_dead_letter(runner):
    limited = hr.FlatMap(slow_at_two).with_exception_handling(timeout=1)
    good, (letter,) = outputs_of([1, 2, 3], limited, runner)
    assert sorted(good) == [1, 3]
    assert letter[0] == 2
    assert letter[1][:2] == (TimeoutError, "TimeoutError()")
    assert "the call took more than 1 seconds" in "".join(letter[1][2])


def test_a_call_with_a_time_limit_has_its_parameters_metrics_and_exceptions():
    class Counts(hr.DoFn):
        def setup(self):
            self.counter = hr.metrics.Metrics.counter("test", "calls")

        def process(self, x, factor, timestamp=hr.DoFn.TimestampParam):
            self.counter.inc()
            yield factor // x, float(timestamp)

    with TestPipeline() as p:
        created = p | hr.Create([hr.TimestampedValue(0, 5), hr.TimestampedValue(2, 5)])
        good, bad = created | hr.ParDo(Counts(), 8).with_exception_handling(timeout=60)
        found, failed = capture(good), capture(bad, "bad")
    assert found.values == [(4, 5.0)]
    assert [letter[0] for letter in failed.values] == [0]
    assert "ZeroDivisionError" in failed.values[0][1][1]
    assert p.result is not None
    (counter,) = p.result.metrics().query()["counters"]
    assert counter.committed == 2


@pytest.mark.parametrize(
    ("asked", "problem"),
    [({"timeout": 0}, "the timeout is 0"), ({"timeout": 1, "partial": True}, "nothing to keep")],
)
def test_a_time_limit_that_is_not_valid_is_refused(asked, problem) -> None:
    with pytest.raises(hr.PipelineError, match=problem):
        hr.Map(str).with_exception_handling(**asked)


@pytest.mark.parametrize("asked", [{"use_subprocess": True}])
def test_what_is_not_there_is_refused(asked) -> None:
    with pytest.raises(hr.UnsupportedError, match=f"does not support {next(iter(asked))}"):
        hr.Map(str).with_exception_handling(**asked)


def test_arguments_without_sense_are_refused() -> None:
    assert hr.Map(str).with_exception_handling(timeout=None, use_subprocess=False)
    with pytest.raises(hr.PipelineError, match="threshold 2"):
        hr.Map(str).with_exception_handling(threshold=2)
    with pytest.raises(TypeError, match="must be an exception class"):
        hr.Map(str).with_exception_handling(exc_class="ValueError")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="no argument 'treshold'"):
        hr.Map(str).with_exception_handling(treshold=1)
    with pytest.raises(hr.PipelineError, match="are not distinct"):
        outputs_of([], hr.Map(str).with_exception_handling("same", "same"))
