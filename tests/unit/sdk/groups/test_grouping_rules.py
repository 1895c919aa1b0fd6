"""What is refused, or warned of, when a grouping is built; and what its output inherits."""

import pytest

import headrace as hr
from headrace.options import PipelineOptions
from headrace.testing import TestPipeline, TestStream
from headrace.transforms.userstate import CombiningValueStateSpec
from headrace.triggers import (
    AccumulationMode,
    AfterAny,
    AfterCount,
    AfterProcessingTime,
    AfterWatermark,
    Never,
    Repeatedly,
)
from headrace.windowing import FixedWindows, GlobalWindows, Sessions

DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
RETRACTING = AccumulationMode.RETRACTING
EARLY = AfterWatermark(early=AfterCount(1), late=AfterCount(1))


def pairs(pipeline=None):
    return (pipeline or hr.Pipeline()) | hr.Create([("a", 1)])


def panes(mode, *, trigger=EARLY, lateness=0, transform=None, pipeline=None):
    """What a grouping in windows gives out."""
    windows = hr.WindowInto(
        FixedWindows(60), trigger=trigger, accumulation_mode=mode, allowed_lateness=lateness
    )
    return pairs(pipeline) | windows | (transform or hr.CombinePerKey(sum))


GROUPINGS = [hr.GroupByKey(), hr.CombinePerKey(sum)]


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize(
    "values", [[1, 2], ["ab", "cd"], [(1, 2, 3)], [[1, 2]], [{"a": 1}]], ids=repr
)
def test_elements_that_are_surely_no_pairs_are_refused(grouping, values) -> None:
    created = hr.Pipeline() | hr.Create(values)
    with pytest.raises(hr.PipelineError, match=r"a grouping needs \(key, value\) pairs"):
        created | grouping


def test_annotations_tell_what_is_no_pair() -> None:
    def length(word: str) -> int:
        return len(word)

    def letters(word: str) -> list[str]:
        return list(word)

    def pair(word: str) -> tuple[str, int]:
        return word, 1

    words = hr.Pipeline() | hr.Create(["a"])
    for transform in (hr.Map(length), hr.FlatMap(letters), hr.Filter(bool), hr.WithTimestamps(len)):
        with pytest.raises(hr.PipelineError, match="needs"):
            words | transform | hr.GroupByKey()  # type: ignore[operator]
    words | hr.Map(pair) | hr.GroupByKey()


def test_declared_types_tell_what_is_no_pair() -> None:
    words = hr.Pipeline() | hr.Create(["a"])
    with pytest.raises(hr.PipelineError, match="of type int"):
        words | hr.Map(lambda x: x).with_output_types(int) | hr.GroupByKey()
    words | "pairs" >> hr.Map(lambda x: x).with_output_types(tuple[str, int]) | hr.GroupByKey()


def test_decorators_declare_types() -> None:
    @hr.typehints.with_input_types(str)
    @hr.typehints.with_output_types(int)
    class Length(hr.DoFn):
        def process(self, element):
            yield len(element)

    @hr.typehints.with_output_types(hr.typehints.KV[str, int])
    def pair(word):
        return word, 1

    words = hr.Pipeline() | hr.Create(["a"])
    with pytest.raises(hr.PipelineError, match="of type int"):
        words | hr.ParDo(Length()) | hr.GroupByKey()
    words | hr.Map(pair) | hr.GroupByKey()


def test_a_composite_can_declare_its_type() -> None:
    class Numbers(hr.PTransform):
        def expand(self, pcoll):
            return pcoll | hr.Map(lambda x: x)

    words = hr.Pipeline() | hr.Create(["a"])
    with pytest.raises(hr.PipelineError, match="of type int"):
        words | Numbers().with_output_types(int) | hr.GroupByKey()


@pytest.mark.parametrize("grouping", GROUPINGS)
@pytest.mark.parametrize("value", [3, "ab", (1, 2, 3), [1, 2]])
def test_other_elements_that_are_no_pairs_are_found_at_run_time(grouping, value) -> None:
    p = TestPipeline()
    p | hr.Create([0]) | hr.Map(lambda x: value) | "Group" >> grouping
    with pytest.raises(hr.ElementError, match=r"is not a \(key, value\) pair") as error:
        p.run()
    assert error.value.where == "Group"


@pytest.mark.parametrize("key", [{1, 2}, {"a": 1}, object(), ([1, {2}],)])
def test_a_key_needs_an_encoding(key) -> None:
    p = TestPipeline()
    p | hr.Create([(key, 1)]) | hr.GroupByKey()
    with pytest.raises(hr.KeyEncodingError, match="cannot be a key"):
        p.run()


class Endless(hr.io.UnboundedSource):
    def read(self, partition, offset, limit):
        return hr.io.Batch([("a", 1)], next_offset=0)


def test_an_endless_collection_needs_windows_or_a_trigger() -> None:
    endless = hr.Pipeline() | hr.Read(Endless())
    assert not endless.is_bounded
    with pytest.raises(hr.PipelineError, match="no result would ever be emitted"):
        endless | hr.GroupByKey()
    endless | "windows" >> hr.WindowInto(FixedWindows(60)) | "one" >> hr.GroupByKey()
    counted = hr.WindowInto(
        GlobalWindows(), trigger=Repeatedly(AfterCount(1)), accumulation_mode=DISCARDING
    )
    endless | "trigger" >> counted | "other" >> hr.GroupByKey()


def test_a_test_stream_that_does_not_end_is_endless() -> None:
    assert not (hr.Pipeline() | TestStream().add_elements([1])).is_bounded
    assert (hr.Pipeline() | TestStream().advance_watermark_to_infinity()).is_bounded


UNSAFE = [
    AfterCount(1),
    AfterProcessingTime(1),
    AfterAny(AfterCount(2), AfterProcessingTime(1)),
]


@pytest.mark.parametrize("trigger", UNSAFE)
def test_a_trigger_that_may_lose_data_is_refused(trigger) -> None:
    with pytest.raises(hr.PipelineError, match="would be lost") as refusal:
        panes(DISCARDING, trigger=trigger)
    assert "--allow_unsafe_triggers" in refusal.value.remedy


@pytest.mark.parametrize("trigger", UNSAFE)
def test_unless_the_pipeline_allows_it(trigger) -> None:
    unsafe = hr.Pipeline(options=PipelineOptions(["--allow_unsafe_triggers"]))
    panes(DISCARDING, trigger=trigger, pipeline=unsafe)


@pytest.mark.parametrize("trigger", [Repeatedly(AfterCount(1)), AfterWatermark(), Never()])
def test_a_trigger_that_loses_nothing_is_taken(trigger) -> None:
    panes(DISCARDING, trigger=trigger)


def test_after_a_grouping_the_trigger_is_its_continuation() -> None:
    trigger = Repeatedly(AfterCount(10))
    windowing = panes(DISCARDING, trigger=trigger, lateness=5).windowing
    assert windowing.trigger == trigger.get_continuation_trigger()
    assert windowing.window_fn == FixedWindows(60)
    assert windowing.allowed_lateness == 5_000_000


def test_after_a_grouping_sessions_merge_on() -> None:
    grouped = pairs() | hr.WindowInto(Sessions(10)) | hr.GroupByKey()
    assert grouped.windowing.window_fn == Sessions(10)


def test_a_late_output_is_for_one_grouping() -> None:
    windows = hr.WindowInto(FixedWindows(60), late_output_tag="late")
    assert (pairs() | windows | hr.GroupByKey()).windowing.late_tag is None


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_retracting_panes_change(grouping) -> None:
    assert panes(RETRACTING, transform=grouping).collection.changing
    assert not panes(ACCUMULATING, transform=grouping).collection.changing
    assert not panes(DISCARDING, transform=grouping).collection.changing


def test_transforms_of_elements_pass_changes_on() -> None:
    changing = panes(RETRACTING) | hr.Map(lambda x: x) | "w" >> hr.WindowInto(FixedWindows(60))
    assert changing.collection.changing
    assert ((changing, changing) | hr.Flatten()).collection.changing
    assert not (changing | hr.ToChangelog()).collection.changing


def test_discarding_panes_of_changes() -> None:
    changing = panes(RETRACTING) | "w" >> hr.WindowInto(FixedWindows(60))
    assert (changing | hr.GroupByKey()).collection.changing
    assert not (changing | "sum" >> hr.CombinePerKey(sum)).collection.changing


def test_discarding_panes_of_changes_need_subtraction() -> None:
    changing = panes(RETRACTING) | "w" >> hr.WindowInto(FixedWindows(60))
    with pytest.raises(
        hr.PipelineError, match="needs subtract_input, which max does not define"
    ) as refusal:
        changing | "max" >> hr.CombinePerKey(max)
    assert "subtract_input" in refusal.value.remedy


def test_a_grouping_of_changes_allows_as_much_lateness_as_the_one_before() -> None:
    changing = panes(RETRACTING, lateness=60)
    strict = hr.WindowInto(
        FixedWindows(3600), trigger=EARLY, accumulation_mode=RETRACTING, allowed_lateness=30
    )
    with pytest.raises(hr.PipelineError, match=r"lateness of 30 s, .* 60 s late"):
        changing | "strict" >> strict | "day" >> hr.CombinePerKey(sum)
    changing | "on" >> hr.CombinePerKey(max)


class Balance(hr.DoFn):
    """Adds up the values of a key, and subtracts those that are retracted."""

    TOTAL = CombiningValueStateSpec("total", sum)

    def process(self, pair, total=hr.DoFn.StateParam(TOTAL), diff=hr.DoFn.DiffParam):
        total.add(diff * pair[1])


def test_a_stateful_dofn_of_changes_allows_as_much_lateness_as_the_grouping_before() -> None:
    changing = panes(RETRACTING, lateness=60)
    strict = changing | "strict" >> hr.WindowInto(FixedWindows(3600), allowed_lateness=30)
    with pytest.raises(
        hr.PipelineError, match=r"Balance.* allows a lateness of 30 s, .* 60 s late"
    ):
        strict | "balance" >> hr.ParDo(Balance())
    equal = changing | "equal" >> hr.WindowInto(FixedWindows(3600), allowed_lateness=60)
    equal | "on" >> hr.ParDo(Balance())
    forever = changing | "forever" >> hr.WindowInto(GlobalWindows())
    forever | "never late" >> hr.ParDo(Balance())


def test_the_lateness_of_changes_survives_other_transforms() -> None:
    changing = panes(RETRACTING, lateness=60) | hr.Map(lambda x: x)
    other = changing.pipeline | "more" >> hr.Create([("a", 1)])
    windows = hr.WindowInto(FixedWindows(60))
    together = (changing | "w" >> windows, other | "v" >> windows) | hr.Flatten()
    with pytest.raises(hr.PipelineError, match="60 s late"):
        together | "sum" >> hr.CombinePerKey(sum)


def test_accumulating_panes_into_another_grouping_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="counts elements more than once.*RETRACTING"):
        panes(ACCUMULATING) | "again" >> hr.CombinePerKey(sum)


@pytest.mark.parametrize(
    ("mode", "trigger", "lateness"),
    [
        (DISCARDING, EARLY, 0),
        (RETRACTING, EARLY, 0),
        (ACCUMULATING, AfterWatermark(), 0),
        (ACCUMULATING, AfterWatermark(late=AfterCount(1)), 0),
        (ACCUMULATING, Never(), 0),
    ],
)
def test_panes_that_do_not_repeat_are_not_warned_of(mode, trigger, lateness) -> None:
    panes(mode, trigger=trigger, lateness=lateness) | "again" >> hr.CombinePerKey(sum)


def test_accumulating_panes_may_be_written_and_mapped() -> None:
    panes(ACCUMULATING) | hr.Map(str) | hr.ToChangelog()


class Remembering(hr.DoFn):
    def process(self, element):
        yield element

    def finish_bundle(self):
        raise NotImplementedError


class Careful(Remembering):
    def process(self, element, diff=hr.DoFn.DiffParam):
        yield element


def test_a_dofn_that_remembers_elements_refuses_retractions() -> None:
    with pytest.raises(
        hr.PipelineError, match="Remembering emits elements in finish_bundle"
    ) as refusal:
        panes(RETRACTING) | hr.ParDo(Remembering())
    assert "ToChangelog" in refusal.value.remedy
    panes(RETRACTING) | hr.ToChangelog() | hr.ParDo(Remembering())
    panes(RETRACTING) | hr.ParDo(Careful())
    panes(ACCUMULATING) | hr.ParDo(Remembering())


class Plain(hr.io.Sink):
    def write(self, batch):
        raise NotImplementedError


class Accepting(Plain):
    accepts_retractions = True


def test_a_plain_sink_refuses_retractions() -> None:
    with pytest.raises(hr.PipelineError, match="Plain does not accept them") as refusal:
        panes(RETRACTING) | hr.Write(Plain())
    assert "ToChangelog" in refusal.value.remedy
    panes(RETRACTING) | hr.ToChangelog() | hr.Write(Plain())
    panes(RETRACTING) | hr.Write(Accepting())
