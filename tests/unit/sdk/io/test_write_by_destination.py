"""WriteToFiles: a file by destination, window, pane and shard, and a result for each; on each runner."""

import csv
import gzip
import json
from io import StringIO

import pytest

import headrace as hr
from headrace.io import fileio
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.triggers.pane import PaneInfo, PaneInfoTiming
from headrace.windowing import FixedWindows, IntervalWindow
from headrace.windowing.window import GLOBAL_WINDOW
from tests.unit.sdk.io.files import Applied, pipeline, stream, values, visible, write

NUMBERS = [str(n) for n in range(6)]


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


def parity(number):
    return "odd" if int(number) % 2 else "even"


def lines(directory):
    return {name: sorted(text.split()) for name, text in visible(directory).items()}


class CsvSink(fileio.FileSink):
    def open(self, fh):
        self.file = fh
        self.text = StringIO()
        self.writer = csv.writer(self.text, lineterminator="\n")

    def write(self, record):
        self.writer.writerow(record)

    def flush(self):
        self.file.write(self.text.getvalue().encode())


class JsonSink(fileio.TextSink):
    def write(self, record):
        super().write(json.dumps(record))


class Gzipped(fileio.TextSink):
    def create_metadata(self, destination, full_file_name):
        return fileio.FileMetadata("text/plain", "gzip")


@pytest.mark.alone  # its files are not written by a sink
def test_each_destination_has_a_file_and_a_result(runner, mode, tmp_path):
    result = hr.Map(
        lambda r: (r.file_name, r.shard_index, r.total_shards, r.destination, r.pane.is_last)
    )
    to_files = fileio.WriteToFiles(tmp_path, destination=parity)
    found = values(runner, Applied(hr.Create(NUMBERS), to_files, result), mode)
    names = {"even-00000-of-00001": ["0", "2", "4"], "odd-00000-of-00001": ["1", "3", "5"]}
    assert sorted(found) == [(name, 0, 1, name.partition("-")[0], True) for name in names]
    assert lines(tmp_path) == names
    assert list(tmp_path.glob(".*")) == []


@pytest.mark.alone
@pytest.mark.mode("streaming")
def test_each_window_has_a_file(runner, tmp_path):
    elements = [[hr.TimestampedValue(n, int(n) * 4)] for n in NUMBERS]
    to_files = fileio.WriteToFiles(tmp_path, fileio.default_file_naming("out", ".txt"))
    stream(runner, elements, hr.WindowInto(FixedWindows(10)), to_files)
    assert lines(tmp_path) == {
        f"out-1970-01-01T00:00:{start}0-1970-01-01T00:00:{start + 1}0-00000-of-00001.txt": numbers
        for start, numbers in enumerate([["0", "1", "2"], ["3", "4"], ["5"]])
    }


PANES = {
    AccumulationMode.DISCARDING: [["0"], ["1"], ["2"]],
    AccumulationMode.ACCUMULATING: [["0"], ["0", "1"], ["0", "1", "2"]],
}


@pytest.mark.parametrize("accumulation", PANES, ids=lambda mode: mode.name)
def test_each_pane_has_a_file(tmp_path, accumulation):
    windows = hr.WindowInto(
        FixedWindows(10),
        trigger=AfterWatermark(early=AfterCount(1)),
        accumulation_mode=accumulation,
    )
    to_files = fileio.WriteToFiles(tmp_path, short_name)
    stream("local", [["0"], ["1"], ["2"]], windows, to_files)
    found = list(lines(tmp_path).values())
    assert [numbers for numbers in found if numbers][: len(PANES[accumulation])] == PANES[
        accumulation
    ]


def short_name(window, pane, shard_index, total_shards, compression, destination):
    return f"pane-{pane.index}"


def test_shards_are_told_by_the_elements(mode, tmp_path):
    write("local", NUMBERS * 2, fileio.WriteToFiles(tmp_path, shards=3), mode=mode)
    found = lines(tmp_path)
    assert set(found) <= {f"output-0000{n}-of-00003" for n in range(3)}
    assert len(found) > 1
    assert sorted(number for numbers in found.values() for number in numbers) == sorted(NUMBERS * 2)
    assert not any(set(a) & set(b) for a in found.values() for b in found.values() if a is not b)


@pytest.mark.parametrize(
    ("sink", "expected"),
    [
        (None, "a\n"),
        (fileio.TextSink, "a\n"),
        (fileio.TextSink(), "a\n"),
        (lambda destination: CsvSink() if destination == "here" else None, "a\n"),
        (JsonSink(), '"a"\n'),
    ],
)
def test_a_sink_is_given_in_several_forms(tmp_path, sink, expected):
    write("local", ["a"], fileio.WriteToFiles(tmp_path, sink=sink, destination="here"))
    assert visible(tmp_path) == {"output-00000-of-00001": expected}


def test_each_destination_has_its_sink_and_directory(tmp_path):
    def name(window, pane, shard_index, total_shards, compression, destination):
        return f"{destination}/all"

    to_files = fileio.WriteToFiles(
        tmp_path,
        name,
        destination=lambda pair: pair[0],
        sink=lambda kind: CsvSink() if kind == "csv" else JsonSink(),
    )
    write("local", [("csv", 1), ("json", 2), ("csv", 3)], to_files)
    assert (tmp_path / "csv" / "all").read_text() == "csv,1\ncsv,3\n"
    assert (tmp_path / "json" / "all").read_text() == '["json", 2]\n'


def test_files_are_compressed_by_extension_or_by_the_sink(tmp_path):
    naming = fileio.single_file_naming("by-name", ".gz")
    write("local", ["a"], fileio.WriteToFiles(tmp_path, naming))
    write("local", ["a"], fileio.WriteToFiles(tmp_path, sink=Gzipped()))
    for name in ("by-name.gz", "output-00000-of-00001"):
        assert gzip.decompress((tmp_path / name).read_bytes()) == b"a\n"


def test_a_run_replaces_files_of_the_same_name_only(tmp_path):
    for elements in (["a", "b"], ["b"]):
        write("local", elements, fileio.WriteToFiles(tmp_path, destination=lambda element: element))
        (tmp_path / "a-00000-of-00001").write_text("mine")
    assert visible(tmp_path) == {"a-00000-of-00001": "mine", "b-00000-of-00001": "b\n"}


@pytest.mark.parametrize("elsewhere", [False, True])
def test_nobody_sees_a_file_that_is_not_complete(tmp_path, elsewhere):
    other = tmp_path / "other" if elsewhere else None
    out = tmp_path / "out"

    class Failing(fileio.TextSink):
        def write(self, record):
            super().write(record)
            assert visible(out) == {}
            if elsewhere:
                assert list(out.iterdir()) == []
            if record == "bad":
                raise OSError("no space")

    to_files = fileio.WriteToFiles(out, sink=Failing(), temp_directory=other)
    with pytest.raises(OSError, match="no space") as found, pipeline("local") as p:
        _ = p | hr.Create(["a", "bad"]) | "Out" >> to_files
    assert "in Out/Write" in found.value.__notes__[-1]
    assert list(out.iterdir()) == []
    assert other is None or list(other.iterdir()) == []


def test_a_pane_that_is_written_again_replaces_its_file(tmp_path):
    for _ in range(2):
        write("local", ["a"], fileio.WriteToFiles(tmp_path))
    assert visible(tmp_path) == {"output-00000-of-00001": "a\n"}


ONLY = PaneInfo(True, True, PaneInfoTiming.ON_TIME, 0, 0)
SECOND = PaneInfo(False, True, PaneInfoTiming.LATE, 1, 1)
MINUTE = IntervalWindow(0, 60)


@pytest.mark.parametrize(
    ("naming", "window", "pane", "expected"),
    [
        (fileio.default_file_naming("a", ".t"), GLOBAL_WINDOW, None, "a-00002-of-00003.t"),
        (fileio.prefix_naming("a"), GLOBAL_WINDOW, ONLY, "a-00002-of-00003"),
        (fileio.prefix_naming("a"), GLOBAL_WINDOW, SECOND, "a-1-00002-of-00003"),
        (
            fileio.destination_prefix_naming(".t"),
            MINUTE,
            ONLY,
            "d-1970-01-01T00:00:00-1970-01-01T00:01:00-00002-of-00003.t",
        ),
    ],
)
def test_names(naming, window, pane, expected):
    assert naming(window, pane, 2, 3, None, "d") == expected


# Bad input


def refused(problem, *transforms):
    with pytest.raises(hr.HeadraceError, match=problem) as found:
        write("local", ["a", "b"], *transforms)
    return "\n".join([str(found.value), *getattr(found.value, "__notes__", ())])


@pytest.mark.mode("batch")
def test_an_element_that_is_no_string_is_refused_with_the_label(runner, tmp_path):
    with pytest.raises(hr.ElementError, match="the element 7 is not a string") as found:
        write(runner, [7], "Out" >> fileio.WriteToFiles(tmp_path))
    assert any("in Out/Write" in note for note in found.value.__notes__)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("shards", 0, "shards is 0"),
        ("sink", 7, "needs a fileio.FileSink, not 7"),
        ("sink", str, "needs a fileio.FileSink, not <class 'str'>"),
        ("path", 7, "needs a directory, not 7"),
    ],
)
def test_arguments_are_checked(tmp_path, name, value, problem):
    with pytest.raises(hr.PipelineError, match=problem):
        fileio.WriteToFiles(**{"path": tmp_path, name: value})


def test_names_must_differ(tmp_path):
    def same(*args):
        return "same"

    single = fileio.single_file_naming("a")
    with pytest.raises(hr.PipelineError, match="the files of all destinations the same names"):
        fileio.WriteToFiles(tmp_path, single, destination=parity)
    assert "shard_index" in refused(
        "of several shards", fileio.WriteToFiles(tmp_path, same, shards=2)
    )
    refused("does not number the 2 shards", fileio.WriteToFiles(tmp_path, single, shards=2))


def test_panes_that_do_not_repeat_each_other_need_different_names(tmp_path):
    windows = hr.WindowInto(
        hr.window.GlobalWindows(),
        trigger=hr.trigger.Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.DISCARDING,
    )
    with pytest.raises(hr.PipelineError, match="several panes of a window the same name"):
        stream(
            "local", [["a"], ["b"]], windows, fileio.WriteToFiles(tmp_path, lambda *args: "same")
        )


def test_retractions_are_refused(tmp_path):
    windows = hr.WindowInto(
        hr.window.GlobalWindows(),
        trigger=hr.trigger.Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
    )
    total = hr.CombineGlobally(min).without_defaults()
    refused("does not accept them", windows, total, fileio.WriteToFiles(tmp_path))


def test_an_unbounded_collection_needs_windows(tmp_path):
    numbers = hr.PeriodicImpulse(0, 30, 10)
    with pytest.raises(hr.PipelineError) as found:
        hr.Pipeline() | numbers | hr.Map(str) | "Out" >> fileio.WriteToFiles(tmp_path)
    assert "Out" in str(found.value)
