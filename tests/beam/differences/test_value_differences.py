"""Deliberate differences from Beam: keys, values, files, times and additional names."""

from __future__ import annotations

import gzip
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Beam is what this compares with")

import headrace as hr
from headrace.triggers.pane import PaneInfo
from tests.beam.differences.both_runners import (
    beam,
    difference,
    in_beam,
    in_headrace,
    values,
)

pytestmark = pytest.mark.filterwarnings("ignore")


# Keys and values


@difference("Equal keys of different types")
def test_equal_keys_of_different_types_are_different() -> None:
    def grouped(b: Any, p: Any) -> Any:
        return p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")]) | b.GroupByKey()

    def combined(b: Any, p: Any) -> Any:
        pairs = p | b.Create([(1, "int"), (1.0, "float"), (True, "bool")])
        return pairs | b.CombinePerKey(lambda names: " ".join(sorted(names)))

    assert len(in_beam(grouped, streaming=False)) == len(in_headrace(grouped)) == 3
    assert values(in_beam(combined, streaming=False)) == [(1, "bool float int")]
    assert len(in_headrace(combined)) == 3


@difference("Sets and dicts as keys")
@pytest.mark.parametrize("key", [{1, 2}, {"a": 1}], ids=repr)
def test_a_key_without_an_order_is_refused(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, "a")]) | b.GroupByKey() | b.Values()

    assert values(in_beam(program, streaming=False)) == [["a"]]
    with pytest.raises(hr.KeyEncodingError):
        in_headrace(program)


@difference("Lists and frozen sets as keys")
@pytest.mark.parametrize("key", [[1, 2], frozenset([1, 2])], ids=repr)
def test_lists_and_frozen_sets_can_be_keys_of_combines(key: Any) -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([(key, 1), (key, 2)]) | b.CombinePerKey(sum) | b.Values()

    with pytest.raises(TypeError):
        in_beam(program, streaming=False)
    assert values(in_headrace(program)) == [3]


@difference("Values of a group")
def test_a_grouping_gives_lists() -> None:
    def grouped(b: Any) -> Any:
        return b.Pipeline() | b.Create([("k", 1)]) | b.GroupByKey()

    assert "Iterable" in str(grouped(beam).element_type)
    assert "list" in str(grouped(hr).element_type)


@difference("The smallest and largest of nothing")
def test_the_largest_of_nothing_is_none() -> None:
    def program(b: Any, p: Any) -> Any:
        return p | b.Create([]) | b.CombineGlobally(max)

    with pytest.raises(ValueError, match="empty"):
        in_beam(program, streaming=False)
    assert values(in_headrace(program)) == [None]


# Files


@difference("Types of CSV")
def test_types_of_csv_are_not_those_of_pandas(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("minutes,code\n5,01069\n,10115\n")

    def program(b: Any, p: Any) -> Any:
        return p | b.io.ReadFromCsv(str(tmp_path / "a.csv")) | b.Map(tuple)

    assert set(map(repr, values(in_beam(program, streaming=False)))) == {
        "(5.0, 1069)",
        "(None, 10115)",
    }
    assert values(in_headrace(program)) == [(5, "01069"), (None, "10115")]


@difference("Files and windows")
@pytest.mark.parametrize(("windowed", "files"), [(False, 1), (True, 2)])
def test_files_contain_elements_of_all_windows(tmp_path: Path, windowed: bool, files: int) -> None:
    with hr.Pipeline(argv=["--streaming"]) as p:
        letters = p | hr.Create([hr.TimestampedValue("a", 10), hr.TimestampedValue("b", 70)])
        minutes = letters | hr.WindowInto(hr.window.FixedWindows(60))
        _ = minutes | hr.io.WriteToText(tmp_path / "out", windowed_writes=windowed)
    assert len(list(tmp_path.glob("out*"))) == files


@difference("Truncated compressed files")
def test_a_truncated_compressed_file_is_an_error(tmp_path: Path) -> None:
    content = gzip.compress(b"1\n2\n3\n")[:-8]  # without the checksum and the length
    (tmp_path / "a.gz").write_bytes(content)

    def program(b: Any, p: Any) -> Any:
        return p | b.io.ReadFromText(str(tmp_path / "a.gz"))

    assert values(in_beam(program, streaming=False)) == ["1", "2", "3"]
    with pytest.raises(hr.FileError, match="cannot be read"):
        in_headrace(program)


@difference("Files of several panes")
def test_panes_have_files_of_their_own() -> None:
    from apache_beam.io import fileio as beams
    from apache_beam.utils.windowed_value import PaneInfo as BeamPane

    def names(fileio: Any, window: Any, pane: Any) -> list[str]:
        naming = fileio.default_file_naming("out")
        panes = [pane(number == 0, number == 1, 0, number, number) for number in range(2)]
        return [naming(window, each, 0, 1, None, None) for each in panes]

    assert names(beams, beam.window.GlobalWindow(), BeamPane) == ["out-00000-of-00001"] * 2
    own = names(hr.io.fileio, hr.window.GlobalWindow(), PaneInfo)
    assert own == ["out-0-00000-of-00001", "out-1-00000-of-00001"]


# Time


@difference("Ways to write times")
def test_times_may_be_written_in_more_ways() -> None:
    with pytest.raises(TypeError):
        beam.window.FixedWindows(timedelta(minutes=1))
    assert hr.window.FixedWindows(timedelta(minutes=1)) == hr.window.FixedWindows(60)
    with pytest.raises(TypeError):
        beam.utils.timestamp.Timestamp.of("2013-01-01T00:00:00Z")
    assert hr.Timestamp.of("2013-01-01T00:00:00Z") == 1_356_998_400


@difference("Calendar windows")
def test_calendar_windows_are_there() -> None:
    assert not hasattr(beam.window, "CalendarWindows")
    months = hr.window.CalendarWindows.months(1, timezone="America/New_York")
    march, april = hr.Timestamp.of("2013-03-10T00:00:00Z"), hr.Timestamp.of("2013-04-10T00:00:00Z")
    assert months != march != april


@difference("Watermark policies")
@pytest.mark.parametrize("name", ["BoundedOutOfOrderness", "Monotonic", "Percentile", "FromSource"])
def test_watermark_policies_are_values(name: str) -> None:
    assert not hasattr(beam, name)
    assert hasattr(hr.windowing, name)


@difference("Names that Beam does not have")
@pytest.mark.parametrize("name", ["InnerJoin", "LeftJoin", "RightJoin", "FullJoin", "explain"])
def test_further_names(name: str) -> None:
    assert not hasattr(beam, name)
    assert hasattr(hr, name)


@difference("Groups of a regular expression")
def test_a_match_has_all_its_groups() -> None:
    def all_matches(b: Any, p: Any) -> Any:
        return p | b.Create(["ab"]) | b.Regex.all_matches("((a)b)")

    def all_groups(b: Any, p: Any) -> Any:
        return p | b.Create(["ab"]) | b.Regex.find_all("(a)(b)", b.Regex.ALL)

    assert values(in_beam(all_matches, streaming=False)) == [["ab", "ab"]]
    assert values(in_headrace(all_matches)) == [["a", "ab", "ab"]]
    assert values(in_beam(all_groups, streaming=False)) == [[("ab", "a")]]
    assert values(in_headrace(all_groups)) == [[("ab", "a", "b")]]


@difference("Fanout of a combine")
def test_a_fanout_changes_no_window() -> None:
    def ends(fanout: int | None) -> Any:
        def program(b: Any, p: Any) -> Any:
            times = [b.window.TimestampedValue(("a", 1), time) for time in (1, 2)]
            sessions = b.WindowInto(b.window.Sessions(5))
            elements = p | b.Create(times) | b.Map(lambda pair: pair) | sessions
            return elements | b.CombinePerKey(sum).with_hot_key_fanout(fanout)

        return program

    def end_of(run: Any, fanout: int | None, **how: Any) -> int:
        (element,) = run(ends(fanout), **how)
        return round(element.timestamp)

    assert end_of(in_beam, None, streaming=False) == 7
    assert end_of(in_beam, 2, streaming=False) == 12
    assert end_of(in_headrace, 2) == end_of(in_headrace, None) == 7
