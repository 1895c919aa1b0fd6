"""A checkpoint that is damaged, or of a newer format, is refused with a useful error."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.stored_formats import MANIFEST, check_format
from headrace.triggers import AccumulationMode
from headrace.windowing import FixedWindows
from tests.faults.runs import append, edit, finish, lines_of, start, write

pytestmark = pytest.mark.usefixtures("spark")

NEWER = f"has format 9.*, but .* reads formats .* to {MANIFEST}"


def build(p: hr.Pipeline, home: Path) -> None:
    lines = p | "lines" >> hr.Read(write(home / "lines"), hr.Monotonic())
    discarding: dict[str, Any] = {"accumulation_mode": AccumulationMode.DISCARDING}
    sums = lines | hr.WindowInto(FixedWindows(10), **discarding) | "sum" >> hr.CombinePerKey(sum)
    _ = sums | "files" >> hr.io.WriteToText(home / "files" / "sums")


def resume(home: Path) -> str:
    return finish(lambda p: build(p, home), home)


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> Path:
    """The checkpoint of a run that was stopped after two batches."""
    home = tmp_path_factory.mktemp("begun")
    write(home / "lines", p=["1 a 1", "11 a 2"])
    run = start(lambda p: build(p, home), home)
    for expected in (["('a', 1)"], ["('a', 1)", "('a', 2)"]):
        while lines_of(home, "sums") != expected:
            assert run.wait_until_finish(100) == "RUNNING"
        if len(expected) == 1:
            append(home / "lines", "p", "21 a 3")
    run.cancel()
    return home


@pytest.fixture
def home(begun, tmp_path) -> Path:
    """A copy of it, to be damaged; there is one more line to read."""
    shutil.copytree(begun, tmp_path / "copy")
    append(tmp_path / "copy" / "lines", "p", "31 a 4", "end")
    return tmp_path / "copy"


def manifest(home: Path) -> Path:
    return home / "checkpoint" / "headrace.json"


def last_offset(home: Path) -> Path:
    return max((home / "checkpoint" / "offsets").glob("[0-9]*"), key=lambda path: int(path.name))


def truncated(text: str) -> str:
    return text[: len(text) // 2]


def newer_data(text: str) -> str:
    return re.sub(r'"data": ?\d+', '"data": 9', text)


def of_format(number: int) -> Callable[[str], str]:
    return lambda text: re.sub(r'"format": ?\d+', f'"format": {number}', text)


def damage_state(home: Path) -> None:
    for kind in ("*.changelog", "*.zip"):
        for file in (home / "checkpoint" / "state").glob(f"0/*/**/{kind}"):
            file.unlink()


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (lambda home: edit(manifest(home), truncated), "is damaged: headrace.json cannot be read"),
        (lambda home: edit(manifest(home), lambda _: "[]"), "is damaged: headrace.json cannot"),
        (lambda home: manifest(home).unlink(), "has offsets but no headrace.json"),
        (lambda home: edit(manifest(home), of_format(9)), NEWER),
        (lambda home: edit(manifest(home), newer_data), "the data of .* has format 9.*, but"),
        (lambda home: edit(last_offset(home), truncated), "is damaged"),
        (lambda home: last_offset(home).write_text("v1"), "is damaged"),
        (lambda home: manifest(home).write_text("{"), "is damaged: headrace.json cannot be read"),
        (lambda home: edit(last_offset(home), of_format(9)), "offset has format 9"),
        (damage_state, "is damaged"),
    ],
    ids=[
        "cut",
        "other",
        "lost",
        "newer",
        "newer data",
        "offset cut",
        "offset short",
        "checksum",
        "offset newer",
        "state",
    ],
)
def test_what_is_damaged_or_newer_is_refused(home, damage, what):
    before = lines_of(home, "sums")
    damage(home)
    with pytest.raises(hr.PipelineError, match=what) as error:
        resume(home)
    assert "new checkpoint" in error.value.remedy
    assert lines_of(home, "sums") == before


def test_a_manifest_that_was_being_replaced(home):
    """The process was killed after it deleted the old manifest, before it renamed the new one."""
    manifest(home).rename(manifest(home).with_suffix(".json.new"))
    (home / "checkpoint" / ".headrace.json.crc").unlink()
    assert resume(home) == "DONE"
    assert lines_of(home, "sums") == ["('a', 1)", "('a', 2)", "('a', 3)", "('a', 4)"]
    assert json.loads(manifest(home).read_text())["finished"] is True


def test_state_of_a_newer_version():
    with pytest.raises(hr.PipelineError, match="state has format 99"):
        check_format("the checkpoint's state", 99, "chunks")
