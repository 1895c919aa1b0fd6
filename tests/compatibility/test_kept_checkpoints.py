"""Each kept checkpoint is resumed by this version to the results that the version that wrote it has found."""

from __future__ import annotations

import ast
import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.runners.contents.grouping_paths import Keep
from headrace.stored_formats import (
    HISTORY,
    OLDEST_READABLE,
    READABLE,
    VERSION,
    check_format,
    formats_of,
)
from tests.compatibility import late_program, native_program, program, splittable_program
from tests.compatibility.kept import (
    READ_BY_SPARK,
    SPLITTABLE,
    WITH_LATE_OUTPUTS,
    Kept,
    kept,
    kept_of,
    sinks,
    start,
)
from tests.faults.runs import edit

KEPT, NATIVE, SPLIT = kept(), kept_of(READ_BY_SPARK), kept_of(SPLITTABLE)
LATE = kept_of(WITH_LATE_OUTPUTS)
ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("faults")]
each_kept = pytest.mark.parametrize("each", KEPT, ids=lambda each: each.version)
TOOL = "keep one: python -m tests.compatibility.make"


def test_a_checkpoint_of_each_readable_version_is_kept() -> None:
    versions = [*HISTORY]
    assert [each.version for each in KEPT] == versions[versions.index(OLDEST_READABLE) :], TOOL


@each_kept
def test_a_kept_checkpoint_has_the_formats_of_its_version(each: Kept) -> None:
    """A number that was raised without a new version fails here."""
    assert each.expected["formats"] == formats_of(each.version), TOOL


@each_kept
def test_a_kept_checkpoint_is_small(each: Kept) -> None:
    assert each.size < 100_000


def test_a_version_in_the_history_has_changed_a_format() -> None:
    (first, _), *later = HISTORY.items()
    assert formats_of(VERSION).keys() == READABLE.keys()
    before = formats_of(first)
    for version, changed in later:
        assert changed, version
        assert all(number == before.get(kind, 0) + 1 for kind, number in changed.items()), version
        before = formats_of(version)
    assert before == formats_of(VERSION)


@pytest.mark.parametrize(
    ("found", "wrote", "of", "remedy"),
    [
        (3, "", ", of Headrace 0.1.0.dev26", "resume it with Headrace 0.1.0.dev26, or"),
        (2, "", "", "resume it with the version that wrote it, or"),
        (99, "7.5.0", ", of Headrace 7.5.0", "resume it with Headrace 7.5.0, or"),
        (None, "", "", "resume it with the version that wrote it, or"),
    ],
    ids=["known", "before the history", "later", "none"],
)
def test_what_cannot_be_read_is_refused_with_the_version_that_can(found, wrote, of, remedy) -> None:
    with pytest.raises(hr.PipelineError) as refusal:
        check_format("the checkpoint /data/mill", found, "manifest", wrote=wrote)
    assert refusal.value.problem == (
        f"the checkpoint /data/mill has format {found}{of}, but this version of Headrace ({VERSION}) "
        f"reads formats {READABLE['manifest'][0]} to {READABLE['manifest'][-1]}"
    )
    assert refusal.value.remedy.startswith(remedy)


@pytest.fixture(params=[pytest.param(each, marks=ON_SPARK, id=each.version) for each in KEPT])
def unpacked(request, tmp_path, spark) -> tuple[Kept, Path]:
    """A kept checkpoint, unpacked in a directory of its own, and the records that come after it."""
    request.param.unpack(tmp_path)
    return request.param, tmp_path


@pytest.mark.spark_versions
def test_a_kept_checkpoint_is_resumed(unpacked, spark) -> None:
    """On another minor version of Spark it is refused, with that version."""
    each, home = unpacked
    expected = each.expected
    assert sinks(home) != expected["sinks"], "the run was stopped in the middle"
    manifest = home / "checkpoint" / "headrace.json"
    edit(manifest, lambda text: json.dumps({**json.loads(text), "a later field": ["ignored"]}))
    program.write(home, program.REST)
    if not spark.version.startswith(f"{expected['spark']}."):
        with pytest.raises(hr.PipelineError, match=rf"^Spark {expected['spark']} wrote the") as no:
            start(home)
        assert f"pip install 'pyspark=={expected['spark']}.*'" in no.value.remedy
        return
    assert start(home).wait_until_finish() == "DONE"
    assert sinks(home) == expected["sinks"]
    written = json.loads(manifest.read_text())
    assert (written["headrace"], written["finished"]) == (VERSION, True)


@pytest.mark.parametrize("some", [NATIVE, SPLIT, LATE], ids=["native", "splittable", "late"])
def test_a_checkpoint_of_each_other_program_is_kept(some: list[Kept]) -> None:
    assert [each.version for each in some][-1:] == [VERSION], TOOL
    assert all(each.size < 100_000 for each in some)


def described(home: Path) -> Any:
    """The description of the pipeline in the checkpoint of a run."""
    return json.loads((home / "checkpoint" / "headrace.json").read_text())


def is_refused(home: Path, spark: Any, start: Callable[[Path], object]) -> bool:
    """Return whether another minor version of Spark wrote the checkpoint, which is then named."""
    from headrace.runners.spark.cluster.spark_versions import minor

    wrote = described(home)["spark"]
    if minor(spark.version) == wrote:
        return False
    with pytest.raises(hr.PipelineError, match=rf"^Spark {wrote} wrote the"):
        start(home)
    return True


@pytest.mark.spark
@pytest.mark.spark_versions
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("each", NATIVE, ids=lambda each: each.version)
def test_a_kept_checkpoint_of_a_source_that_spark_reads_is_resumed(each, spark, tmp_path) -> None:
    each.unpack(tmp_path)
    before = native_program.sums(tmp_path)
    assert before == native_program.expected(len(before))
    if is_refused(tmp_path, spark, native_program.start):
        return
    native_program.run_until(tmp_path, windows=len(before) // 2 + 2)
    after = native_program.sums(tmp_path)
    assert after == native_program.expected(len(after))


@pytest.mark.spark
@pytest.mark.spark_versions
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("each", SPLIT, ids=lambda each: each.version)
def test_a_kept_checkpoint_with_restrictions_is_resumed(each, spark, tmp_path) -> None:
    """Parts go on where they stopped."""
    each.unpack(tmp_path)
    some = splittable_program.SINKS[:2]
    before = splittable_program.written(tmp_path, some)
    assert before == splittable_program.expected(splittable_program.FIRST, some)
    splittable_program.allow(tmp_path, splittable_program.PART)
    if is_refused(tmp_path, spark, splittable_program.start):
        return
    assert splittable_program.start(tmp_path).wait_until_finish() == "DONE"
    after = splittable_program.written(tmp_path)
    assert after == splittable_program.expected(splittable_program.PART)


@pytest.mark.spark
@pytest.mark.spark_versions
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("each", LATE, ids=lambda each: each.version)
def test_a_kept_checkpoint_with_late_outputs_is_resumed(each, spark, tmp_path) -> None:
    """It goes on with the states that it has; in the first one these are full states of all keys."""
    run, local = tmp_path / "run", tmp_path / "local"
    each.unpack(run)
    late_program.write(run, late_program.REST)
    before = described(run)["steps"]
    if is_refused(run, spark, late_program.start):
        return
    assert late_program.start(run).wait_until_finish() == "DONE"
    for lines in (late_program.FIRST, late_program.REST):
        late_program.write(local, lines)
    assert late_program.start_locally(local).wait_until_finish() == "DONE"
    found = late_program.sinks(run)
    assert found == late_program.sinks(local)
    assert all(found.values())
    assert described(run)["steps"] == before
    if each is LATE[0]:
        assert {step["state"] for step in before.values()} == {Keep.FULL.value}


@pytest.mark.spark
@pytest.mark.xdist_group("faults")
@pytest.mark.parametrize("local", [True, False], ids=["python", "hadoop"])
def test_the_paths_in_a_moved_checkpoint_lead_to_it(spark, tmp_path, monkeypatch, local) -> None:
    """The files are written by Python on a local disk, and by Hadoop elsewhere."""
    from headrace.runners.spark.state.checkpoint_manifest import Checkpoint
    from headrace.runners.spark.state.moved_checkpoint import adapt

    KEPT[-1].unpack(tmp_path)
    if not local:
        monkeypatch.setattr(Checkpoint, "local_directory", None)
    checkpoint = Checkpoint(spark, str(tmp_path / "checkpoint"))
    assert not any(map(os.path.exists, schemas(tmp_path)))
    for _ in range(2):
        adapt(checkpoint)
        assert len(schemas(tmp_path)) == 3
        assert all(map(os.path.exists, schemas(tmp_path)))


def schemas(home: Path) -> list[str]:
    """The paths in Spark's notes of the state of each operator."""
    notes = (home / "checkpoint" / "state").glob("*/_metadata/v2/[0-9]*")
    stores = [json.loads(note.read_text().split("\n", 1)[1])["stateStoreInfo"] for note in notes]
    found = [path for each in stores for store in each for path in store["stateSchemaFilePaths"]]
    return [path.removeprefix("file:") for path in found]


@each_kept
def test_what_is_expected_is_what_one_batch_finds(each: Kept, tmp_path) -> None:
    """What is left of the retracting results does not depend on Spark, on rounds, or on the stop."""
    program.write(tmp_path, program.FIRST)
    program.write(tmp_path, program.REST)
    p = hr.Pipeline()
    program.build(p, tmp_path)
    assert p.run().wait_until_finish() == "DONE"
    found = sinks(tmp_path)
    for name in program.RETRACTING:
        assert left(each.expected["sinks"][name]) == left(found[name]), name


def left(changes: list[str]) -> dict[str, int]:
    """What is left when retractions are applied to the lines of a changelog."""
    counts: Counter[str] = Counter()
    for diff, value in map(ast.literal_eval, changes):
        counts[repr(value)] += diff
    return {value: count for value, count in counts.items() if count}
