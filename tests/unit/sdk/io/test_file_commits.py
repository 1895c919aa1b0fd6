"""Batches of files are put up once, whole, whatever the moment of the crash."""

import json
import os
import pickle
from contextlib import suppress

import pytest

import headrace as hr
from headrace.grouping.bundle import Bundle
from headrace.io import Commit, CsvSink, FileNaming, SinkPart, TextSink
from headrace.sdk.io.files import joined_pieces, ledger
from headrace.windowing.window import IntervalWindow
from tests.unit.sdk.io.files import staged, visible


def part(values, number=0, batch=0, run="r", streaming=True, **columns):
    """A part of a batch."""
    return SinkPart(
        batch, 0, Bundle(values, **columns), run, "Write", number=number, streaming=streaming
    )


def commit(sink, *parts):
    """Write parts, and return what is to be committed."""
    first = parts[0]
    written = [sink.write_part(each) for each in parts]
    return Commit(first.id, first.run, first.step, written, streaming=first.streaming)


@pytest.fixture
def sink(tmp_path, monkeypatch):
    """A sink whose parts are so large that each makes a file."""
    monkeypatch.setattr(joined_pieces, "SMALL_BYTES", 1)
    return TextSink(FileNaming(str(tmp_path / "out")))


@pytest.fixture
def small_parts(tmp_path):
    """A sink whose parts are joined, because they are small."""
    return TextSink(FileNaming(str(tmp_path / "out")), header="top", footer="end")


@pytest.fixture
def one_file(tmp_path):
    """A sink whose parts make one file."""
    return TextSink(FileNaming(str(tmp_path / "out")), header="top", footer="end", num_shards=1)


BATCH_0 = {"out-r-b000000-00000-of-00002": "a\n", "out-r-b000000-00001-of-00002": "b\n"}


def test_nobody_sees_what_is_not_committed(sink, tmp_path):
    to_do = commit(sink, part(["a"]), part(["b"], 1))
    assert visible(tmp_path) == {}
    sink.commit(to_do)
    assert visible(tmp_path) == BATCH_0
    assert staged(tmp_path) == []


def test_what_was_written_is_plain_data(sink):
    to_do = commit(sink, part(["a"]))
    assert json.loads(json.dumps(to_do.written)) == [[list(to_do.written[0][0])]]


def test_parts_without_elements_have_no_files(sink, tmp_path):
    sink.commit(commit(sink, part([]), part(["a"], 1), part([], 2)))
    assert visible(tmp_path) == {"out-r-b000000-00000-of-00001": "a\n"}


def test_parts_of_a_shard_make_one_file(one_file, tmp_path):
    one_file.commit(commit(one_file, part(["a"]), part(["b"], 1)))
    assert visible(tmp_path) == {"out-r-b000000-00000-of-00001": "top\na\nb\nend\n"}
    assert staged(tmp_path) == []


def test_parts_of_a_shard_have_the_same_columns(tmp_path):
    sink = CsvSink(FileNaming(str(tmp_path / "out")), num_shards=1)
    same = commit(sink, part([{"a": 1}]), part([{"a": 2}], 1))
    other = commit(sink, part([{"a": 1}], batch=1), part([{"b": 2}], 1, batch=1))
    sink.commit(same)
    assert visible(tmp_path) == {"out-r-b000000-00000-of-00001": "a\n1\n2\n"}
    with pytest.raises(hr.FileError, match="have different headers"):
        sink.commit(other)


@pytest.mark.parametrize("sinks", ["sink", "small_parts", "one_file"])
def test_a_commit_can_be_repeated(request, sinks, tmp_path):
    sink = request.getfixturevalue(sinks)
    to_do = commit(sink, part(["a"]), part(["b"], 1))
    sink.commit(to_do)
    before = visible(tmp_path)
    sink.commit(to_do)
    assert visible(tmp_path) == before


@pytest.mark.parametrize("sinks", ["sink", "small_parts", "one_file"])
def test_a_batch_that_is_written_again_overwrites_its_own_files(request, sinks, tmp_path):
    """A crash between staging and commit, and one after it."""
    sink = request.getfixturevalue(sinks)
    commit(sink, part(["a"]), part(["b"], 1))
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    before = visible(tmp_path)
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    assert visible(tmp_path) == before
    assert staged(tmp_path) == []


class Crash(Exception):
    """The end, in the middle of something."""


def crash_after(monkeypatch, calls, module, name):
    """Let a function work so many times, and crash then."""
    work, left = getattr(module, name), [calls]

    def crashing(*args, **kwargs):
        if not left[0]:
            raise Crash
        left[0] -= 1
        return work(*args, **kwargs)

    monkeypatch.setattr(module, name, crashing)


@pytest.mark.parametrize("calls", range(6))
@pytest.mark.parametrize("again", ["commit", "batch"])
@pytest.mark.parametrize("sinks", ["sink", "small_parts", "one_file"])
def test_a_commit_that_was_interrupted_is_made_good(
    request, monkeypatch, tmp_path, sinks, calls, again
):
    """At every rename, with the same pieces or new ones."""
    sink = request.getfixturevalue(sinks)
    to_do = commit(sink, part(["a"]), part(["b"], 1), part(["c"], 2))
    with monkeypatch.context() as crashing:
        crash_after(crashing, calls, os, "replace")
        try:
            sink.commit(to_do)
        except Crash:
            assert calls < 4
    for text in visible(tmp_path).values():
        assert text in ("a\n", "b\n", "c\n", "top\na\nb\nc\nend\n")
    sink.commit(to_do if again == "commit" else commit(sink, part(["a", "b", "c"])))
    files = visible(tmp_path)
    assert "".join(files.values()).replace("top\n", "").replace("end\n", "") == "a\nb\nc\n"
    assert len(files) == (3 if again == "commit" and sinks == "sink" else 1)
    assert staged(tmp_path) == []


@pytest.mark.parametrize("calls", range(5))
def test_what_an_interrupted_commit_left_is_remembered_over_several_crashes(
    sink, monkeypatch, tmp_path, calls
):
    sink.commit(commit(sink, part(["a"]), part(["b"], 1), part(["c"], 2)))
    for count in (2, 1):
        with monkeypatch.context() as crashing:
            crash_after(crashing, calls, os, "replace")
            crash_after(crashing, calls // 2, type(tmp_path), "unlink")
            with suppress(Crash):
                sink.commit(commit(sink, *(part(["a"], n) for n in range(count))))
    sink.commit(commit(sink, part(["a", "b", "c"])))
    assert visible(tmp_path) == {"out-r-b000000-00000-of-00001": "a\nb\nc\n"}


def test_files_of_other_batches_and_runs_stay(sink, tmp_path):
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    sink.commit(commit(sink, part(["c"], batch=1)))
    sink.commit(commit(sink, part(["d"], run="s")))
    assert visible(tmp_path) == BATCH_0 | {
        "out-r-b000001-00000-of-00001": "c\n",
        "out-s-b000000-00000-of-00001": "d\n",
    }


def test_a_batch_run_takes_away_what_runs_before_it_wrote(sink, monkeypatch, tmp_path):
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    sink.commit(commit(sink, part(["c"], batch=1)))
    to_do = commit(sink, part(["d"], streaming=False))
    with monkeypatch.context() as crashing:
        crash_after(crashing, 1, type(tmp_path), "unlink")
        with pytest.raises(Crash):
            sink.commit(to_do)
    sink.commit(to_do)
    assert visible(tmp_path) == {"out-00000-of-00001": "d\n"}
    assert (sink.hidden / "files").read_text() == '"out-00000-of-00001"\n'


def test_a_ledger_line_that_was_not_finished_promised_nothing(sink, tmp_path):
    sink.commit(commit(sink, part(["a"], streaming=False)))
    with open(sink.hidden / "files", "a") as log:
        log.write('"out-mi')
    sink.commit(commit(sink, part(["b"])))
    sink.commit(commit(sink, part(["c"], streaming=False)))
    assert visible(tmp_path) == {"out-00000-of-00001": "c\n"}


def test_a_commit_whose_pieces_are_gone_is_refused(sink, tmp_path):
    to_do = commit(sink, part(["a"]))
    (piece,) = staged(tmp_path)
    piece.unlink()
    with pytest.raises(
        hr.FileError, match="the staged data of out-r-b000000-00000-of-00001 is missing"
    ):
        sink.commit(to_do)


def test_closing_takes_away_what_did_not_count(sink, tmp_path):
    commit(sink, part(["a"]))
    sink.close()
    assert staged(tmp_path) == []


def test_windows_of_parts_are_put_together(tmp_path):
    naming = FileNaming(str(tmp_path / "out"))
    one_file = TextSink(naming, header="top", footer="end", num_shards=1, windowed_writes=True)
    early, late = ((IntervalWindow(n, n + 60),) for n in (0, 60))
    one_file.commit(
        commit(one_file, part(["a", "b"], windows=[early, late]), part(["c"], 1, windows=[late]))
    )
    assert list(visible(tmp_path).values()) == ["top\na\nend\n", "top\nb\nc\nend\n"]


def test_parquet_parts_of_a_shard_make_one_table(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    sink = hr.io.ParquetSink(FileNaming(str(tmp_path / "out")), num_shards=1)
    sink.commit(commit(sink, part([{"a": 1}]), part([{"a": None}], 1)))
    (path,) = tmp_path.glob("out*")
    assert parquet.read_table(path).to_pylist() == [{"a": 1}, {"a": None}]


def test_a_ledger_that_is_not_there_knows_nothing(tmp_path):
    assert ledger.Ledger(tmp_path).stale(Commit(0, "r", "", [], streaming=True), []) == []


def test_sinks_travel_to_workers(one_file, tmp_path):
    copy = pickle.loads(pickle.dumps(one_file))
    one_file.commit(commit(copy, part(["a"])))
    assert list(visible(tmp_path).values()) == ["top\na\nend\n"]
