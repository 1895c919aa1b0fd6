"""Writers on URLs of fsspec: the same files as on a local disk, each published once."""

import gzip
import json
import uuid

import pytest

import headrace as hr
from headrace.io import FileNaming, ParquetSink, ReadFromParquet, TextSink
from headrace.io.filesystems import FileSystems
from tests.unit.sdk.io.files import values, write
from tests.unit.sdk.io.test_file_commits import commit, part


@pytest.fixture
def root():
    return f"memory://{uuid.uuid4().hex}"


def contents(root):
    """The contents of visible files by name."""
    [found] = FileSystems.match([f"{root}/[!.]*"])
    names = [file.path for file in found.metadata_list]
    opened = {name.rpartition("/")[2]: FileSystems.open(name) for name in names}
    return {name: file.read().decode() for name, file in opened.items()}


@pytest.mark.mode("any")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_text_is_written_to_a_url(runner, mode, tmp_path):
    sink = hr.io.WriteToText(f"file://{tmp_path}/out", ".txt", num_shards=2)
    write(runner, ["a", "b", "c"], sink, mode=mode)
    files = [path.name for path in tmp_path.glob("[!.]*")]
    assert all(name.startswith("out-") and name.endswith("-of-00002.txt") for name in files)
    lines = "".join(path.read_text() for path in tmp_path.glob("[!.]*"))
    assert sorted(lines.split()) == ["a", "b", "c"]
    assert not [path for path in tmp_path.glob(".*/staged/**/*") if path.is_file()]


def test_each_format_is_written_to_a_url(root):
    rows = [hr.Row(a=1)]
    write("local", rows, hr.io.WriteToCsv(f"{root}/a", file_name_suffix=".csv"))
    write("local", rows, hr.io.WriteToJson(f"{root}/a", num_shards=1, file_name_suffix=".json.gz"))
    write("local", rows, hr.io.WriteToParquet(f"{root}/b/a", num_shards=1))
    assert contents(root) == {
        "a-00000-of-00001.csv": "a\n1\n",
        "a-00000-of-00001.json.gz": '{"a": 1}\n',
    }
    assert values("local", ReadFromParquet(f"{root}/b")) == [{"a": 1}]


def test_a_run_replaces_the_files_of_the_one_before(root):
    with FileSystems.create(f"{root}/mine.txt") as file:
        file.write(b"mine")
    write("local", ["a", "b"], hr.io.WriteToText(f"{root}/out", num_shards=2))
    write("local", ["c"], hr.io.WriteToText(f"{root}/out"))
    assert contents(root) == {"mine.txt": "mine", "out-00000-of-00001": "c\n"}


def test_a_prefix_may_stand_beside_the_scheme():
    name = uuid.uuid4().hex
    write("local", ["a"], hr.io.WriteToText(f"memory://{name}"))
    with FileSystems.open(f"memory://{name}-00000-of-00001") as file:
        assert file.read() == b"a\n"


@pytest.fixture(params=[0, 1], ids=["a file for each part", "one file"])
def sink(request, root):
    return TextSink(FileNaming(f"{root}/out"), num_shards=request.param)


def test_nobody_sees_what_is_not_committed(sink, root):
    to_do = commit(sink, part(["a"]), part(["b"], 1))
    assert contents(root) == {}
    sink.commit(to_do)
    assert "".join(contents(root).values()) == "a\nb\n"
    assert not FileSystems.match([f"{root}/.out.headrace/staged/**"])[0].metadata_list


def test_a_batch_that_is_committed_again_has_the_same_files(sink, root):
    to_do = commit(sink, part(["a"]), part(["b"], 1))
    sink.commit(to_do)
    before = contents(root)
    sink.commit(to_do)
    assert contents(root) == before


def test_a_batch_that_is_written_again_deletes_what_the_first_attempt_left(root):
    sink = TextSink(FileNaming(f"{root}/out"))
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    sink.commit(commit(sink, part(["a", "b"])))
    assert contents(root) == {"out-r-b000000-00000-of-00001": "a\nb\n"}


def test_the_ledger_lists_the_files_of_all_batches(root):
    sink = TextSink(FileNaming(f"{root}/out"))
    for batch in range(2):
        sink.commit(commit(sink, part(["a"], batch=batch)))
    lines = (sink.hidden / "files").read_text().split()
    assert list(map(json.loads, lines)) == sorted(contents(root))


def test_staged_files_that_are_deleted_are_named(sink):
    to_do = commit(sink, part(["a"]))
    FileSystems.delete([to_do.written[0][0][0]])
    with pytest.raises(hr.FileError, match=r"the staged data of out-r-b000000.* is missing"):
        sink.commit(to_do)


def test_parquet_of_several_parts_is_one_file(root):
    sink = ParquetSink(FileNaming(f"{root}/out"), num_shards=1)
    sink.commit(commit(sink, part([{"a": 1}]), part([{"a": 2}], 1)))
    assert values("local", ReadFromParquet(root)) == [{"a": 1}, {"a": 2}]


def test_compressed_parts_are_one_file(root):
    sink = TextSink(FileNaming(f"{root}/out", ".gz"), header="top", num_shards=1)
    sink.commit(commit(sink, part(["a"]), part(["b"], 1)))
    [name] = contents(root)
    with FileSystems.open(f"{root}/{name}", compression_type="uncompressed") as file:
        assert gzip.decompress(file.read()) == b"top\na\nb\n"


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_an_unknown_scheme_is_an_error_with_the_label(mode):
    with pytest.raises(hr.PipelineError, match="no file system is known") as found:
        write("local", ["a"], "here" >> hr.io.WriteToText("nope://bucket/out"), mode=mode)
    assert found.value.__notes__ == ["in here"]
