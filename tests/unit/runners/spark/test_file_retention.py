"""Files of side inputs are deleted when no state that Spark can return to needs them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headrace.runners.spark.cluster.file_retention import FileRetention

LABELS = ("one", "other")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name in ("a", "b", ".unfinished"):
        (tmp_path / name).touch()
    return tmp_path


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


def report(group: int, *needed: str) -> tuple[int, dict[str, frozenset[str]]]:
    return group, {label: frozenset(needed) for label in LABELS}


def test_a_file_is_kept_for_as_many_batches_as_spark_retains(directory):
    retention = FileRetention(str(directory), states=4, batches=3)
    retention.note(10, [report(0, "a"), report(1, "a", "b")])
    retention.note(11, [report(1, "a")])
    retention.note(13, [])
    assert names(directory) == {"a", "b", ".unfinished"}
    retention.note(14, [])
    assert names(directory) == {"a", "b"}
    retention.note(15, [])
    assert names(directory) == {"a"}


def test_a_file_that_is_needed_again_is_kept(directory):
    retention = FileRetention(str(directory), states=2, batches=1)
    retention.note(0, [report(0, "a")])
    retention.note(1, [report(0, "a", "b")])
    retention.note(2, [report(0, "a")])
    retention.note(3, [])
    assert names(directory) == {"a", "b"}
    retention.note(4, [])
    assert names(directory) == {"a"}


def test_nothing_is_deleted_until_every_key_group_has_reported(directory):
    retention = FileRetention(str(directory), states=4, batches=0)
    for batch in range(5):
        retention.note(batch, [report(0)])
    assert names(directory) == {"a", "b", ".unfinished"}
    retention.note(5, [report(1, "b")])
    retention.note(6, [])
    assert names(directory) == {"b"}


def test_a_directory_that_does_not_exist_yet(tmp_path):
    retention = FileRetention(str(tmp_path / "none"), states=2, batches=0)
    retention.note(0, [report(0)])
