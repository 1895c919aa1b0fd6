"""Readers on URLs of fsspec: the same elements as of local files; on Spark, Spark opens URLs."""

import gzip
import uuid

import pytest

import headrace as hr
from headrace.io import ReadFromCsv, ReadFromJson, ReadFromParquet, ReadFromText
from headrace.io.filesystems import FileSystems
from tests.unit.sdk.io.files import values


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


@pytest.fixture
def root():
    return f"memory://{uuid.uuid4().hex}"


def put(path, content):
    with FileSystems.create(path, compression_type="uncompressed") as file:
        file.write(content)


@pytest.mark.mode("batch")
def test_a_url_is_read_on_each_runner(runner, tmp_path):
    (tmp_path / "a.txt").write_text("1\n2\n")
    assert sorted(values(runner, ReadFromText(f"file://{tmp_path}/*.txt"))) == ["1", "2"]


def test_text_is_read_by_pattern_directory_and_path(root, mode):
    for name, content in {"a.txt": b"1\n", "_a.txt": b"2\n", "sub/b.txt": b"3\n"}.items():
        put(f"{root}/{name}", content)
    put(f"{root}/c.txt.gz", gzip.compress(b"4\n"))
    patterns = {"*.txt*": "14", "": "14", "**/*.txt": "13", "_a.txt": "2"}
    found = {p: values("local", ReadFromText(f"{root}/{p}"), mode) for p in patterns}
    assert {p: "".join(sorted(lines)) for p, lines in found.items()} == patterns


def test_records_are_read_with_a_schema(root, mode):
    put(f"{root}/a.csv", b"a,b\n1,x\n")
    put(f"{root}/a.json", b'{"a": 1, "b": "x"}\n')
    schema = {"a": int, "b": str}
    assert values("local", ReadFromCsv(f"{root}/*.csv", schema), mode) == [hr.Row(a=1, b="x")]
    assert values("local", ReadFromJson(f"{root}/a.json", schema), mode) == [hr.Row(a=1, b="x")]


def test_parquet_is_read(root, mode, tmp_path):
    path = f"{tmp_path}/a.parquet"
    with hr.Pipeline() as p:
        _ = (
            p
            | hr.Create([{"a": 1}, {"a": 2}])
            | hr.io.WriteToParquet(path, shard_name_template="", num_shards=1)
        )
    put(f"{root}/a.parquet", (tmp_path / "a.parquet").read_bytes())
    found = [values("local", ReadFromParquet(url), mode) for url in (f"{root}/*", f"file://{path}")]
    assert found == [[{"a": 1}, {"a": 2}]] * 2


def test_a_watched_directory_is_read_until_caught_up(root):
    put(f"{root}/a.txt", b"1\n2\n")
    put(f"{root}/b.txt.gz", gzip.compress(b"3\n"))
    found: list[str] = []
    with hr.Pipeline(argv=["--until-caught-up"]) as p:
        _ = p | ReadFromText(root, watch=0.01) | hr.Map(found.append)
    assert found == ["1", "2", "3"]


# Bad input


def notes_of(raised):
    return "\n".join([str(raised.value), *getattr(raised.value, "__notes__", ())])


def test_a_url_that_matches_nothing_is_an_error_with_the_label(root, mode):
    with pytest.raises(hr.FileError) as found:
        values("local", "here" >> ReadFromText(f"{root}/*.txt"), mode)
    assert f"no file matches '{root}/*.txt'" in notes_of(found)
    assert "in here" in notes_of(found)


@pytest.mark.parametrize(
    "content", [gzip.compress(b"1\n2\n")[:-9], b"plain text"], ids=["truncated", "other"]
)
def test_a_damaged_file_is_an_error_with_the_label(root, mode, content):
    put(f"{root}/a.gz", content)
    with pytest.raises(hr.FileError, match="cannot be read") as found:
        values("local", "here" >> ReadFromText(f"{root}/a.gz"), mode)
    assert f"{root}/a.gz" in notes_of(found)
    assert "in here" in notes_of(found)


def test_an_unknown_scheme_is_an_error_with_the_label(mode):
    with pytest.raises(hr.PipelineError, match="no file system is known") as found:
        values("local", "here" >> ReadFromText("nope://a"), mode)
    assert "in here" in notes_of(found)
