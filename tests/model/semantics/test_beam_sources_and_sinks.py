"""Sources and sinks in Beam's form: sources that divide themselves, and sinks that are finalized once."""

import json
from itertools import chain
from pathlib import Path

import pytest

import headrace as hr
from headrace.io.iobase import BoundedSource, Sink, SourceBundle, Writer
from headrace.io.range_trackers import (
    OffsetRangeTracker,
    OrderedPositionRangeTracker,
    UnsplittableRangeTracker,
)
from headrace.sdk.beam.iobase import DividedSource
from headrace.testing import TestPipeline, capture


class Numbers(BoundedSource):
    """The numbers below a limit, in parts."""

    def __init__(self, limit, parts=3, size=None, moving=False):
        self.limit, self.parts, self.size = limit, parts, size
        self.asked = []

    def estimate_size(self):
        return self.size

    def split(self, desired_bundle_size, start_position=None, stop_position=None):
        self.asked.append(desired_bundle_size)
        step = -(-self.limit // self.parts)
        for start in range(0, self.limit, step):
            yield SourceBundle(step, self, start, min(start + step, self.limit))

    def get_range_tracker(self, start_position, stop_position):
        return OffsetRangeTracker(start_position, stop_position)

    def read(self, range_tracker):
        number = range_tracker.start_position()
        while range_tracker.try_claim(number):
            yield hr.TimestampedValue(number, number)
            number += 1


@pytest.mark.mode("batch")
def test_a_source_is_read_in_its_parts(runner):
    with TestPipeline(runner=runner) as p:
        found = capture(p | hr.io.Read(Numbers(8)))
    assert sorted(found.values) == list(range(8))
    assert all(each.timestamp == each.value for each in found.elements)


@pytest.mark.mode("streaming")
def test_a_source_is_read_in_rounds(runner):
    flags = ["--streaming", "--max-records-per-batch=2"]
    with TestPipeline(runner=runner, argv=flags) as p:
        found = capture(p | hr.io.Read(Numbers(8)))
    assert sorted(found.values) == list(range(8))


def test_a_source_is_asked_for_parts_by_its_size():
    sizes = {None: 1 << 26, 10: 1 << 20, 1 << 30: (1 << 30) // 100}
    for size, wanted in sizes.items():
        numbers = Numbers(8, size=size)
        divided = DividedSource(numbers)
        assert len(divided.partitions()) == 3
        assert list(divided.partitions()) == [0, 1, 2]
        assert numbers.asked == [wanted]
    assert (hr.Pipeline() | hr.io.Read(Numbers(8))).producer == "Read(Numbers)"


def test_a_source_that_does_not_divide_itself_well_is_an_error_with_the_step():
    numbers = DividedSource(Numbers(8))
    with pytest.raises(hr.PipelineError, match="returned more than 7 parts before, but 3 now"):
        list(numbers.read(7))

    class Bad(Numbers):
        def split(self, *args, **kwargs):
            return [7]

    p = TestPipeline()
    _ = p | "here" >> hr.io.Read(Bad(1))
    with pytest.raises(hr.PipelineError, match="split returned 7") as raised:
        p.run()
    assert "in here" in raised.value.__notes__


# Sinks


class Lines(Writer):
    def __init__(self, path, limit):
        self.path, self.limit, self.lines = path, limit, []

    def write(self, value):
        self.lines.append(value)

    def at_capacity(self):
        return self.limit is not None and len(self.lines) >= self.limit

    def close(self):
        self.path.write_text(json.dumps(self.lines))
        return self.path.name


class Directory(Sink):
    """Writes files, and a list of them at the end."""

    def __init__(self, path, limit=None, shards=0):
        self.path, self.limit, self.num_shards = str(path), limit, shards

    def initialize_write(self):
        Path(self.path).mkdir()
        return self.path

    def open_writer(self, init_result, uid):
        return Lines(Path(init_result) / uid, self.limit)

    def pre_finalize(self, init_result, writer_results):
        return len(writer_results)

    def finalize_write(self, init_result, writer_results, pre_finalize_result):
        assert pre_finalize_result == len(writer_results)
        with (Path(init_result) / "done").open("x") as file:  # it fails if this is called twice
            file.write(json.dumps(sorted(writer_results)))
        yield "a result"


def shards(path):
    """Return the contents of the files that the list names."""
    return [
        json.loads((path / name).read_text()) for name in json.loads((path / "done").read_text())
    ]


@pytest.mark.alone  # it looks at files after the run
@pytest.mark.mode("batch")
def test_a_sink_gets_each_element_once_and_is_finalized_once(runner, tmp_path):
    with TestPipeline(runner=runner) as p:
        windowed = p | hr.io.Read(Numbers(8)) | hr.WindowInto(hr.transforms.window.FixedWindows(3))
        _ = windowed | "bundles" >> hr.io.Write(Directory(tmp_path / "bundles"))
        _ = windowed | "limit" >> hr.io.Write(Directory(tmp_path / "limit", limit=2))
        _ = windowed | "shards" >> hr.io.Write(Directory(tmp_path / "shards", shards=2))
        _ = p | hr.Create([]) | "empty" >> hr.io.Write(Directory(tmp_path / "empty"))
    assert sorted(chain(*shards(tmp_path / "bundles"))) == list(range(8))
    assert max(map(len, shards(tmp_path / "limit"))) == 2
    assert sorted(chain(*shards(tmp_path / "limit"))) == list(range(8))
    assert sorted(chain(*shards(tmp_path / "shards"))) == list(range(8))
    assert len(shards(tmp_path / "shards")) == 2
    assert shards(tmp_path / "empty") == []


def test_a_sink_of_beam_refuses_streams_and_retractions(tmp_path):
    p = hr.Pipeline()
    with pytest.raises(
        hr.UnsupportedError, match="Directory is a sink of Beam, and writes bounded"
    ):
        _ = p | hr.PeriodicImpulse() | hr.io.Write(Directory(tmp_path / "out"))
    streaming = TestPipeline(argv=["--streaming"])
    _ = streaming | hr.Create([1]) | hr.io.Write(Directory(tmp_path / "out"))
    with pytest.raises(hr.UnsupportedError, match="runs in streaming mode"):
        streaming.run()


# Range trackers


def test_a_reader_claims_offsets_in_order_up_to_the_end():
    tracker = OffsetRangeTracker(10, 20)
    assert tracker.fraction_consumed() == 0
    assert tracker.try_claim(11)
    tracker.set_current_position(13)
    assert tracker.last_record_start == 13
    assert tracker.fraction_consumed() == 0.3
    assert tracker.position_at_fraction(0.25) == 13
    with pytest.raises(hr.PipelineError, match="the position 11 is claimed after 11"):
        tracker.try_claim(11)
    with pytest.raises(hr.PipelineError, match="the position 12 is claimed after 13"):
        tracker.set_current_position(12)
    assert not tracker.try_claim(20)
    assert tracker.last_attempted_record_start == 20


def test_a_range_can_end_earlier_after_what_was_claimed():
    tracker = OffsetRangeTracker(10, 20)
    assert tracker.try_split(15) is None
    tracker.try_claim(12)
    tracker.set_split_points_unclaimed_callback(lambda stop: stop - 13)
    assert tracker.split_points() == (0, 8)
    assert tracker.try_split(12) is None
    assert tracker.try_split(15) == (15, 0.5)
    assert tracker.try_split(15) is None
    assert tracker.split_points() == (0, 3)
    assert not tracker.try_claim(15)
    unsplittable = UnsplittableRangeTracker(OffsetRangeTracker(0, 9))
    assert unsplittable.try_claim(0)
    assert unsplittable.try_split(5) is None
    endless = OffsetRangeTracker(0, OffsetRangeTracker.OFFSET_INFINITY)
    assert endless.try_claim(1 << 40)
    with pytest.raises(hr.PipelineError, match="without an end"):
        endless.position_at_fraction(0.5)


def test_ordered_positions_need_only_fractions():
    class Floats(OrderedPositionRangeTracker):
        def position_to_fraction(self, position, start, end):
            return (position - start) / (end - start)

        def fraction_to_position(self, fraction, start, end):
            return start + fraction * (end - start)

    tracker = Floats(0.0, 8.0)
    assert tracker.position_at_fraction(0.25) == 2
    assert tracker.try_claim(1)
    assert tracker.fraction_consumed() == 0.125
    assert tracker.try_split(1) is None
    assert tracker.try_split(4) == (4, 0.5)
    assert not tracker.try_claim(4)
    with pytest.raises(hr.PipelineError, match=r"the position 0.5 is claimed after 1"):
        tracker.try_claim(0.5)


@pytest.mark.parametrize(("start", "end"), [(3, 2), (0.5, 2), (0, "z")])
def test_a_range_of_offsets_has_ints_in_order(start, end):
    with pytest.raises(hr.PipelineError, match="range of offsets"):
        OffsetRangeTracker(start, end)
