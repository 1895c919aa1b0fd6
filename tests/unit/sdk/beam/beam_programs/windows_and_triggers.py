import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_pipeline import TestPipeline
from apache_beam.testing.test_stream import TestStream
from apache_beam.testing.util import assert_that, equal_to, equal_to_per_window
from apache_beam.transforms import trigger
from apache_beam.transforms.trigger import AccumulationMode, AfterCount, AfterWatermark
from apache_beam.transforms.window import (
    FixedWindows,
    IntervalWindow,
    Sessions,
    SlidingWindows,
    TimestampCombiner,
    TimestampedValue,
)
from apache_beam.utils.timestamp import Duration, Timestamp


class WithWindow(beam.DoFn):
    def process(
        self,
        element,
        timestamp=beam.DoFn.TimestampParam,
        window=beam.DoFn.WindowParam,
        pane=beam.DoFn.PaneInfoParam,
    ):
        if pane.index == 0:
            yield element, int(timestamp), window


def run():
    fixed_sums()
    sessions()
    sliding()
    early_and_late_panes()
    counted_panes()
    lateness()


def fixed_sums():
    with TestPipeline() as p:
        steps = p | beam.Create([("a", 1), ("a", 61), ("b", 5), ("a", 2)])
        stamped = steps | beam.Map(lambda step: beam.window.TimestampedValue(step, step[1]))  # type: ignore[attr-defined]
        windows = stamped | beam.WindowInto(beam.window.FixedWindows(60))  # type: ignore[attr-defined]
        sums = windows | beam.CombinePerKey(sum)
        first, second = IntervalWindow(0, 60), IntervalWindow(60, 120)
        assert_that(sums, equal_to_per_window({first: [("a", 3), ("b", 5)], second: [("a", 61)]}))
        seen = sums | beam.ParDo(WithWindow())
        assert_that(
            seen,
            equal_to(
                [
                    (("a", 3), 59, first),
                    (("b", 5), 59, first),
                    (("a", 61), 119, second),
                ]
            ),
            label="seen",
        )


def sessions():
    with TestPipeline() as p:
        clicks = (
            p
            | beam.Create([("u", 1), ("u", 5), ("u", 30)])
            | beam.Map(lambda click: TimestampedValue(click, click[1]))
            | beam.WindowInto(
                Sessions(Duration(10)),
                timestamp_combiner=TimestampCombiner.OUTPUT_AT_EARLIEST,
            )
            | beam.combiners.Count.PerKey()  # type: ignore[attr-defined]
        )
        rows = clicks | beam.Map(
            lambda row, t=beam.DoFn.TimestampParam, w=beam.DoFn.WindowParam: (row, t, w.start)
        )
        one, other = Timestamp(1), Timestamp(30)
        assert_that(rows, equal_to([(("u", 2), one, one), (("u", 1), other, other)]))


def sliding():
    with TestPipeline() as p:
        counts = (
            p
            | beam.Create([15])
            | beam.Map(lambda x: TimestampedValue(x, x))
            | beam.WindowInto(SlidingWindows(size=20, period=10))
            | beam.CombineGlobally(beam.combiners.CountCombineFn()).without_defaults()  # type: ignore[attr-defined]
        )
        expected = {IntervalWindow(0, 20): [1], IntervalWindow(10, 30): [1]}
        assert_that(counts, equal_to_per_window(expected))


def early_and_late_panes():
    stream = (
        TestStream()
        .advance_watermark_to(0)
        .add_elements([TimestampedValue(("k", 1), 1), TimestampedValue(("k", 2), 2)])
        .add_elements([TimestampedValue(("k", 4), 3)])
        .advance_watermark_to(65)
        .advance_watermark_to_infinity()
    )
    with TestPipeline(options=PipelineOptions(["--streaming"])) as p:
        sums = (
            p
            | stream
            | beam.WindowInto(
                FixedWindows(60),
                trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
                accumulation_mode=AccumulationMode.ACCUMULATING,
                allowed_lateness=10,
            )
            | beam.CombinePerKey(sum)
            | beam.Map(lambda row: row[1])
        )
        assert_that(sums, equal_to([3, 7]))


def counted_panes():
    stream = (
        TestStream()
        .add_elements([("k", 1)])
        .add_elements([("k", 2)])
        .add_elements([("k", 3), ("k", 4)])
        .advance_watermark_to_infinity()
    )
    with TestPipeline(options=PipelineOptions(["--streaming"])) as p:
        grouped = (
            p
            | stream
            | beam.WindowInto(
                beam.window.GlobalWindows(),  # type: ignore[attr-defined]
                trigger=trigger.Repeatedly(AfterCount(2)),
                accumulation_mode=AccumulationMode.DISCARDING,
            )
            | beam.GroupByKey()
            | beam.MapTuple(lambda key, values: (key, sorted(values)))
        )
        assert_that(grouped, equal_to([("k", [1, 2]), ("k", [3, 4])]))


def lateness():
    stream = (
        TestStream()
        .add_elements([TimestampedValue(("k", 1), 1)])
        .advance_watermark_to(100)
        .add_elements([TimestampedValue(("k", 2), 2)])
        .advance_watermark_to_infinity()
    )
    with TestPipeline(options=PipelineOptions(["--streaming"])) as p:
        sums = p | stream | beam.WindowInto(FixedWindows(60)) | beam.CombinePerKey(sum)
        assert_that(sums, equal_to([("k", 1)]))
