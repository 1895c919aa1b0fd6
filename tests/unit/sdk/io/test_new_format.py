"""A new format of files is one module, and one line in the table of Beam's paths."""

import sys

import pytest

import headrace as hr
from headrace.errors import FileError
from tests.support.repository import ROOT
from tests.unit.sdk.io.files import Applied, values, visible, write
from tests.unit.sdk.io.netstrings_io import (
    ReadAllFromNetstrings,
    ReadAllFromNetstringsContinuously,
    ReadFromNetstrings,
    WriteToNetstrings,
)

sys.path.append(str(ROOT / "tools"))
import beam_paths

WORDS = ["", "a", "é,:", "b" * 5000]


@pytest.mark.mode("any")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_what_is_written_is_read(runner, mode, tmp_path, suffix):
    write(runner, WORDS, WriteToNetstrings(tmp_path / "a", suffix), mode=mode)
    assert sorted(values("local", ReadFromNetstrings(f"{tmp_path}/a*"))) == sorted(WORDS)


@pytest.mark.mode("any")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_files_are_read_with_timestamps(runner, mode, tmp_path):
    (tmp_path / "a").write_text("1:7,2:12,")
    seconds = ReadFromNetstrings(tmp_path / "a", timestamp=float)
    found = values(runner, Applied(seconds, hr.Map(at)), mode)
    assert sorted(found) == [("12", 12), ("7", 7)]


def at(text, timestamp=hr.DoFn.TimestampParam):
    return text, timestamp


def test_files_that_a_collection_names_are_read(tmp_path):
    (tmp_path / "a").write_text("3:foo,")
    named = hr.Create([f"{tmp_path}/a"])
    assert values("local", Applied(named, ReadAllFromNetstrings())) == ["foo"]


def test_files_that_match_later_are_read(tmp_path):
    (tmp_path / "a").write_text("3:foo,")
    read_all = ReadAllFromNetstringsContinuously(
        f"{tmp_path}/*", interval=10, start_timestamp=0, stop_timestamp=10, with_filename=True
    )
    assert values("local", read_all, "streaming") == [(f"{tmp_path}/a", "foo")]


def test_each_window_can_have_files_of_its_own(tmp_path):
    windowed = hr.Create([hr.TimestampedValue("a", 5), hr.TimestampedValue("b", 65)])
    with hr.Pipeline() as p:
        _ = (
            p
            | windowed
            | hr.WindowInto(hr.window.FixedWindows(60))
            | WriteToNetstrings(tmp_path / "a", windowed_writes=True)
        )
    assert sorted(visible(tmp_path).values()) == ["1:a,", "1:b,"]


def test_what_is_wrong_with_a_file_is_said(tmp_path):
    (tmp_path / "a").write_text("3:foo,4:bar,")
    with pytest.raises(FileError, match="is not a netstring") as error:
        values("local", ReadFromNetstrings(tmp_path / "a"))
    assert str(tmp_path / "a") in str(error.value)


def test_a_line_in_the_table_of_paths_exports_it():
    line = {"tests.unit.sdk.io.netstrings_io": ["ReadFromNetstrings", "WriteToNetstrings"]}
    module = beam_paths.table()["io"]
    added = beam_paths.text(module._replace(imports={**module.imports, **line}))
    exported: dict[str, object] = {}
    exec(added, {"__name__": "headrace.io"}, exported)
    assert exported["ReadFromNetstrings"] is ReadFromNetstrings
    assert {"ReadFromText", "WriteToNetstrings"} <= set(exported["__all__"])  # type: ignore[call-overload]
