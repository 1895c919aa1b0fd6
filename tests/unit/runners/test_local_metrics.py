"""What a run has counted: what users count, and what each step counts by itself."""

import pytest

import headrace as hr
from headrace.metrics import Metrics, MetricsFilter
from headrace.testing import TestPipeline, TestStream
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import FixedWindows
from headrace.windowing.time.timestamps import MAX_MICROS
from tests.unit.runners.sources import Lines, at

MODES = pytest.mark.parametrize("flags", [[], ["--streaming"]], ids=["batch", "streaming"])


class Grind(hr.DoFn):
    """Counts what it grinds, in every method that is called while data flows."""

    def __init__(self):
        self.bags = Metrics.counter("mill", "bags")
        self.rounds = Metrics.counter("mill", "rounds")
        self.weight = Metrics.distribution("mill", "weight")
        self.last = Metrics.gauge("mill", "last")

    def start_bundle(self):
        self.rounds.inc()

    def process(self, weight):
        self.bags.inc()
        self.weight.update(weight)
        self.last.set(weight)
        yield weight

    def finish_bundle(self):
        self.rounds.inc()


def run(build, flags=(), source=None):
    """The metrics of a pipeline that is built behind a source of 3, 1 and 2."""
    with TestPipeline(argv=list(flags)) as p:
        build(p | "read" >> (source or hr.Create([3, 1, 2])))
    assert p.result is not None
    return p.result.metrics()


def committed(metrics, kind, name):
    """What the steps have counted under a name."""
    found = metrics.query(MetricsFilter().with_name(name))[kind]
    return {result.key.step: result.committed for result in found}


@MODES
def test_users_count(flags):
    metrics = run(lambda pcoll: pcoll | "grind" >> hr.ParDo(Grind()), flags)
    assert committed(metrics, "counters", "bags") == {"grind": 3}
    assert committed(metrics, "counters", "rounds") == {"grind": 2}
    (weight,) = committed(metrics, "distributions", "weight").values()
    assert (weight.sum, weight.count, weight.min, weight.max) == (6, 3, 1, 3)
    (last,) = committed(metrics, "gauges", "last").values()
    assert last.value == 2


def test_a_round_of_a_stream_is_a_bundle():
    flags = ["--streaming", "--max_records_per_batch=1"]
    metrics = run(lambda pcoll: pcoll | "grind" >> hr.ParDo(Grind()), flags)
    assert committed(metrics, "counters", "bags") == {"grind": 3}
    assert committed(metrics, "counters", "rounds") == {"grind": 2 * 3}


def test_each_step_counts_for_itself():
    def twice(pcoll):
        _ = pcoll | "one" >> hr.ParDo(Grind()) | "two" >> hr.ParDo(Grind())

    assert committed(run(twice), "counters", "bags") == {"one": 3, "two": 3}


@MODES
def test_functions_of_groupings_count_too(flags):
    seen = Metrics.counter("sum", "seen")

    def counted_sum(values):
        seen.inc()
        return sum(values)

    def build(pcoll):
        _ = pcoll | hr.WithKeys("k") | "sum" >> hr.CombinePerKey(counted_sum)

    (number,) = committed(run(build, flags), "counters", "seen").values()
    assert number >= 1


@MODES
def test_elements_are_counted_in_and_out(flags):
    def build(pcoll):
        many = pcoll | "repeat" >> hr.FlatMap(lambda n: [n] * n)
        odd = many | "odd" >> hr.Filter(lambda n: n % 2)
        _ = (many, odd) | "both" >> hr.Flatten()
        _ = odd | "pair" >> hr.WithKeys(lambda n: n) | "group" >> hr.GroupByKey()

    steps = run(build, flags).steps
    counts = {label: (step.elements_in, step.elements_out) for label, step in steps.items()}
    assert counts == {
        "read": (0, 3),
        "repeat": (3, 6),
        "odd": (6, 4),
        "both": (10, 10),
        "pair": (4, 4),
        "group": (4, 2),
    }


def test_all_outputs_count():
    def build(pcoll):
        parts = pcoll | "part" >> hr.Partition(lambda n, parts: n % 2, 2)
        _ = (parts[0], parts[1]) | hr.Flatten()

    assert run(build).steps["part/Choose"].elements_out == 3


@MODES
def test_in_the_end_everything_is_complete(flags):
    steps = run(lambda pcoll: pcoll | hr.WithKeys("k") | hr.GroupByKey(), flags).steps
    assert {step.watermark for step in steps.values()} == {MAX_MICROS}


def hours(mode):
    return hr.WindowInto(
        FixedWindows(10),
        trigger=AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
        accumulation_mode=mode,
        allowed_lateness=10,
    )


STORY = (
    TestStream(stays_open=True)
    .add_elements([at(1, 1), at(1, 1, "other")])
    .add_elements([at(2, 2)])
    .advance_watermark_to(12)
    .add_elements([at(3, 3)])
    .advance_watermark_to(25)
    .add_elements([at(4, 4), at(5, 5), at(14, 6)])
)


@pytest.mark.parametrize(
    ("mode", "retractions"),
    [
        (AccumulationMode.DISCARDING, 0),
        (AccumulationMode.ACCUMULATING, 0),
        (AccumulationMode.RETRACTING, 4),
    ],
)
def test_panes_are_counted_by_timing(mode, retractions):
    steps = run(lambda p: p | hours(mode) | "sum" >> hr.CombinePerKey(sum), source=STORY).steps
    assert steps["sum"].panes == {"EARLY": 3, "ON_TIME": 3, "LATE": 1}
    assert steps["sum"].retractions == retractions
    assert steps["sum"].elements_out == 7 + retractions


def test_what_came_too_late_is_counted():
    mode = AccumulationMode.DISCARDING
    steps = run(lambda p: p | hours(mode) | "sum" >> hr.CombinePerKey(sum), source=STORY).steps
    assert steps["sum"].late_dropped == 2
    assert steps["sum"].elements_in == 7


def test_how_far_each_step_is_complete():
    def build(pcoll):
        slow = hr.WindowInto(
            FixedWindows(10),
            trigger=AfterWatermark(late=AfterCount(99)),
            accumulation_mode=AccumulationMode.DISCARDING,
            allowed_lateness=50,
        )
        grouped = pcoll | slow | "group" >> hr.GroupByKey()
        _ = grouped | "after" >> hr.Map(str)

    before = TestStream(stays_open=True).add_elements([at(15, 1)]).advance_watermark_to(12)
    steps = run(build, source=before).steps
    seconds = {label: step.watermark / 1e6 for label, step in steps.items()}
    assert (seconds["read"], seconds["group"], seconds["after"]) == (12, 12, 12)


@MODES
def test_a_step_that_nothing_came_to_has_counted_nothing(flags):
    steps = run(
        lambda pcoll: pcoll | "none" >> hr.Filter(lambda n: n > 9) | "after" >> hr.Map(str), flags
    ).steps
    assert (steps["after"].elements_in, steps["after"].elements_out) == (0, 0)


def test_composites_can_be_asked_for():
    @hr.ptransform_fn
    def Mill(pcoll):
        return pcoll | "stone" >> hr.ParDo(Grind())

    metrics = run(lambda pcoll: pcoll | "mill" >> Mill())
    chosen = metrics.query(MetricsFilter().with_step("mill").with_name("bags"))["counters"]
    assert [result.key.step for result in chosen] == ["mill/stone"]


class CountedLines(Lines):
    """Counts its records while they are read."""

    def read(self, partition):
        for line in super().read(partition):
            Metrics.counter("lines", "records").inc()
            yield line


@MODES
def test_sources_count_too(flags):
    lines = CountedLines({"p": [1, 2], "q": [3]})
    metrics = run(lambda p: p | "grind" >> hr.ParDo(Grind()), flags, hr.Read(lines))
    assert committed(metrics, "counters", "records") == {"read": 3}
    assert committed(metrics, "counters", "bags") == {"grind": 3}


def test_partitions_of_a_source_count_together():
    lines = Lines({"p": [1, 2], "q": [3]})
    assert run(lambda p: p | hr.Map(str), source=hr.Read(lines)).steps["read"].elements_out == 3
