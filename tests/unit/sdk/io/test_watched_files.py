"""Watched directories: each file is read once, in order, and the same offset gives the same records."""

import os
import pickle
from typing import Any

import pytest

import headrace as hr
from headrace.io import ReadFromText, TextFiles, WatchedFiles
from headrace.options import PipelineOptions
from headrace.sdk.io.matching import watched_files
from tests.unit.sdk.io.files import Kept, until

pytestmark = pytest.mark.mode("streaming")


def put(directory, name, text, time):
    """Put a whole file into a directory, with a time of modification in seconds."""
    new = directory / f".{name}"
    new.write_text(text)
    os.utime(new, (time, time))
    new.rename(directory / name)


def reader(directory):
    """A source that may look as often as it likes."""
    return WatchedFiles(TextFiles(directory), interval=0)


def read_all(source, offset=None, limit=10):
    """What there is until a look finds nothing, and the offset then."""
    found: list[Any] = []
    while True:
        batch = source.read(None, offset, limit)
        looked = offset is None or not offset[2]
        offset = batch.next_offset
        assert len(batch.records) <= limit
        found += getattr(batch.records, "values", [])
        if looked and not offset[2]:
            return found, offset


def test_files_come_in_order_of_their_times_then_names(tmp_path):
    for name, time in (("c", 1), ("b", 2), ("a", 2)):
        put(tmp_path, name, f"{name}1\n{name}2\n", time)
    assert read_all(reader(tmp_path))[0] == ["c1", "c2", "a1", "a2", "b1", "b2"]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_each_file_is_read_once_whatever_the_limit(tmp_path, limit):
    source = reader(tmp_path)
    put(tmp_path, "a", "1\n2\n3\n4\n", 1)
    put(tmp_path, "empty", "", 2)
    found, offset = read_all(source, limit=limit)
    put(tmp_path, "b", "5\n", 3)
    assert (found, read_all(source, offset, limit)[0]) == (["1", "2", "3", "4"], ["5"])


def test_a_file_that_turns_up_out_of_order_is_read(tmp_path):
    source = reader(tmp_path)
    put(tmp_path, "b", "2\n", 100)
    _, offset = read_all(source)
    put(tmp_path, "a", "1\n", 1)
    assert read_all(source, offset)[0] == ["1"]


def test_the_same_offset_gives_the_same_records_again(tmp_path):
    """Also to another reader, after other files have come."""
    put(tmp_path, "b", "1\n2\n3\n", 2)
    source = reader(tmp_path)
    looked = source.read(None, None, 2).next_offset
    first = source.read(None, looked, 2)
    second = source.read(None, first.next_offset, 2)
    put(tmp_path, "a", "0\n", 1)
    for again in (source, reader(tmp_path), pickle.loads(pickle.dumps(source))):
        assert again.read(None, looked, 2).records.values == ["1", "2"]
        assert again.read(None, first.next_offset, 2).records.values == ["3"]
        assert again.read(None, first.next_offset, 2).next_offset == second.next_offset


def test_the_offset_stays_small(tmp_path, monkeypatch):
    monkeypatch.setattr(watched_files, "READ_FILES", 3)
    monkeypatch.setattr(watched_files, "PLANNED_FILES", 4)
    for number in range(20):
        put(tmp_path, f"{number:02}", f"{number}\n", number)
    source = reader(tmp_path)
    found, offset = read_all(source, limit=1)
    assert found == list(map(str, range(20)))
    before, read, ahead, records, *_ = offset
    assert (before[1], len(read), ahead, records) == (str(tmp_path / "16"), 3, (), 0)
    put(tmp_path, "20", "20\n", 20)
    assert read_all(source, offset)[0] == ["20"]


def test_a_directory_is_not_looked_at_more_often_than_agreed(tmp_path):
    source = WatchedFiles(TextFiles(tmp_path), interval=60)
    offset = source.read(None, None, 1).next_offset
    put(tmp_path, "a", "1\n", 1)
    assert source.read(None, offset, 1).next_offset == offset
    assert reader(tmp_path).read(None, offset, 1).next_offset != offset


def test_a_file_that_goes_before_it_was_read_is_missed(tmp_path):
    put(tmp_path, "a", "1\n", 1)
    source = reader(tmp_path)
    offset = source.read(None, None, 1).next_offset
    (tmp_path / "a").unlink()
    with pytest.raises(hr.FileError, match="deleted before it was read") as error:
        source.read(None, offset, 1)
    assert error.value.where == str(tmp_path / "a")


def test_how_often_to_look_is_a_stretch_of_time(tmp_path):
    with pytest.raises(hr.PipelineError, match="watch is -1"):
        ReadFromText(tmp_path, watch=-1)


@pytest.fixture
def growing(runner, tmp_path):
    """A run over a directory that grows, what it has counted, and the directory."""
    found: list[Any] = []
    p = hr.Pipeline(runner=runner, options=PipelineOptions([]))
    source = ReadFromText(
        tmp_path, watch=0.01, timestamp=float, watermark=hr.BoundedOutOfOrderness(0)
    )
    windows = hr.WindowInto(hr.window.FixedWindows(10))
    counts = hr.combiners.Count.Globally().without_defaults()
    _ = p | source | windows | counts | hr.Write(Kept(found))
    result = p.run()
    put(tmp_path, "a", "1\n2\n", 1)
    put(tmp_path, "b", "11\n", 2)
    until(lambda: len(found) == 1)
    yield result, found, tmp_path
    result.cancel()


def test_new_files_are_read_until_the_run_is_drained(growing):
    result, found, directory = growing
    assert found == [(2, 9.999999)]
    put(directory, "c", "12\n25\n", 3)
    until(lambda: len(found) == 2)
    assert result.drain() == "DONE"
    assert found == [(2, 9.999999), (2, 19.999999), (1, 29.999999)]


def test_new_files_are_read_until_the_run_is_cancelled(growing):
    result, found, directory = growing
    assert result.cancel() == "CANCELLED"
    put(directory, "c", "99\n", 3)
    assert found == [(2, 9.999999)]
