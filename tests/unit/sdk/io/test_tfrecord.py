"""TFRecord: what is written is read, on each runner and in both modes; checksums and bad files."""

import binascii
import gzip
import sys

import pytest

import headrace as hr
from headrace.io import ReadAllFromTFRecord, ReadFromTFRecord, TFRecordFiles, WriteToTFRecord
from headrace.sdk.io.formats.tfrecord.record_frames import crc32c, framed
from tests.unit.sdk.io.files import Applied, pipeline, read, values, write

FOO_BAR = binascii.a2b_base64("AwAAAAAAAACwmUkOZm9vYYq+/gMAAAAAAAAAsJlJDmJhckYA5cg=")
"""The records foo and bar, as TensorFlow has written them."""


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


class Upper:
    """A coder of upper-case text."""

    def encode(self, text):
        return text.lower().encode()

    def decode(self, data):
        return data.decode().upper()


@pytest.mark.mode("any")
@pytest.mark.parametrize(("suffix", "num_shards"), [("", 0), (".gz", 2)])
def test_what_is_written_is_read(runner, mode, tmp_path, suffix, num_shards):
    elements = [b"", b"foo", b"bar" * 1000]
    sink = WriteToTFRecord(tmp_path / "a", file_name_suffix=suffix, num_shards=num_shards)
    write(runner, elements, sink, mode=mode)
    assert sorted(values("local", ReadFromTFRecord(f"{tmp_path}/a*"))) == sorted(elements)


@pytest.mark.mode("any")
def test_files_are_read(runner, mode, tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(FOO_BAR))
    assert sorted(values(runner, ReadFromTFRecord(f"{tmp_path}/a*"), mode)) == [b"bar", b"foo"]


@pytest.mark.mode("any")
def test_files_that_a_collection_names_are_read(runner, mode, tmp_path):
    (tmp_path / "a").write_bytes(FOO_BAR)
    names = hr.Create([f"{tmp_path}/*"])
    read_all = ReadAllFromTFRecord(Upper(), with_filename=True)
    found = values(
        runner, Applied(names, read_all, hr.MapTuple(lambda path, text: (path[-2:], text))), mode
    )
    assert sorted(found) == [("/a", "BAR"), ("/a", "FOO")]


@pytest.mark.mode("streaming")
def test_watched_files_are_read_once(runner, tmp_path):
    data = b"".join(framed(b"%d" % n, crc32c()) for n in range(300))
    (tmp_path / "a").write_bytes(data)
    watching = ReadFromTFRecord(f"{tmp_path}/a", watch=0.01)
    found = read(
        runner, "streaming", watching, "--until-caught-up", "--max-records-per-batch", "70"
    )
    assert sorted(int(value) for value, _ in found) == list(range(300))


def test_records_are_framed_as_by_tensorflow(tmp_path):
    sink = WriteToTFRecord(tmp_path / "a", Upper(), shard_name_template="")
    write("local", ["FOO"], sink)
    assert (tmp_path / "a").read_bytes() == FOO_BAR[:19]


def test_the_extension_of_a_whole_name_tells_the_compression(tmp_path):
    write("local", [b"foo"], WriteToTFRecord(tmp_path / "a.gz", shard_name_template=""))
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == FOO_BAR[:19]


# Bad input


def problem(path):
    with pytest.raises(hr.FileError) as found:
        list(TFRecordFiles(path).read_file(str(path)))
    assert found.value.where == str(path)
    return found.value.problem


def test_every_truncation_and_every_wrong_bit_is_an_error(tmp_path):
    path = tmp_path / "a"
    for size in set(range(len(FOO_BAR))) - {0, 19}:
        path.write_bytes(FOO_BAR[:size])
        assert "truncated" in problem(path) or "Fewer than 12 bytes" in problem(path)
    for byte in range(len(FOO_BAR)):
        wrong = bytearray(FOO_BAR)
        wrong[byte] ^= 4
        path.write_bytes(wrong)
        assert "checksum" in problem(path)


@pytest.mark.mode("any")
@pytest.mark.parametrize("damage", ["truncated", "corrupt", "another format", "not gzip"])
def test_a_damaged_file_is_an_error_with_the_label_and_the_file(runner, mode, tmp_path, damage):
    content = {
        "truncated": FOO_BAR[:-1],
        "corrupt": FOO_BAR[:-1] + b"x",
        "another format": b"one, two, three, four",
        "not gzip": FOO_BAR,
    }[damage]
    path = tmp_path / ("a.gz" if damage == "not gzip" else "a")
    path.write_bytes(content)
    with pytest.raises(hr.FileError) as found, pipeline(runner, mode) as p:
        _ = p | "Examples" >> ReadFromTFRecord(path) | hr.Map(len)
    text = "\n".join([str(found.value), *found.value.__notes__])
    assert str(path) in text
    assert "in Examples" in text


def test_elements_that_are_not_bytes_are_refused_with_the_label(tmp_path):
    with (
        pytest.raises(hr.ElementError, match="'foo' is not bytes") as found,
        pipeline("local") as p,
    ):
        _ = p | hr.Create(["foo"]) | "Out" >> WriteToTFRecord(tmp_path / "a")
    assert "in Out" in found.value.__notes__


def test_a_column_cannot_be_the_time():
    with pytest.raises(hr.PipelineError, match="have no column 'at'"):
        ReadFromTFRecord("a", validate=False, timestamp="at")


def test_google_crc32c_may_be_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "google_crc32c", None)
    for transform in (lambda: ReadFromTFRecord("a", validate=False), lambda: WriteToTFRecord("a")):
        with pytest.raises(
            hr.PipelineError, match="google-crc32c, which is not installed"
        ) as found:
            transform()
        assert "headrace[tfrecord]" in found.value.remedy
