"""What resumes from a checkpoint after a change of the program, and what is refused, with the step.

The table of docs/how-to/resume-and-change.md has a row for each test here, with its id.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="the manifest is that of checkpoints on Spark")

import headrace as hr
from headrace.options import PipelineOptions
from headrace.runners.plan.planning import plan
from headrace.runners.spark.cluster.options import LEAST_KEY_GROUPS
from headrace.runners.spark.state.checkpoint_manifest import Manifest, manifest_of, resumed
from headrace.sdk.testing.runs.run import unchecked_pipeline
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import FixedWindows, TimestampCombiner
from tests.compatibility import changing
from tests.compatibility.changing import Program, put, window
from tests.faults.runs import InjectedError, ToldLines, finish, lines_of, start
from tests.unit.sdk.serialization.registry import clean_registry

pytestmark = pytest.mark.usefixtures("registry")


def on_spark(test: Any) -> Any:
    """Mark a test that needs the Spark session of the fault tests."""
    return pytest.mark.spark(pytest.mark.xdist_group("faults")(test))


EACH = Repeatedly(AfterCount(1))


@pytest.fixture(scope="module")
def registry() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        clean_registry(patch)
        yield


@pytest.fixture(scope="module")
def begun(spark, registry, tmp_path_factory) -> Path:
    """A run that failed in its last batch, in the middle of windows; the batch will run again."""
    home = tmp_path_factory.mktemp("begun")
    put(home, {**changing.BEFORE, **changing.BEFORE_TOLD})
    run = start(Program(home), home)
    while len(lines_of(home, "sums")) < 2:
        assert run.wait_until_finish(100) == "RUNNING"
    (home / "fault").write_text("raise")
    put(home, changing.AGAIN)
    with pytest.raises(InjectedError):
        run.wait_until_finish()
    (home / "fault").unlink()
    return home


def copied(begun: Path, home: Path) -> Path:
    """A copy of the run, with more records to read."""
    shutil.copytree(begun, home, dirs_exist_ok=True)
    put(home, changing.AFTER)
    return home


class Found:
    """What a resumed run has written, with what the run before it had written."""

    def __init__(self, home: Path) -> None:
        self.home = home

    def has(self, sink: str, expected: list[str]) -> None:
        """Hold that a sink has these lines."""
        assert lines_of(self.home, sink) == sorted(expected)


def more_sources(p: hr.Pipeline, program: Program) -> list[Any]:
    """Three sources more, two of which the groupings of before read as well."""
    lines = p | "more lines" >> hr.Read(program.source("more"), hr.Monotonic())
    told = p | "more told" >> hr.Read(program.source("more told", ToldLines), hr.Monotonic())
    program.write(p | "created" >> hr.Create([("c", 1)]), "created")
    return [lines, told]


def more_steps(p: hr.Pipeline, program: Program, found: Any) -> None:
    """Steps with and without state, and sinks."""
    doubled = found["results"] | "double" >> hr.MapTuple(lambda k, v: (k, 2 * v))
    program.write(doubled, "doubled")
    program.write(found["total"], "total again")
    counting = hr.CombinePerKey(hr.combiners.CountCombineFn())
    program.write(found["all"] | window("count", 10) | "count" >> counting, "counts")
    program.write(found["results"] | window("most", 20) | "most" >> hr.CombinePerKey(max), "most")
    program.write(found["all"] | window("also", 20) | "also" >> hr.ParDo(changing.Kept()), "also")
    others = hr.AsList(found["all"] | window("other side", 20))
    shared = found["all"] | window("aside", 20) | "aside" >> hr.Map(changing.beside, others)
    program.write(shared, "aside")


@pytest.fixture(scope="module")
def more(begun, tmp_path_factory) -> Found:
    """What a program finds to which all has been added that can be added."""
    home = copied(begun, tmp_path_factory.mktemp("more"))
    put(home, {"more/m": ("5 d 1", "6 a 20", "18 a 30", "end"), "more told/n": ("19 e 3", "end")})
    put(home, {"lines/s": ("14 s 5", "end")})
    program = Program(
        home,
        kept=changing.KeptMore(),
        kinds=changing.LATER,
        sources=more_sources,
        more=more_steps,
    )
    assert finish(program, home, "--max-records-per-batch=1") == "DONE"
    return Found(home)


@pytest.fixture(scope="module")
def less(begun, tmp_path_factory) -> Found:
    """What a program finds from which all was taken that can be taken, with other options."""
    home = copied(begun, tmp_path_factory.mktemp("less"))
    (home / "sources/lines/q").unlink()
    program = Program(home, lateness=20, faults=False, step=later, unsunk=("total",))
    flags = ["--runner=spark", f"--checkpoint={home / 'checkpoint'}"]  # without --key-groups
    flags += ["--max-records-per-batch=2", "--batch-seconds=0", "--trigger-interval=0.1"]
    flags.append("--spark-conf=spark.sql.streaming.minBatchesToRetain=5")
    p = hr.Pipeline(options=PipelineOptions(flags))
    program(p)
    assert p.run().wait_until_finish() == "DONE"
    return Found(home)


def later(element: Any) -> str:
    """The step as it is changed."""
    return f"later {element}"


SUMS = [
    *["('a', 6, 'ON_TIME', 0)", "('b', 4, 'ON_TIME', 0)"],
    *["('a', 19, 'ON_TIME', 0)", "('b', 17, 'ON_TIME', 0)"],
    *["('a', 9, 'ON_TIME', 0)", "('b', 11, 'ON_TIME', 0)"],
]
MORE_SUMS = [
    *["('a', 6, 'ON_TIME', 0)", "('b', 4, 'ON_TIME', 0)"],
    *["('a', 20, 'LATE', 1)", "('d', 1, 'ON_TIME', 0)"],
    *["('a', 49, 'ON_TIME', 0)", "('b', 17, 'ON_TIME', 0)"],
    *["('e', 3, 'ON_TIME', 0)", "('s', 5, 'ON_TIME', 0)"],
    *["('a', 9, 'ON_TIME', 0)", "('b', 11, 'ON_TIME', 0)"],
]
"""A new source is late where the watermark has been, and then the watermark waits for it: 49 is complete."""

REST_OF_SUMS = ["('d', 1)", "('e', 3)", "('s', 5)"]
MORE = {
    "total again": ["('a', 75)", "('a', 9)", "('b', 11)", "('b', 21)", *REST_OF_SUMS],
    "doubled": [
        *["('a', 40)", "('d', 2)", "('a', 98)", "('b', 34)", "('e', 6)", "('s', 10)"],
        *["('a', 18)", "('b', 22)"],
    ],
    "created": ["('c', 1)"],
    "counts": [
        *["('a', 1)", "('d', 1)", "('a', 3)", "('b', 1)", "('e', 1)", "('s', 1)"],
        *["('a', 1)", "('b', 1)"],
    ],
    "most": ["('a', 49)", "('b', 17)", "('a', 9)", "('b', 11)", *REST_OF_SUMS],
    "also": [
        *["('a', [7, 10, 20, 30])", "('b', [8])", "('a', [9])", "('b', [11])"],
        *["('d', [1])", "('e', [3])", "('s', [5])"],
    ],
    "kept": [
        *["('a', [1, 2, 5, 7, 10, 20, 30])", "('b', [3, 4, 6, 8])", "('a', [9])", "('b', [11])"],
        *["('a', 'later', 4)", "('b', 'later', 1)", "('a', 'later', 1)", "('b', 'later', 1)"],
        *["('d', [1])", "('e', [3])", "('s', [5])"],
        *["('d', 'later', 1)", "('e', 'later', 1)", "('s', 'later', 1)"],
    ],
    "aside": [
        *["('a', 7, 8)", "('a', 10, 8)", "('a', 20, 8)", "('a', 30, 8)", "('b', 8, 8)"],
        *["('d', 1, 8)", "('e', 3, 8)", "('s', 5, 8)", "('a', 9, 2)", "('b', 11, 2)"],
    ],
}
"""New steps have what is read from now on; those of before have all."""

BESIDE = [
    *["('a', 1, 9)", "('a', 2, 9)", "('a', 5, 9)", "('a', 7, 9)", "('a', 10, 9)", "('a', 9, 2)"],
    *["('b', 3, 9)", "('b', 4, 9)", "('b', 6, 9)", "('b', 8, 9)", "('b', 11, 2)"],
]
KEPT = ["('a', [1, 2, 5, 7, 10])", "('b', [3, 4, 6, 8])", "('a', [9])", "('b', [11])"]
RECORDS = [
    *["('a', 1)", "('a', 2)", "('a', 5)", "('b', 3)", "('b', 4)", "('b', 6)"],
    *["later ('a', 10)", "later ('a', 7)", "later ('a', 9)", "later ('b', 11)", "later ('b', 8)"],
]
OBJECTS = (
    "[LaterPair(item='a', currency='EUR', price=1, note=None), "
    "LaterPlain(item='a', price=1, currency='EUR', tags=[]), "
    "LaterAttrs(item='a', price=1, currency='EUR', double=14)]"
)
"""What was in the state, with the defaults of the new fields."""


@on_spark
@pytest.mark.parametrize(
    "sink",
    [
        pytest.param("total again", id="sink added"),
        pytest.param("doubled", id="step added"),
        pytest.param("sums", id="source added"),
        pytest.param("created", id="bounded source added"),
        pytest.param("counts", id="grouping added"),
        pytest.param("most", id="later grouping added"),
        pytest.param("also", id="stateful DoFn added"),
        pytest.param("aside", id="side input added"),
        pytest.param("kept", id="state and timer added"),
    ],
)
def test_it_resumes_with_more(more, sink) -> None:
    more.has(sink, {"sums": MORE_SUMS, **MORE}[sink])


@on_spark
@pytest.mark.parametrize(
    ("sink", "text"),
    [
        pytest.param("values", OBJECTS, id="field added"),
        pytest.param("records", "('s', 5)", id="partition added"),
    ],
)
def test_what_is_read_has_more(more, sink, text) -> None:
    assert text in "\n".join(lines_of(more.home, sink))


@on_spark
@pytest.mark.parametrize(
    ("sink", "expected"),
    [
        pytest.param("total", [], id="sink removed"),
        pytest.param("sums", SUMS, id="step removed"),
        pytest.param("records", RECORDS, id="step changed"),
        pytest.param("beside", BESIDE, id="finished partition removed"),
        pytest.param("sums", SUMS, id="lateness changed"),
        pytest.param("kept", KEPT, id="options changed"),
    ],
)
def test_it_resumes_with_less(less, sink, expected) -> None:
    less.has(sink, expected)


@on_spark
def test_without_a_flag_the_checkpoint_decides_over_key_groups(less) -> None:
    written = json.loads((less.home / "checkpoint" / "headrace.json").read_text())
    assert (written["key_groups"], LEAST_KEY_GROUPS > 2) == (2, True)


@on_spark
def test_a_partition_that_was_not_read_to_its_end_is_required(begun, tmp_path) -> None:
    home = copied(begun, tmp_path)
    (home / "sources/lines/p").unlink()
    with pytest.raises(hr.PipelineError, match="no longer has the partition 'p'") as refusal:
        finish(Program(home), home)
    assert refusal.value.where == "lines"
    assert lines_of(home, "sums") == ["('a', 6, 'ON_TIME', 0)", "('b', 4, 'ON_TIME', 0)"]


@on_spark
def test_a_refusal_leaves_the_checkpoint_as_it_is(begun, tmp_path) -> None:
    home = copied(begun, tmp_path)
    before = (home / "checkpoint" / "headrace.json").read_text()
    with pytest.raises(hr.PipelineError, match="the step 'sum' was removed") as refusal:
        start(Program(home, label="plus"), home)
    assert (refusal.value.where, str(home / "checkpoint") in str(refusal.value)) == ("sum", True)
    assert (home / "checkpoint" / "headrace.json").read_text() == before


def deeper(p: hr.Pipeline, program: Program, found: Any) -> None:
    """A grouping on a level more."""
    again = found["total"] | window("again", 40) | "again" >> hr.CombinePerKey(sum)
    program.write(again, "again")


def by_spark(p: hr.Pipeline, program: Program) -> list[Any]:
    """A source that Spark reads itself."""
    rates = p | "rates" >> hr.io.ReadFromSpark("rate", streaming=True)
    program.write(rates, "rates")
    return []


def manifest_for(program: Program, key_groups: int = 2, spark: str = "4.3.0") -> Manifest:
    with unchecked_pipeline() as p:
        program(p)
        return manifest_of(plan(p.graph), key_groups, 2, spark)


@pytest.mark.parametrize(
    ("change", "where", "what"),
    [
        pytest.param(
            {"lines": "other"}, "lines", "the source 'lines' was removed", id="renamed source"
        ),
        pytest.param({"label": "plus"}, "sum", "the step 'sum' was removed", id="renamed step"),
        pytest.param({"total": False}, "total", "the step 'total' was removed", id="removed step"),
        pytest.param(
            {"side": False},
            "beside/Side0/GroupByKey",
            "the step .* was removed",
            id="removed side input",
        ),
        pytest.param({"sources": by_spark}, "rates", "but 'rates' was added", id="source of Spark"),
        pytest.param({"windows": FixedWindows(5)}, "sum", "its windows changed", id="windows"),
        pytest.param({"trigger": EACH}, "sum", "its trigger changed", id="trigger"),
        pytest.param(
            {"mode": AccumulationMode.ACCUMULATING},
            "sum",
            "its accumulation mode changed",
            id="accumulation mode",
        ),
        pytest.param(
            {"combiner": TimestampCombiner.OUTPUT_AT_LATEST},
            "sum",
            "its timestamp combiner changed",
            id="timestamp combiner",
        ),
        pytest.param(
            {"combine": max}, "sum", "its combine function changed", id="combine function"
        ),
        pytest.param({"lateness": 0}, "sum", "its firing changed", id="lateness from or to 0"),
        pytest.param(
            {"kept": changing.KeptNothing()},
            "kept",
            "its state 'seen' was removed",
            id="state removed",
        ),
        pytest.param(
            {"kept": changing.KeptOne()},
            "kept",
            "its state 'seen' changed",
            id="state of another kind",
        ),
        pytest.param(
            {"kept": changing.KeptByClock()},
            "kept",
            "its timer 'show' changed",
            id="timer of another kind",
        ),
        pytest.param({"more": deeper}, "", "it had 3 levels and now has 4", id="levels"),
    ],
)
def test_it_is_refused(tmp_path, change, where, what) -> None:
    before = manifest_for(Program(tmp_path))
    assert resumed(before, manifest_for(Program(tmp_path)), "here").run == before.run
    with pytest.raises(hr.PipelineError, match=what) as refusal:
        resumed(before, manifest_for(Program(tmp_path, **change)), "here")
    assert refusal.value.where == where
    assert "new checkpoint" in refusal.value.remedy


@pytest.mark.parametrize(
    ("setting", "what"),
    [
        pytest.param({"key_groups": 3}, "it had 2 key groups and now has 3", id="key groups"),
        pytest.param({"spark": "4.2.1"}, "Spark 4.3 wrote the checkpoint", id="Spark"),
    ],
)
def test_a_setting_is_refused(tmp_path, setting, what) -> None:
    program = Program(tmp_path)
    with pytest.raises(hr.PipelineError, match=what) as refusal:
        resumed(manifest_for(program), manifest_for(program, **setting), "here")
    assert "new checkpoint" in refusal.value.remedy
