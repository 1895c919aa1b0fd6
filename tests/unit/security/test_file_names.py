"""File names from data: none leaves the directory, and each error shows the element."""

from __future__ import annotations

import json
import os
from importlib import import_module

import pytest

import headrace as hr
from headrace.errors import ElementError
from headrace.grouping.bundle import Bundle
from headrace.io import fileio
from headrace.sdk.io.files.file_naming import FileNaming
from headrace.sdk.io.files.names_from_data import LONGEST_PART, below
from headrace.sdk.io.files.url_path import UrlPath, delete_tree, rename
from headrace.sdk.io.formats.lines.line_sinks import TextSink
from headrace.sdk.sources.sink import Commit, SinkPart
from tests.unit.sdk.io.files import pipeline, write

LEAVES = [
    "a/../../evil",
    "..",
    "../evil",
    "a/..",
    "/tmp/evil",
    "//host/evil",
    r"..\evil",
    r"a\..\..\evil",
    r"C:\evil",
    r"\\host\share\evil",
]
"""Names that leave the directory on one of the operating systems."""

BROKEN = [
    "",
    "a/",
    ".",
    "a\0b",
    "a\nb",
    "\x1b[2Jb",
    "\ud800",
    "x" * 256,
    "é" * 128,
    ".a.headrace/files",
]
"""Names that are not names of files, or those of a sink's own files."""

AT_URLS = [
    "%2e%2e/evil",
    "%252e%252e%252fevil",
    "a/%2E./x",
    "a::file://tmp/evil",
    "x/file://tmp/evil",
]
"""Names that leave the directory of a URL, where servers decode them and fsspec chains them."""

PLAIN = [
    "a",
    "day=1/a",
    "a..b",
    "...",
    "a b",
    "é",
    "a:b",
    "%2e%2e",
    "x" * LONGEST_PART,
    "-rf",
    "$(id)",
    "a;b",
    "*",
]
"""Names that stay in the directory, also if a shell would read something into some of them."""


def fsspec():
    return import_module("fsspec")


def the_destination(window, pane, shard_index, total_shards, compression, destination):
    return destination


def written(directory):
    return sorted(
        os.path.relpath(os.path.join(parent, name), directory)
        for parent, _, names in os.walk(directory)
        for name in names
    )


@pytest.mark.parametrize("name", [*LEAVES, *BROKEN], ids=ascii)
def test_a_destination_that_leaves_the_directory_is_refused_with_the_element(tmp_path, name):
    out = tmp_path / "a" / "out"
    to_files = fileio.WriteToFiles(out, the_destination, destination=lambda element: name)
    with pytest.raises(ElementError, match="the file name") as found, pipeline("local") as p:
        _ = p | hr.Create(["apple"]) | "Out" >> to_files
    notes = " ".join(found.value.__notes__)
    assert "in Out/Write" in notes
    assert "apple" in notes
    assert written(tmp_path) == []


@pytest.mark.parametrize("name", [*LEAVES, *AT_URLS, *BROKEN], ids=ascii)
def test_a_destination_that_leaves_the_directory_of_a_url_is_refused(name):
    to_files = fileio.WriteToFiles(
        "memory://named/out", the_destination, destination=lambda e: name
    )
    with pytest.raises(ElementError, match="the file name"):
        write("local", ["apple"], to_files)
    files = fsspec().filesystem("memory")
    assert not files.exists("memory://named") or files.find("memory://named") == []


@pytest.mark.parametrize("name", PLAIN, ids=ascii)
def test_other_destinations_are_names_of_files(tmp_path, name):
    write(
        "local",
        ["apple"],
        fileio.WriteToFiles(tmp_path, the_destination, destination=lambda e: name),
    )
    assert written(tmp_path) == [name]


@pytest.mark.parametrize("name", ["[a]*?", "a b", "é", "#", "a:b"])
def test_other_destinations_are_names_of_files_at_a_url(name):
    to_files = fileio.WriteToFiles(
        "memory://named/plain", the_destination, destination=lambda e: name
    )
    write("local", ["apple"], to_files)
    files = fsspec().filesystem("memory")
    assert files.cat_file(f"/named/plain/{name}") == b"apple\n"
    assert len(files.ls("/named/plain")) == 1
    files.store.clear()


@pytest.mark.alone
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_file_naming_that_leaves_the_directory_is_refused_on_each_runner(runner, mode, tmp_path):
    out = tmp_path / "out"
    to_files = fileio.WriteToFiles(out, destination=lambda element: f"a/../../{element}")
    with pytest.raises(ElementError, match=r"the file name 'a/../../evil") as found:
        write(runner, ["evil"], to_files, mode=mode)
    assert "in " in " ".join(found.value.__notes__)
    assert written(tmp_path) == []


def test_a_symbolic_link_does_not_lead_out_of_the_directory(tmp_path):
    out, other = tmp_path / "out", tmp_path / "other"
    out.mkdir()
    other.mkdir()
    (out / "away").symlink_to(other)
    (out / "inside").symlink_to(".")
    with pytest.raises(ElementError, match="symbolic link"):
        below(str(out), "away/evil", "away")
    assert below(str(out), "inside/a", "inside") == out / "inside" / "a"
    (out / "file").symlink_to(other / "file")
    write("local", ["apple"], fileio.WriteToFiles(out, the_destination, destination="file"))
    assert (written(other), (out / "file").is_symlink()) == ([], False)


def test_a_directory_that_is_a_link_is_what_the_author_gave(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    to_files = fileio.WriteToFiles(tmp_path / "out", the_destination, destination="a/b")
    write("local", ["apple"], to_files)
    assert written(tmp_path / "real") == ["a/b"]


def test_a_ledger_that_was_changed_deletes_nothing_elsewhere(tmp_path):
    sink, mine = TextSink(FileNaming(str(tmp_path / "out" / "part"))), tmp_path / "mine"
    mine.write_text("mine")
    sink.hidden.mkdir(parents=True)
    (sink.hidden / "files").write_text(json.dumps("../mine") + "\n")
    part = SinkPart(0, 0, Bundle(["a"]))
    with pytest.raises(ElementError, match="leaves its directory"):
        sink.commit(Commit(0, "", "", [sink.write_part(part)]))
    assert mine.read_text() == "mine"


def test_labels_and_names_of_runs_are_no_paths_and_may_be_long(tmp_path):
    sink = TextSink(FileNaming(str(tmp_path / "part"), ".txt"))
    for label in ("../../evil", "/tmp/evil", "a\0b", "x" * 10_000):
        part = SinkPart(0, 0, Bundle(["a"]), "../run", label, streaming=True)
        commit = Commit(0, "../run", label, [sink.write_part(part)], streaming=True)
        sink.commit(commit)
    assert [path for path in written(tmp_path) if path.endswith(".txt")] == [
        "part-.._run-b000000-00000-of-00001.txt"
    ]


@pytest.mark.parametrize("name", ["[a]*?", "*"])
def test_a_file_at_a_url_is_renamed_and_deleted_alone(name):
    """fsspec takes some names for patterns."""
    directory = UrlPath("memory://named/alone")
    (directory / "axy").write_text("other")
    (directory / name).write_text("one")
    rename(directory / name, directory / f"{name}2")
    assert ((directory / "axy").read_text(), (directory / f"{name}2").read_text()) == (
        "other",
        "one",
    )
    (directory / f"{name}2").unlink()
    (directory / name).unlink(missing_ok=True)
    (directory / name / "staged").write_text("two")
    delete_tree(directory / name)
    assert not (directory / name).exists()
    assert (directory / "axy").read_text() == "other"
    fsspec().filesystem("memory").store.clear()
