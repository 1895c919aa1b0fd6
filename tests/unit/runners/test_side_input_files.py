"""Large panes of side inputs in files: what contents make of them, and when files are read and deleted."""

from __future__ import annotations

import os
import pickle
from collections import Counter
from pathlib import Path

import pytest

from headrace.errors import FileError
from headrace.grouping.bundle import INSERT, RETRACT
from headrace.runners.contents import side_input_files
from headrace.runners.contents.side_input_files import SideInputFiles, ValuesFile
from headrace.runners.side_inputs.side_input_state import SideContent
from headrace.triggers import AccumulationMode
from headrace.triggers.pane import PaneInfoTiming, pane_info

ACCUMULATING = AccumulationMode.ACCUMULATING
DISCARDING = AccumulationMode.DISCARDING
RETRACTING = AccumulationMode.RETRACTING
PANES = [pane_info(PaneInfoTiming.EARLY, n, -1, False) for n in range(3)]
MANY = list(range(500))
OTHERS = list(range(1000, 1500))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SideInputFiles:
    side_input_files._cache.clear()
    return SideInputFiles(str(tmp_path / "files"), 100)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The paths that are read."""
    seen: list[str] = []
    read = SideInputFiles._read

    def noted(self, path, file):
        seen.append(path)
        return read(self, path, file)

    monkeypatch.setattr(SideInputFiles, "_read", noted)
    return seen


class Group:
    """The content of a key group, which is stored after each pane."""

    def __init__(self, files: SideInputFiles, mode: AccumulationMode) -> None:
        self.files, self.mode, self.index = files, mode, 0
        self.content = SideContent(files)

    def add(self, values, diff=INSERT):
        self.content.add(self.files.stored(values) or values, PANES[self.index], diff, self.mode)
        self.index += 1
        self.stored = pickle.dumps(self.content.freeze())
        self.content = SideContent.thaw(pickle.loads(self.stored), self.files)
        return Counter(self.content.values)


def test_small_values_are_not_written(files):
    assert files.stored([1, 2]) is None
    assert not os.path.exists(files.directory)


def test_values_that_need_another_pickler_are_not_written(files):
    assert files.stored([lambda: 1] * 500) is None


def test_equal_values_have_one_file(files):
    assert files.stored(MANY) == files.stored(iter(MANY))
    (name,) = os.listdir(files.directory)
    assert name == files.stored(MANY).name


def test_an_accumulating_pane_replaces_a_file(files):
    group = Group(files, ACCUMULATING)
    group.add(MANY)
    assert group.add(OTHERS) == Counter(OTHERS)
    assert group.add([1]) == Counter([1])


def test_a_discarding_pane_adds_a_file(files):
    group = Group(files, DISCARDING)
    group.add([1])
    group.add(MANY)
    assert group.add(OTHERS) == Counter([1, *MANY, *OTHERS])


def test_a_retraction_removes_a_file_without_reading_it(files, reads):
    content = SideContent(files)
    for values, diff in [(MANY, INSERT), (OTHERS, INSERT), (MANY, RETRACT)]:
        content.add(files.stored(values), PANES[0], diff, RETRACTING)
        content = SideContent.thaw(content.freeze(), files)
    assert reads == []
    assert content.values == OTHERS
    assert reads == [files.path(files.stored(OTHERS))]


@pytest.mark.parametrize(
    "changes",
    [
        [(MANY, INSERT), ([3], RETRACT)],
        [([3], RETRACT), (MANY, INSERT)],
        [(MANY, INSERT), ([3, 3], RETRACT), ([3], INSERT)],
        [(MANY, RETRACT), (OTHERS, INSERT), (MANY[::-1], INSERT), (MANY, INSERT), ([3], RETRACT)],
    ],
)
def test_a_retraction_of_some_values_of_a_file_corrects_them(files, changes):
    content = SideContent(files)
    expected: Counter[int] = Counter()
    for values, diff in changes:
        content.add(files.stored(values) or values, PANES[0], diff, RETRACTING)
        content = SideContent.thaw(content.freeze(), files)
        for value in values:
            expected[value] += diff
    assert Counter(content.values) == expected


def test_the_state_is_small_whatever_the_panes(files):
    group = Group(files, DISCARDING)
    for number in range(3):
        group.add(list(range(number * 10_000, (number + 1) * 10_000)))
        assert len(group.stored) < 1000


def test_a_content_of_many_small_panes_moves_to_files(files):
    groups = [Group(files, DISCARDING) for _ in range(2)]
    for group in groups:
        for number in range(200):
            group.index = 0
            seen = group.add([f"value {number}"])
        assert seen == Counter(f"value {number}" for number in range(200))
        assert group.content.data is not None
        assert len(group.content.data) <= 200
    names = {file.name for group in groups for file in group.content.stored}
    assert set(os.listdir(files.directory)) == names
    assert {file.name for file in groups[0].content.stored} == names


def test_a_process_reads_a_file_once(files, reads):
    file = files.stored(MANY)
    contents = [SideContent(files) for _ in range(3)]
    for content in contents:
        content.add(file, PANES[0], INSERT, DISCARDING)
        content.pack()
    assert contents[0].values is contents[1].values is contents[2].values
    assert len(reads) == 1
    assert len({content.identity for content in contents}) == 1


def test_the_cache_is_bounded_by_bytes(files, reads, monkeypatch):
    one, other = files.stored(MANY), files.stored(OTHERS)
    monkeypatch.setattr(side_input_files, "CACHE_BYTES", max(one.size, other.size))
    for file in (one, one, other, one):
        files.values(file)
    assert reads == [files.path(one), files.path(other), files.path(one)]


def test_a_missing_file(files):
    missing = ValuesFile("0" * 64, 1, 1)
    with pytest.raises(FileError, match="cannot be read: No such file or directory") as caught:
        files.values(missing)
    assert files.path(missing) in caught.value.problem
    assert "start again" in caught.value.remedy


def test_a_damaged_file(files):
    file = files.stored(MANY)
    Path(files.path(file)).write_bytes(b"x")
    with pytest.raises(FileError, match="is damaged"):
        files.values(file)
