"""A changed pipeline continues from its old checkpoint, or is refused with the name of the step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.runners.spark.cluster.options import LEAST_KEY_GROUPS
from headrace.triggers import AccumulationMode
from headrace.windowing import FixedWindows
from tests.faults.runs import Lines, append, finish, lines_of, start, write

pytestmark = pytest.mark.usefixtures("spark")

MODE: dict[str, Any] = {"accumulation_mode": AccumulationMode.DISCARDING}


def to_files(collection: Any, home: Path, name: str) -> None:
    _ = collection | f"{name} files" >> hr.io.WriteToText(home / "files" / name)


class First:
    """Lines -> sums in windows of ten seconds -> their sums."""

    def __init__(self, home: Path, source: Lines) -> None:
        self.home, self.source = home, source

    def __call__(self, p: hr.Pipeline) -> None:
        lines = self.lines(p)
        sums = (
            lines
            | "fixed" >> hr.WindowInto(FixedWindows(self.size), **MODE)
            | self.label >> hr.CombinePerKey(self.combine)
        )
        total = sums | "again" >> hr.WindowInto(FixedWindows(20), **MODE)
        total = total | "total" >> hr.CombinePerKey(sum)
        to_files(sums, self.home, "sums")
        to_files(total, self.home, "total")
        self.more(p, lines, sums, total)

    size = 10
    label = "sum"
    combine: Any = staticmethod(sum)

    def lines(self, p: hr.Pipeline) -> Any:
        return p | "lines" >> hr.Read(self.source, hr.Monotonic())

    def more(self, p: hr.Pipeline, lines: Any, sums: Any, total: Any) -> None:
        """Nothing more."""


class Extended(First):
    """With all that may come: sources, sinks, element-wise steps, a grouping on each level."""

    second: Lines

    def lines(self, p: hr.Pipeline) -> Any:
        first = p | "early step" >> hr.Create([]) | "nothing" >> hr.Map(lambda value: value)
        second = p | "more lines" >> hr.Read(self.second, hr.Monotonic())
        to_files(first, self.home, "nothing")
        to_files(second, self.home, "second")
        return super().lines(p) | "same" >> hr.Map(lambda pair: pair)

    def more(self, p: hr.Pipeline, lines: Any, sums: Any, total: Any) -> None:
        to_files(sums | "double" >> hr.MapTuple(lambda k, v: (k, 2 * v)), self.home, "doubles")
        counts = lines | "count windows" >> hr.WindowInto(FixedWindows(10), **MODE)
        to_files(
            counts | "count" >> hr.CombinePerKey(hr.combiners.CountCombineFn()), self.home, "n"
        )
        most = sums | "most windows" >> hr.WindowInto(FixedWindows(20), **MODE)
        to_files(most | "most" >> hr.CombinePerKey(max), self.home, "most")


@pytest.fixture(scope="module")
def begun(tmp_path_factory) -> tuple[Path, Lines]:
    """A run that was stopped in the middle of a window."""
    home = tmp_path_factory.mktemp("begun")
    source = write(home / "lines", p=["1 a 1", "2 b 2", "11 a 3", "12 b 4"])
    run = start(First(home, source), home)
    while lines_of(home, "sums") != ["('a', 1)", "('b', 2)"]:
        assert run.wait_until_finish(100) == "RUNNING"
    assert run.cancel() == "CANCELLED"
    return home, source


def changed(**parts: Any) -> Callable[..., First]:
    """A pipeline that differs in one way."""
    return type("Changed", (First,), parts)


class WithoutSource(First):
    def lines(self, p: hr.Pipeline) -> Any:
        return p | "other lines" >> hr.Read(self.source, hr.Monotonic())


class Deeper(First):
    def more(self, p: hr.Pipeline, lines: Any, sums: Any, total: Any) -> None:
        deep = total | "third" >> hr.WindowInto(FixedWindows(40), **MODE)
        to_files(deep | "deepest" >> hr.CombinePerKey(sum), self.home, "deep")


@pytest.mark.parametrize(
    ("pipeline", "flags", "where", "what"),
    [
        (changed(label="plus"), [], "sum", "the grouping 'sum' was removed"),
        (changed(combine=max), [], "sum", "its combine function changed from SumCombineFn"),
        (changed(size=5), [], "sum", "its windows changed from"),
        (WithoutSource, [], "lines", "the source 'lines' was removed"),
        (Deeper, [], "", "it had 3 levels and now has 4"),
        (First, ["--key-groups=3"], "", "it had 2 key groups and now has 3"),
    ],
    ids=["label", "function", "windows", "source", "level", "key groups"],
)
def test_what_would_lose_state_is_refused(begun, pipeline, flags, where, what):
    home, source = begun
    with pytest.raises(hr.PipelineError, match=what) as error:
        start(pipeline(home, source), home, *flags)
    assert error.value.where == where
    assert "new checkpoint" in error.value.remedy


def test_what_only_adds_goes_on(begun):
    """Runs last: what was begun comes to its end; new steps see what comes from now on."""
    home, source = begun
    append(home / "lines", "p", "13 a 5", "25 c 6", "end")
    pipeline = Extended(home, source)
    pipeline.second = write(home / "second lines", q=["1 d 1", "end"])
    assert finish(pipeline, home) == "DONE"
    assert lines_of(home, "sums") == ["('a', 1)", "('a', 8)", "('b', 2)", "('b', 4)", "('c', 6)"]
    assert lines_of(home, "total") == ["('a', 9)", "('b', 6)", "('c', 6)"]
    assert lines_of(home, "doubles") == ["('a', 16)", "('b', 8)", "('c', 12)"]
    assert lines_of(home, "n") == ["('a', 1)", "('c', 1)"]
    assert lines_of(home, "most") == ["('a', 8)", "('b', 4)", "('c', 6)"]
    assert lines_of(home, "second") == ["('d', 1)"]
    assert finish(pipeline, home) == "DONE", "what is finished stays so"


def test_without_a_flag_the_checkpoint_decides_over_key_groups(tmp_path):
    source = write(tmp_path / "lines", p=["1 a 1"])
    start(First(tmp_path, source), tmp_path, "--key-groups=3").cancel()
    append(tmp_path / "lines", "p", "end")
    p = hr.Pipeline(
        options=hr.options.PipelineOptions(
            ["--runner=spark", f"--checkpoint={tmp_path / 'checkpoint'}"]
        )
    )
    First(tmp_path, source)(p)
    assert p.run().wait_until_finish() == "DONE"
    assert '"key_groups": 3' in (tmp_path / "checkpoint" / "headrace.json").read_text()
    assert LEAST_KEY_GROUPS != 3  # type: ignore[comparison-overlap]
    assert lines_of(tmp_path, "sums") == ["('a', 1)"]
