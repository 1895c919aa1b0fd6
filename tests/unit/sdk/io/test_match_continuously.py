"""MatchContinuously: each new file once, whatever is read again; on each runner, and from a checkpoint."""

import os
import pickle
from functools import partial
from typing import Any

import pytest

import headrace as hr
from headrace.io import fileio
from headrace.sdk.io.matching import matched_files
from headrace.sdk.io.matching.matched_files import MatchedFiles
from tests.unit.sdk.io.files import Applied, pipeline, read, until, values, visible

SECOND = 1_000_000


def file(directory, name, changed=1000.0, text=""):
    path = directory / name
    path.write_text(text)
    os.utime(path, (changed, changed))
    return str(path)


class Polls:
    """Reads a source by a clock of its own; each read is done twice, with offsets that were stored."""

    def __init__(self, directory, **how):
        self.source = MatchedFiles(f"{directory}/*", SECOND, start=0, **how)
        self.offset: Any = None
        self.finished = False
        self.watermarks: list[float] = []

    def at(self, seconds, limit=100):
        """The names of the files that are returned until nothing happens at a time."""
        found = []
        while True:
            batch: Any = self.source.read_until(None, self.offset, limit, int(seconds * SECOND))
            if batch.records:
                again = self.source.read_until(None, self.offset, limit, int(seconds * SECOND))
                assert again.records == batch.records
                assert again.next_offset == batch.next_offset
            found += [os.path.basename(r.value.path) for r in batch.records]
            self.watermarks.append(float(batch.watermark))
            self.finished = batch.finished
            offset = pickle.loads(pickle.dumps(batch.next_offset))
            if offset == self.offset or batch.finished:
                return found
            self.offset = offset


@pytest.mark.mode("streaming")
@pytest.mark.parametrize(
    ("deduplicates", "times"), [(True, [0]), (False, [0, 10, 20])], ids=["once", "by each poll"]
)
def test_files_have_the_time_of_the_poll(runner, tmp_path, deduplicates, times):
    for name in "ab":
        file(tmp_path, name)
    match = fileio.MatchContinuously(f"{tmp_path}/*", 10, deduplicates, 0, 30)
    found = read(runner, "streaming", Applied(match, hr.Map(lambda file: file.path[-1])))
    assert sorted(found) == [(name, time) for name in "ab" for time in times]


@pytest.mark.mode("streaming")
def test_the_files_of_each_poll_are_in_a_window(runner, tmp_path):
    for name in "ab":
        file(tmp_path, name)
    match = fileio.MatchContinuously(f"{tmp_path}/*", 10, False, 0, 20, apply_windowing=True)
    count = hr.CombineGlobally(hr.combiners.CountCombineFn()).without_defaults()
    found = read(runner, "streaming", Applied(match, count))
    assert found == [(2, 9.999999), (2, 19.999999)]


@pytest.mark.mode("streaming")
def test_new_files_are_read(runner, tmp_path):
    file(tmp_path, "a.txt", text="one\ntwo\n")
    reading = hr.io.ReadAllFromTextContinuously(
        f"{tmp_path}/*.txt", interval=10, start_timestamp=0, stop_timestamp=10, with_filename=True
    )
    found = values(
        runner, Applied(reading, hr.MapTuple(lambda path, line: (path[-5:], line))), "streaming"
    )
    assert sorted(found) == [("a.txt", "one"), ("a.txt", "two")]


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_run_that_is_resumed_returns_only_what_is_new(spark, tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    for folder in (data, out):
        folder.mkdir()

    def lines():
        return sorted("".join(visible(out).values()).split())

    def has(expected):
        return lines() >= expected

    for name, expected in {"a": ["a"], "b": ["a", "b"]}.items():
        file(data, name)
        p = pipeline("spark", "streaming", f"--checkpoint={tmp_path}/checkpoint")
        files = p | fileio.MatchContinuously(f"{data}/*", 0.01)
        names = files | hr.Map(lambda file: file.path[-1])
        _ = names | hr.io.WriteToText(out / "names")
        run = p.run()
        until(partial(has, expected))
        run.cancel()
        assert lines() == expected


def test_a_file_is_returned_once(tmp_path):
    polls = Polls(tmp_path)
    assert polls.at(0) == []
    file(tmp_path, "a")
    assert polls.at(0.9) == []
    assert polls.at(1) == ["a"]
    file(tmp_path, "b", 999)
    file(tmp_path, "a", 2000, "changed")
    assert polls.at(2.5, limit=1) == ["b"]
    assert polls.at(7) == []
    assert polls.watermarks == sorted(polls.watermarks)
    assert polls.watermarks[-1] == 8.0


def test_a_changed_file_is_returned_again_if_this_is_wanted(tmp_path):
    polls = Polls(tmp_path, updated=True)
    file(tmp_path, "a")
    assert polls.at(0) == ["a"]
    assert polls.at(1) == []
    file(tmp_path, "a", 2000)
    assert polls.at(2) == ["a"]


def test_a_cursor_is_the_newest_time_of_a_file(tmp_path):
    polls = Polls(tmp_path, updated=True, cursor=True)
    for name, changed in {"b": 2, "a": 1, "c": 2}.items():
        file(tmp_path, name, changed)
    assert polls.at(5, limit=1) == ["a", "b", "c"]
    file(tmp_path, "older", 1.5)
    file(tmp_path, "twin", 2)
    assert polls.at(6) == ["twin"]
    file(tmp_path, "b", 3)
    assert polls.at(7) == ["b"]
    assert polls.watermarks == sorted(polls.watermarks)


def test_all_files_are_returned_though_few_are_remembered(tmp_path, monkeypatch):
    monkeypatch.setattr(matched_files, "LISTED_FILES", 3)
    monkeypatch.setattr(matched_files, "RETURNED_FILES", 3)
    polls = Polls(tmp_path)
    for n in range(8):
        file(tmp_path, str(n), 1000 + n)
    assert polls.at(0, limit=2) == list("01234567")
    file(tmp_path, "8", 1006.5)
    assert polls.at(1) == ["8"]
    assert len(polls.offset[5]) == 3


def test_missed_polls_are_made_up_for_by_one(tmp_path):
    polls = Polls(tmp_path)
    assert polls.at(1_000_000.5) == []
    assert polls.watermarks[-1] == 1_000_001
    assert len(polls.watermarks) < 5


def test_polling_ends(tmp_path):
    polls = Polls(tmp_path, stop=3 * SECOND)
    assert polls.at(2.5) == []
    assert polls.finished


@pytest.mark.parametrize("deduplicates", [True, False])
def test_polling_ends_with_what_is_there_now(tmp_path, deduplicates):
    now = Polls(tmp_path, deduplicates=deduplicates)
    now.source = now.source.available_now()
    file(tmp_path, "a")
    assert now.at(1_000_000) == ["a"]
    assert now.finished


def test_a_run_ends_when_it_is_caught_up(tmp_path):
    file(tmp_path, "a")
    match = fileio.MatchContinuously(f"{tmp_path}/*", 1e-6)
    assert len(read("local", "streaming", match, "--until-caught-up")) == 1


@pytest.mark.mode("streaming")
def test_a_pattern_that_matches_nothing_can_be_an_error_with_the_label(runner, tmp_path):
    match = fileio.MatchContinuously(
        f"{tmp_path}/none",
        10,
        start_timestamp=0,
        stop_timestamp=10,
        empty_match_treatment="DISALLOW",
    )
    with pytest.raises(hr.FileError, match="Empty match for pattern") as found:
        values(runner, "here" >> match, "streaming")
    assert any("here" in note for note in found.value.__notes__)


@pytest.mark.parametrize(
    ("how", "problem"),
    [
        ({"interval": 0}, "interval must be positive"),
        ({"start_timestamp": 2, "stop_timestamp": 1}, "is before the start_timestamp"),
        ({"has_deduplication": False, "timestamp_cursor": True}, "has_deduplication=True"),
        ({"empty_match_treatment": "NEVER"}, "unknown empty_match_treatment"),
    ],
)
def test_bad_arguments_are_refused(how, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        fileio.MatchContinuously("*", **how)


def test_a_file_without_a_time_cannot_be_seen_to_change():
    found = matched_files._with_time(hr.io.filesystem.FileMetadata("a", 1), False)
    assert found == (0.0, "a", 1)
    with pytest.raises(hr.FileError, match="does not tell when 'a' was changed"):
        matched_files._with_time(hr.io.filesystem.FileMetadata("a", 1), True)
