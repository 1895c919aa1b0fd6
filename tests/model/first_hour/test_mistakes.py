"""Mistakes that would pass without a word: tags, returned tuples, timers, specs, arguments, life cycles."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import headrace as hr
from headrace.sdk.pipelines.transform import ptransform_fn
from headrace.sdk.typehints.argument_checks import UnknownArgument
from headrace.testing import TestPipeline, TestStream, capture
from headrace.transforms.userstate import (
    BagStateSpec,
    ReadModifyWriteStateSpec,
    TimeDomain,
    TimerSpec,
    on_timer,
)

untyped: Any = hr
"""Type checkers find these mistakes, too."""

STATE = ReadModifyWriteStateSpec("state")


def emits(tag: str) -> Any:
    def function(element: Any) -> Iterator[Any]:
        yield hr.TaggedOutput(tag, element)
        yield element

    return function


class StatefulTag(hr.DoFn):
    def process(self, element: Any, state: Any = hr.DoFn.StateParam(STATE)) -> Iterator[Any]:
        yield hr.TaggedOutput("bda", element)


class FinishTag(hr.DoFn):
    def process(self, element: Any) -> None:
        pass

    def finish_bundle(self) -> Iterator[Any]:
        value = hr.WindowedValue("end", 0, [hr.window.GlobalWindow()])
        yield hr.TaggedOutput("bda", value)


def apply(
    transform: Any, runner: Any = None, elements: Any = (("k", 1),), *flags: str
) -> list[Any]:
    with TestPipeline(runner, argv=list(flags)) as p:
        result = p | hr.Create(list(elements)) | "Step" >> transform
        main = result if isinstance(result, hr.PCollection) else result[None]
        found = capture(main)
    return found.values


DECLARED = "the declared tags are 'bad', 'other'"


@pytest.mark.parametrize("flags", [(), ("--streaming",)], ids=["batch", "streaming"])
@pytest.mark.parametrize(
    ("transform", "known"),
    [
        (hr.FlatMap(emits("bda")).with_outputs("bad", "other"), DECLARED),
        (hr.FlatMap(emits("bda")), "no tag is declared"),
        (hr.Map(lambda x: hr.TaggedOutput("bda", x)).with_outputs("bad", "other"), DECLARED),
        (hr.ParDo(StatefulTag()).with_outputs("bad", "other"), DECLARED),
        (hr.ParDo(FinishTag()).with_outputs("bad", "other"), DECLARED),
        (hr.FlatMap(emits("bda")).with_exception_handling(), "the declared tags are 'bad'"),
        (hr.FlatMap(emits("bda")).with_outputs("other").with_exception_handling(), DECLARED),
    ],
)
def test_a_tag_that_is_not_declared(transform: Any, known: str, flags: tuple[str, ...]) -> None:
    with pytest.raises(
        hr.ElementError, match="has the output tag 'bda', which is not declared"
    ) as e:
        apply(transform, None, (("k", 1),), *flags)
    assert e.value.problem.endswith(known)
    assert e.value.where == "Step"


def test_the_nearest_tag_or_how_to_declare_it() -> None:
    with pytest.raises(hr.ElementError, match=re.escape("write TaggedOutput('bad', value)")):
        apply(hr.FlatMap(emits("bda")).with_outputs("bad"))
    with pytest.raises(hr.ElementError, match=re.escape(".with_outputs('bad', 'more')")):
        apply(hr.FlatMap(emits("more")).with_outputs("bad"))


@pytest.mark.parametrize(
    "how",
    [{}, {"main": "even"}],
)
def test_without_declared_tags_any_tag_is_accepted(how: dict[str, Any]) -> None:
    assert apply(hr.FlatMap(emits("bda")).with_outputs(**how), elements=[1]) == [1]


def test_unknown_tags_can_be_allowed() -> None:
    allowed = hr.FlatMap(emits("bda")).with_outputs("bad", allow_unknown_tags=True)
    assert apply(allowed, elements=[1]) == [1]
    handled = allowed.with_exception_handling()
    assert apply(handled, elements=[1]) == [1]
    assert apply(hr.FlatMap(emits("bda")).with_outputs().with_exception_handling()) == [("k", 1)]


def test_an_output_that_is_only_read_counts_as_declared() -> None:
    with TestPipeline() as p:
        good = p | hr.Create([1]) | hr.FlatMap(emits("bda")).with_exception_handling()
        found = capture(good["bda"])
    assert found.values == [1]


class Pairs(hr.DoFn):
    def process(self, element: Any) -> Any:
        return element, 1


class Annotated(hr.DoFn):
    def process(self, element: Any) -> tuple[str, int]:
        return element, 1


class Constants(hr.DoFn):
    def process(self, element: Any) -> Any:
        if element:
            return None
        return "a", 1


class Several(hr.DoFn):
    """Returns pairs, or not only tuples."""

    def process(self, element: Any) -> Any:
        return ("a", element), ("b", element)


class PairsByState(Pairs):
    def process(self, element: Any, state: Any = hr.DoFn.StateParam(STATE)) -> Any:
        return element[0], 1


NEED_PAIRS = [hr.GroupByKey(), hr.CombinePerKey(sum), hr.ParDo(PairsByState())]


@pytest.mark.parametrize("then", NEED_PAIRS, ids=lambda each: each.label)
@pytest.mark.parametrize(
    "made", [hr.ParDo(Pairs()), hr.ParDo(Constants()), hr.FlatMap(Pairs().process)]
)
def test_a_returned_tuple_where_pairs_are_needed(made: Any, then: Any) -> None:
    p = hr.Pipeline(argv=[])
    windowed = p | hr.Create(["a"]) | "Step" >> made | hr.WindowInto(hr.window.FixedWindows(1))
    with pytest.warns(hr.HeadraceWarning) as found:
        _ = windowed | "Then" >> then, windowed | "Again" >> then

    (one,) = found
    assert one.filename == __file__
    assert re.search(
        r"Step: the function returns a tuple \(test_mistakes.py:\d+\)", str(one.message)
    )
    assert str(one.message).endswith("write `yield key, value`, or return a list of pairs")


def test_a_result_that_is_annotated_as_a_tuple() -> None:
    with pytest.warns(hr.HeadraceWarning, match="its annotation is that of one tuple") as found:
        _ = hr.Pipeline(argv=[]) | hr.Create(["a"]) | "Step" >> hr.ParDo(Annotated())
    assert found[0].filename == __file__


def test_returned_tuples_that_are_meant() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert apply(hr.ParDo(Pairs()), elements=["a"]) == ["a", 1]
        assert apply(hr.ParDo(Several()) | hr.GroupByKey(), elements=[1]) == [
            ("a", [1]),
            ("b", [1]),
        ]
        yielded = hr.ParDo(lambda x: [(x, 1)]) | hr.GroupByKey()
        assert apply(yielded, elements=["a"]) == [("a", [1])]


class SetsTimer(hr.DoFn):
    TIMER = TimerSpec("timer", TimeDomain.REAL_TIME)

    def process(
        self,
        element: Any,
        timestamp: Any = hr.DoFn.TimestampParam,
        timer: Any = hr.DoFn.TimerParam(TIMER),
    ) -> None:
        timer.set(timestamp + 5)

    @on_timer(TIMER)
    def fires(self) -> Iterator[str]:
        yield "fired"


IN_2001 = 1e9


@pytest.mark.alone
@pytest.mark.parametrize("flags", [(), ("--streaming",)], ids=["batch", "streaming"])
def test_a_timer_of_processing_time_that_is_set_to_an_event_timestamp(
    runner: Any, flags: tuple[str, ...]
) -> None:
    elements = [hr.TimestampedValue((key, 1), IN_2001) for key in "ab"]
    with pytest.warns(hr.HeadraceWarning, match="years before the clock") as found:
        fired = apply(hr.ParDo(SetsTimer()), runner, elements, *flags)
    assert fired == ["fired"] * 2
    (message,) = {str(one.message) for one in found if "years" in str(one.message)}
    assert message.startswith("Step: a timer with TimeDomain.REAL_TIME is set to a time 2")
    assert "use TimeDomain.WATERMARK" in message


def test_a_timer_that_is_a_little_late_is_no_mistake() -> None:
    stream = TestStream().advance_processing_time_to(IN_2001 + 86_400 * 300)
    stream = stream.add_elements([hr.TimestampedValue(("k", 1), IN_2001)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with TestPipeline() as p:
            found = capture(p | stream.advance_watermark_to_infinity() | hr.ParDo(SetsTimer()))

    assert found.values == ["fired"]


BAG = BagStateSpec("bag")
TIMER = TimerSpec("timer", TimeDomain.WATERMARK)


class BagAsDefault(hr.DoFn):
    def process(self, element: Any, s: Any = BAG) -> None:
        pass


class TimerAsDefault(hr.DoFn):
    def process(self, element: Any, s: Any = TIMER) -> None:
        pass


class InMethod(hr.DoFn):
    def process(self, element: Any, timer: Any = hr.DoFn.TimerParam(TIMER)) -> None:
        pass

    @on_timer(TIMER)
    def fires(self, s: Any = BAG) -> None:
        pass


@pytest.mark.parametrize(
    ("dofn", "method", "wrapper"),
    [
        (BagAsDefault(), "BagAsDefault.process", "StateParam"),
        (TimerAsDefault(), "TimerAsDefault.process", "TimerParam"),
        (InMethod(), "InMethod.fires", "StateParam"),
    ],
)
def test_a_spec_as_default_value(dofn: Any, method: str, wrapper: str) -> None:
    with pytest.raises(
        hr.PipelineError, match=f"the parameter 's' of {method} has the default"
    ) as e:
        hr.ParDo(dofn)
    assert f"write s=hr.DoFn.{wrapper}(spec)" in e.value.remedy


def test_a_spec_as_default_value_of_a_function() -> None:
    with pytest.raises(hr.PipelineError, match="but only DoFns have state and timers"):
        untyped.Map(lambda element, s=BAG: element)
    with pytest.raises(hr.PipelineError, match="the parameter 's' of"):
        untyped.ParDo(lambda element, s=BAG: [element])


class Fails(hr.DoFn):
    """Fails in one of its methods."""

    def __init__(self, method: str) -> None:
        self.method = method

    def fail_in(self, method: str) -> None:
        if method == self.method:
            raise ValueError("unlucky")

    def setup(self) -> None:
        self.fail_in("setup")

    def start_bundle(self) -> None:
        self.fail_in("start_bundle")

    def process(self, element: Any) -> Iterator[Any]:
        yield element

    def finish_bundle(self) -> Iterator[Any]:
        yield hr.WindowedValue(1, 0, [hr.window.GlobalWindow()])
        self.fail_in("finish_bundle")

    def teardown(self) -> None:
        self.fail_in("teardown")


class FailsWithState(Fails):
    def process(self, element: Any, state: Any = hr.DoFn.StateParam(STATE)) -> Iterator[Any]:
        yield element


METHODS = ["setup", "start_bundle", "finish_bundle", "teardown"]


@pytest.mark.parametrize("flags", [(), ("--streaming",)], ids=["batch", "streaming"])
@pytest.mark.parametrize("kind", [Fails, FailsWithState])
@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_the_life_cycle_names_the_method(
    kind: Any, method: str, flags: tuple[str, ...]
) -> None:
    with pytest.raises(ValueError, match="unlucky") as found:
        apply(hr.ParDo(kind(method)), None, (("k", 1),), *flags)
    notes = [note for note in found.value.__notes__ if note != "for the key 'k'"]
    assert notes == [f"from the method {method}", "in Step"]


@pytest.mark.alone
def test_mistakes_on_each_runner(runner: Any) -> None:
    with pytest.raises(hr.ElementError, match="the output tag 'bda', which is not declared"):
        apply(hr.FlatMap(emits("bda")).with_outputs("bad"), runner)
    with pytest.raises(ValueError, match="unlucky") as found:
        apply(hr.ParDo(Fails("finish_bundle")), runner)
    assert "from the method finish_bundle" in found.value.__notes__


def key_of(element: Any, factor: int = 1) -> int:
    return factor


class Mean(hr.CombineFn):
    def create_accumulator(self) -> Any: ...
    def add_input(self, accumulator: Any, element: Any) -> Any: ...
    def merge_accumulators(self, accumulators: Any) -> Any: ...
    def extract_output(self, accumulator: Any) -> Any: ...


@ptransform_fn
def Multiplied(pcoll: Any, factor: int = 1) -> Any:
    return pcoll


class Composite(hr.PTransform[Any, Any]):
    def __init__(self, factor: int) -> None:
        super().__init__()


untyped_multiplied: Any = Multiplied
untyped_composite: Any = Composite

UNKNOWN: list[tuple[Any, str, str]] = [
    (lambda: untyped.io.ReadFromText(fiel_pattern="x"), "ReadFromText", "file_pattern"),
    (
        lambda: untyped.WindowInto(untyped.window.FixedWindows(1), alowed_lateness=1),
        "WindowInto",
        "allowed_lateness",
    ),
    (lambda: untyped.Create([1], reshufle=False), "Create", "reshuffle"),
    (lambda: untyped.GroupByKey(evict=1), "GroupByKey", "evictor"),
    (lambda: untyped.io.ReadByPolling(list, 1, termnation=1), "ReadByPolling", "termination"),
    (
        lambda: untyped.io.ReadAllFromTextContinuously("x", with_filenam=True),
        "ReadAllFromTextContinuously",
        "with_filename",
    ),
    (lambda: untyped.Map(key_of, facto=2), "the function key_of of Map", "factor"),
    (lambda: untyped.Filter(key_of, facto=2), "the function key_of of Filter", "factor"),
    (lambda: untyped.FlatMap(key_of, facto=2), "the function key_of of FlatMap", "factor"),
    (lambda: untyped.WithKeys(key_of, facto=2), "the function key_of of WithKeys", "factor"),
    (
        lambda: untyped.WithTimestamps(key_of, facto=2),
        "the function key_of of WithTimestamps",
        "factor",
    ),
    (lambda: untyped.CombineGlobally(max, kye=abs), "max", "key"),
    (lambda: untyped.CombinePerKey(lambda values, key=1: 1, kye=abs), "<lambda", "key"),
    (
        lambda: untyped.Map(key_of).with_exception_handling(treshold=1),
        "ExceptionHandling",
        "threshold",
    ),
    (lambda: untyped_multiplied(facto=2), "Multiplied", "factor"),
    (lambda: untyped_composite(facto=2), "Composite", "factor"),
]


@pytest.mark.parametrize(("make", "owner", "nearest"), UNKNOWN)
def test_an_unknown_argument(make: Any, owner: str, nearest: str) -> None:
    with pytest.raises(UnknownArgument, match=re.escape(owner)) as found:
        make()
    assert found.value.remedy == f"write {nearest}=..."
    assert isinstance(found.value, TypeError)


def test_arguments_of_the_methods_of_a_combine_fn() -> None:
    with pytest.raises(
        hr.TypeCheckError, match=r"Mean.create_accumulator has no argument 'weight'"
    ):
        hr.CombinePerKey(Mean(), weight=1)


def test_a_function_that_takes_any_argument() -> None:
    assert apply(hr.Map(lambda x, **more: more, a=1), elements=[1]) == [{"a": 1}]
