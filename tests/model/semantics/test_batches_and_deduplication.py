"""Transforms that are composed of state, timers, side inputs and a source that reads the clock."""

from collections import Counter

import pytest

import headrace as hr
from headrace.runners.sources.partition_reader import PartitionReader
from headrace.runners.sources.source_rounds import SourceRounds
from headrace.sdk.pipelines.graph import Read
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.polling.periodic_source import PeriodicSource, Times
from headrace.testing import TestPipeline, assert_that, capture, equal_to
from headrace.testing.test_stream import TestStream
from headrace.transforms.periodicsequence import RebaseMode
from headrace.triggers import AfterWatermark, Repeatedly
from headrace.utils.sharded_key import ShardedKey
from tests.model.semantics.scenarios import (
    EACH,
    END,
    FIXED,
    RETRACTING,
    SESSIONS,
    arrive,
    at,
    clock,
    into,
    script,
    watermark,
)

SECOND = 1_000_000


def numbers(count):
    return [("a", n) for n in range(count)]


# GroupIntoBatches


def test_a_batch_has_at_most_the_batch_size_and_the_rest_comes_at_the_end_of_the_window(play):
    events = [arrive(*(at(1, letter) for letter in "abc")), arrive(at(2, "d"), at(12, "e")), END]
    played = play(events, into(FIXED), hr.GroupIntoBatches(3))
    assert played.windows == [("abc", (0, 10)), ("d", (0, 10)), ("e", (10, 20))]
    assert [time for _, time in played.times] == [1, 9.999999, 19.999999]


def test_batches_are_per_key(play):
    events = [arrive(at(1, "a", "x"), at(1, "b", "y"), at(1, "c", "x"), at(1, "d", "y")), END]
    played = play(events, into(FIXED), hr.GroupIntoBatches(2))
    assert sorted(played.pairs) == [(1, "x", ["a", "c"]), (1, "y", ["b", "d"])]


def test_a_batch_waits_at_most_its_duration_from_its_first_element(play):
    events = [
        arrive(at(1, "a")),
        clock(4),
        arrive(at(2, "b")),
        clock(4),
        arrive(at(3, "c")),
        clock(4),
        END,
    ]
    played = play(events, into(FIXED), hr.GroupIntoBatches(5, max_buffering_duration_secs=8))
    assert played.moments == [("ab", 8), ("c", 12)]
    assert played.times == [("ab", 1), ("c", 9.999999)]


def test_a_batch_that_waits_for_processing_time_holds_the_watermark(play):
    waiting = [arrive(at(1, "a")), watermark(8)]
    held = play(waiting, into(FIXED), "batch" >> hr.GroupIntoBatches(2, 60))
    free = play(waiting, into(FIXED), "batch" >> hr.GroupIntoBatches(2))
    assert held.watermark("batch/Batch") == 1
    assert free.watermark("batch/Batch") == 8


def test_late_elements_within_the_allowed_lateness_are_batches_at_once(play):
    events = [arrive(at(1, "a")), watermark(10), arrive(at(2, "b"), at(3, "c")), END]
    played = play(events, into(FIXED, AfterWatermark(), lateness=5), hr.GroupIntoBatches(9))
    assert played.values == ["a", "bc"]


@pytest.mark.mode("batch")
def test_sharded_keys_have_full_batches_of_large_bundles(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create(numbers(40))
        found = capture(pairs | hr.GroupIntoBatches.WithShardedKey(10))
    assert [len(values) for _, values in found.values] == [10] * 4
    assert {type(key) for key, _ in found.values} == {ShardedKey}
    assert {key.key for key, _ in found.values} == {"a"}
    assert len({key for key, _ in found.values}) == 4
    assert sorted(n for _, values in found.values for n in values) == list(range(40))


@pytest.mark.mode("streaming")
def test_sharded_keys_in_a_stream(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | script([arrive(*(at(1, n) for n in range(40))), END]) | into(FIXED)
        found = capture(pairs | hr.GroupIntoBatches.WithShardedKey(10))
    assert max(len(values) for _, values in found.values) <= 10
    assert {key.key for key, _ in found.values} == {"k"}
    assert sorted(n for _, values in found.values for n in values) == list(range(40))
    assert {float(each.window.start) for each in found.elements} == {0}


@pytest.mark.mode("batch")
def test_batches_and_unique_keys_of_a_batch(runner):
    with TestPipeline(runner=runner) as p:
        pairs = p | hr.Create([hr.TimestampedValue(pair, 1) for pair in [*numbers(5), ("b", 7)]])
        batches = capture(pairs | hr.GroupIntoBatches(3), "batches")
        first = capture(pairs | hr.DeduplicatePerKey(event_time_duration=6), "first")
    assert sorted((key, len(values)) for key, values in batches.values) == [
        ("a", 2),
        ("a", 3),
        ("b", 1),
    ]
    assert sorted(key for key, _ in first.values) == ["a", "b"]


@pytest.mark.parametrize("size", [0, -1, 2.5, None, True])
def test_a_batch_size_that_is_not_a_positive_number_is_refused(size):
    with pytest.raises(hr.PipelineError, match="the batch_size of GroupIntoBatches is"):
        hr.GroupIntoBatches(size)


def test_a_negative_duration_is_refused():
    with pytest.raises(hr.PipelineError, match=r"max_buffering_duration_secs of Gr.* is -1"):
        hr.GroupIntoBatches.WithShardedKey(3, -1)


def refused(*transforms):
    *before, last = transforms
    pcoll = TestPipeline() | hr.Create([("a", 1)])
    for transform in before:
        pcoll = pcoll | transform
    with pytest.raises(hr.PipelineError) as refusal:
        _ = pcoll | last
    assert refusal.value.where == "here/Batch"
    return refusal.value.problem


def test_batches_refuse_retractions():
    retracting = into(FIXED, Repeatedly(EACH), RETRACTING)
    problem = refused(retracting, hr.GroupByKey(), "here" >> hr.GroupIntoBatches(2))
    assert "can contain retractions, but GroupIntoBatches" in problem


def test_batches_refuse_merging_windows():
    assert "cannot merge, but Sessions" in refused(into(SESSIONS), "here" >> hr.GroupIntoBatches(2))


def test_batches_refuse_elements_that_are_not_pairs():
    keys = hr.Keys().with_output_types(str)
    assert "must be key-value pairs" in refused(keys, "here" >> hr.GroupIntoBatches(2))


# BatchElements


def sizes(batches):
    return [len(batch) for batch in batches.values]


@pytest.mark.mode("batch")
def test_batches_grow_to_their_maximum_within_a_bundle(runner):
    with TestPipeline(runner=runner) as p:
        each = p | hr.Create(range(30))
        fixed = capture(each | "fixed" >> hr.BatchElements(8, 8), "one")
        growing = capture(each | "growing" >> hr.BatchElements(2, 8), "other")
        sized = each | "sized" >> hr.BatchElements(10, 10, element_size_fn=lambda n: 1 + n % 4)
        by_size = capture(sized, "third")
    for found in (fixed, growing, by_size):
        assert sorted(n for batch in found.values for n in batch) == list(range(30))
    assert max(sizes(fixed)) == max(sizes(growing)) == 8
    assert min(sizes(growing)) < 8
    assert all(sum(1 + n % 4 for n in batch) <= 10 for batch in by_size.values)


def test_batches_grow_in_order_on_the_local_runner():
    batches = range(30) | hr.BatchElements(2, 8)
    assert [len(batch) for batch in batches] == [2, 2, 4, 8, 8, 6]


def test_a_batch_has_the_window_of_its_elements_and_its_last_timestamp(play):
    events = [arrive(at(1, "a"), at(12, "b"), at(2, "c"), at(13, "d")), END]
    played = play(events, into(FIXED), hr.BatchElements(5, 5))
    values = [(each.window.start, *pair) for each in played.elements for pair in each.value]
    assert sorted(values) == [(0, "k", "a"), (0, "k", "c"), (10, "k", "b"), (10, "k", "d")]
    assert all(each.timestamp == each.window.max_timestamp() for each in played.elements)


def test_few_windows_have_incomplete_batches_at_a_time():
    stamped = hr.Map(lambda n: hr.TimestampedValue(n, n % 12))
    chain = stamped | hr.WindowInto(hr.window.FixedWindows(1)) | hr.BatchElements(9, 9)
    found = [len(batch) for batch in range(24) | chain]
    assert sum(found) == 24
    assert len(found) > 12


def test_batches_over_several_bundles_wait_for_processing_time(play):
    events = [
        arrive(at(1, "a")),
        clock(4),
        arrive(at(2, "b")),
        clock(4),
        arrive(at(3, "c")),
        clock(4),
        END,
    ]
    played = play(events, into(FIXED), hr.BatchElements(5, 5, max_batch_duration_secs=8))
    found = [([value for _, value in each.value], each.now) for each in played.elements]
    assert found == [(["a", "b"], 8), (["c"], 12)]


def test_elements_of_similar_length_share_a_batch():
    words = ["a", "bb", "c" * 50, "d", "e" * 60]
    batches = words | hr.BatchElements(2, 9, max_batch_duration_secs=5, length_fn=len)
    assert sorted(map(len, batches)) == [2, 3]
    assert {len(word) > 16 for word in max(batches, key=len)} == {False}


def test_the_size_of_batches_is_a_metric():
    with TestPipeline() as p:
        _ = p | hr.Create(range(5)) | hr.BatchElements(2, 2)
    assert p.result is not None
    (found,) = p.result.metrics().query()["distributions"]
    assert (found.key.metric.name, found.result.count, found.result.sum) == ("batch_size", 3, 5)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"min_batch_size": 3, "max_batch_size": 2}, "min_batch_size is 3 and max_batch_size is 2"),
        ({"min_batch_size": 0}, "min_batch_size is 0"),
        ({"bucket_boundaries": [1]}, "bucket_boundaries requires length_fn"),
        ({"bucket_boundaries": [2, 1], "length_fn": len}, r"bucket_boundaries is \[2, 1\]"),
    ],
)
def test_sizes_that_are_not_valid_are_refused(arguments, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        hr.BatchElements(**arguments)


# Deduplicate


def test_duplicates_are_dropped_until_processing_time_has_passed(play):
    events = [
        arrive(at(1, "a"), at(2, "b")),
        clock(4),
        arrive(at(3, "a")),
        clock(4),
        arrive(at(4, "a")),
        clock(4),
        END,
    ]
    played = play(events, into(FIXED), hr.Deduplicate(processing_time_duration=8))
    assert Counter(played.values) == {"a": 2, "b": 1}
    assert sorted(played.times) == [("a", 1), ("a", 4), ("b", 2)]


def test_duplicates_are_dropped_until_event_time_has_passed(play):
    events = [
        arrive(at(1, "a"), at(4, "b", "x")),
        arrive(at(5, "b")),
        arrive(at(7, "c")),
        watermark(8),
        arrive(at(8, "d")),
        END,
    ]
    played = play(events, into(FIXED), hr.DeduplicatePerKey(event_time_duration=6))
    assert sorted(played.pairs) == [(1, "k", "a"), (1, "k", "c"), (1, "x", "b")]


def test_each_window_has_its_own_duplicates(play):
    events = [arrive(at(1, "a"), at(2, "a"), at(11, "a"), at(12, "a")), END]
    played = play(events, into(FIXED), hr.Deduplicate(processing_time_duration=60))
    assert sorted(played.times) == [("a", 1), ("a", 11)]


def test_a_key_that_is_remembered_does_not_hold_the_watermark(play):
    events = [arrive(at(1, "a")), watermark(8)]
    played = play(events, into(FIXED), "once" >> hr.Deduplicate(60))
    assert played.watermark("once/Deduplicate/First of each key") == 8


@pytest.mark.mode("batch")
def test_the_event_time_of_duplicates_counts_in_batch_mode_too(runner):
    with TestPipeline(runner=runner) as p:
        stamped = [hr.TimestampedValue("a", time) for time in (0, 30, 70, 129, 131)]
        found = capture(p | hr.Create(stamped) | hr.Deduplicate(event_time_duration=60))
    assert sorted(float(each.timestamp) for each in found.elements) == [0, 70, 131]


@pytest.mark.parametrize("transform", [hr.Deduplicate, hr.DeduplicatePerKey])
def test_deduplication_needs_a_duration(transform):
    with pytest.raises(hr.PipelineError, match=f"{transform.__name__} has no duration") as refusal:
        transform()
    assert "processing_time_duration or event_time_duration" in refusal.value.remedy
    with pytest.raises(hr.PipelineError, match="has the duration 0"):
        transform(event_time_duration=0)


# PeriodicImpulse and PeriodicSequence


@pytest.mark.mode("streaming")
def test_a_sequence_of_the_past_comes_at_once_with_its_timestamps_and_windows(runner):
    with TestPipeline(runner=runner) as p:
        windowed = p | hr.PeriodicImpulse(0, 30, 10, apply_windowing=True)
        counted = windowed | hr.combiners.Count.Globally().without_defaults()
        impulses = capture(counted)
        several = capture(p | hr.Create([(0, 20, 10), (5, 7, 1)]) | hr.PeriodicSequence(), "all")
    assert sorted(each.window.start for each in impulses.elements) == [0, 10, 20]
    assert impulses.values == [1, 1, 1]
    assert sorted(several.values) == [0, 5, 6, 10]
    assert all(each.timestamp == each.value for each in several.elements)


def test_an_element_comes_when_the_clock_of_the_runner_reaches_it():
    ticks = [clock(5), clock(5), clock(5), watermark(30), END]
    with TestPipeline() as p:
        _ = p | "script" >> script(ticks)
        found = capture(p | hr.PeriodicImpulse(4, 100, 4))
    assert [(each.value, float(each.now)) for each in found.elements] == [(4, 5), (8, 10), (12, 15)]


def positions(source, times):
    """Read a source in rounds, by a clock."""
    rest = iter(times)
    rounds = SourceRounds((Read("read", (), (), source),), 10, 0, wall=lambda: next(rest) * SECOND)
    position, found = rounds.start(), []
    while not rounds.is_finished(position):
        before = position
        position, bundles = rounds.read(position)
        values = [value for bundle in bundles.get("read", ()) for value in bundle.values]
        found.append((values, position.watermarks["read"] / SECOND))
        again = rounds.replay(before, position)["read"]
        assert [value for bundle in again for value in bundle.values] == values
    return found


def test_the_watermark_is_the_time_of_the_next_element():
    source = PeriodicSource((Times(10, 20 * SECOND, 5),))
    found = positions(source, [0, 3, 12, 13, 15])
    assert found[:3] == [([], 10), ([10], 15), ([], 15)]
    assert found[3][0] == [15]
    assert found[3][1] > 1e12


def test_a_sequence_without_start_begins_with_the_run_and_goes_on_after_a_restart():
    source = PeriodicSource((Times(None, 20 * SECOND, 5),))
    found = positions(source, [3, 3, 4, 9, 14, 30])
    assert [values for values, _ in found] == [[], [3.0], [8.0], [13.0], [18.0]]
    offset = source.read_until(0, None, 9, 3 * SECOND).next_offset
    restarted = PeriodicSource((Times(None, 20 * SECOND, 5),))
    again = restarted.read_until(0, offset, 9, 8 * SECOND)
    assert as_bundle(again.records).values == [3.0, 8.0]


def test_until_caught_up_a_sequence_ends_at_the_present():
    reader = PartitionReader(Read("r", (), (), PeriodicSource((Times(0, 10**18, 5),))), 10, True)
    position, bundles = reader.read(reader.start(), 7 * SECOND)
    assert [value for bundle in bundles for value in bundle.values] == [0, 5]
    position, _ = reader.read(position, 7 * SECOND)
    assert position.partitions[0].finished


def values_of(**arguments):
    with TestPipeline() as p:
        found = capture(p | hr.PeriodicImpulse(**arguments))
    return [(each.value, float(each.timestamp)) for each in found.elements]


def test_the_data_of_a_sequence_is_its_values():
    assert values_of(start_timestamp=0, fire_interval=2, data="ab") == [("a", 0), ("b", 2)]
    timed = [(hr.Timestamp(7), "a"), (hr.Timestamp(3), "b")]
    assert values_of(start_timestamp=0, fire_interval=2, data=timed) == [("a", 7), ("b", 3)]
    with pytest.warns(hr.HeadraceWarning, match="the data is not enough to span"):
        repeated = values_of(start_timestamp=0, stop_timestamp=5, fire_interval=2, data="ab")
    assert repeated == [("a", 0), ("b", 2), ("a", 4)]
    with pytest.raises(hr.PipelineError, match="not enough to span"):
        hr.PeriodicImpulse(0, 9, fire_interval=2, data=timed)


def test_a_sequence_can_move_to_the_time_of_the_run():
    found = values_of(
        start_timestamp=0, stop_timestamp=1e-6, fire_interval=1, rebase=RebaseMode.REBASE_ALL
    )
    assert len(found) == 1
    assert found[0][1] > 1_000_000_000


def test_the_type_of_an_element_is_that_of_the_start():
    assert values_of(start_timestamp=1, stop_timestamp=2, fire_interval=1) == [(1, 1)]
    ((value, _),) = values_of(
        start_timestamp="1970-01-01T00:00:01Z", stop_timestamp=2, fire_interval=1
    )
    assert isinstance(value, float)


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda p: p | hr.PeriodicImpulse(5, 1), "stops at .* before it starts"),
        (lambda p: p | hr.PeriodicImpulse(fire_interval=0), "the interval of the sequence is 0"),
        (lambda p: p | hr.Create([(5, 1, 1)]) | hr.PeriodicSequence(), "before it starts"),
        (lambda p: p | hr.Create([3]) | hr.PeriodicSequence(), "3 is not a .start, stop, interval"),
    ],
)
def test_a_sequence_that_is_not_valid_is_refused(make, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        make(TestPipeline())


@pytest.mark.mode("streaming")
def test_sequences_that_are_known_only_during_the_run(runner):
    with TestPipeline(runner) as p:
        starts = p | hr.Create([0, 100]) | hr.Map(lambda start: (start, start + 20, 10))
        assert_that(starts | hr.PeriodicSequence(), equal_to([0, 10, 100, 110]))


def test_an_element_that_is_no_sequence():
    with (
        pytest.raises(hr.ElementError, match=r"3 is not a \(start, stop, interval"),
        TestPipeline() as p,
    ):
        _ = p | hr.Create([3]) | hr.Map(lambda x: x) | hr.PeriodicSequence()


def test_a_source_that_reads_the_clock_ends_with_the_script_of_a_test_stream():
    stream = TestStream().advance_processing_time(5).advance_watermark_to_infinity()
    with TestPipeline() as p:
        _ = p | stream
        endless = capture(p | hr.PeriodicImpulse(0, fire_interval=2))
    assert endless.values == [0, 2, 4]


# WaitOn and as_singleton_view


def test_elements_wait_until_other_collections_are_complete_in_their_window():
    events = [
        arrive(at(1, "a"), at(11, "b")),
        watermark(5),
        arrive(at(6, "c")),
        watermark(10),
        watermark(20),
        END,
    ]
    log = []
    with TestPipeline() as p:
        each = p | script(events) | into(FIXED)
        work = each | hr.Map(lambda pair: log.append(pair[1]))
        _ = each | hr.WaitOn(work) | "then" >> hr.Map(lambda pair: log.append(pair[1].upper()))
    assert sorted(log[:3]) == ["a", "b", "c"]
    assert [sorted(log[3:5]), log[5:]] == [["A", "C"], ["B"]]


@pytest.mark.mode("streaming")
def test_elements_that_wait_keep_their_windows_and_timestamps(runner):
    events = [arrive(at(1, "a"), at(11, "b")), watermark(10), arrive(at(12, "c")), END]
    with TestPipeline(runner=runner) as p:
        each = p | script(events) | into(FIXED)
        found = capture(each | hr.WaitOn(each | hr.Values()))
    values = [(e.value[1], float(e.timestamp), float(e.window.start)) for e in found.elements]
    assert sorted(values) == [("a", 1, 0), ("b", 11, 10), ("c", 12, 10)]


@pytest.mark.mode("batch")
def test_a_combined_value_is_a_side_input(runner):
    with TestPipeline(runner=runner) as p:
        numbers = p | hr.Create([1, 3])
        total = numbers | hr.CombineGlobally(sum).as_singleton_view()
        nothing = numbers | hr.Filter(lambda n: n > 9)
        default = nothing | "none" >> hr.CombineGlobally(sum).as_singleton_view()
        shares = numbers | "share" >> hr.Map(lambda n, t, d: (n / t, d), total, default)
        found = capture(shares | hr.Wait.on(numbers))
    assert sorted(found.values) == [(0.25, 0), (0.75, 0)]


@pytest.mark.mode("streaming")
def test_a_combined_value_of_a_window_is_a_side_input(runner):
    events = [arrive(at(1, 3), at(2, 1), at(11, 5)), END]
    with TestPipeline(runner=runner) as p:
        numbers = p | script(events) | into(FIXED) | hr.Values()
        total = numbers | hr.CombineGlobally(sum).as_singleton_view()
        found = capture(numbers | "share" >> hr.Map(lambda n, t: (n, t), total))
    assert sorted(found.values) == [(1, 4), (3, 4), (5, 5)]


@pytest.mark.parametrize("signals", [(), (3,)])
def test_wait_on_needs_collections(signals):
    for make in (hr.WaitOn, hr.Wait.on):
        with pytest.raises(hr.PipelineError, match=r"to wait on|can wait on it"):
            make(*signals)
