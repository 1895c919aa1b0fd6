"""FileBasedSource: files in ranges of bytes, each record in one of them; and what checks such sources."""

import gzip

import fastavro
import pyarrow as pa
import pytest
from pyarrow import parquet

import headrace as hr
from headrace.io import source_test_utils
from headrace.io.avroio import _FastAvroSource
from headrace.io.filebasedsource import FileBasedSource
from headrace.io.parquetio import _create_parquet_source
from tests.unit.sdk.io.files import values

SCHEMA = {"type": "record", "name": "N", "fields": [{"name": "n", "type": "int"}]}


class Lines(FileBasedSource):
    """Lines; one that begins in the range of another worker is that worker's."""

    def read_records(self, file_name, offset_range_tracker):
        at = offset_range_tracker.start_position()
        with self.open_file(file_name) as file:
            if at:
                file.seek(at - 1)
                at += len(file.readline()) - 1
            while (line := file.readline()) and offset_range_tracker.try_claim(at):
                at += len(line)
                yield line.decode().strip()


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"four\nfive\n"))
    (tmp_path / "c.txt").touch()
    return tmp_path


EVERY = ["", "five", "four", "one", "three", "two"]


@pytest.mark.mode("batch")
def test_each_record_is_read_once(runner, files):
    assert sorted(values(runner, hr.io.Read(Lines(f"{files}/*")))) == EVERY


@pytest.mark.parametrize(("size", "least", "parts"), [(1, 0, 16), (1, 6, 4), (None, 0, 2)])
def test_a_file_is_divided_into_ranges_unless_it_is_compressed(files, size, least, parts):
    source = Lines(f"{files}/*", min_bundle_size=least)
    bundles = list(source.split(size))
    assert len(bundles) == parts
    infos = [(b.source, b.start_position, b.stop_position) for b in bundles]
    source_test_utils.assert_sources_equal_reference_source((source, None, None), infos)
    assert source.estimate_size() == sum(bundle.weight for bundle in bundles)
    assert len(list(Lines(f"{files}/*", splittable=False).split(1))) == 2


def avro_source(tmp_path):
    with open(tmp_path / "a.avro", "wb") as file:
        fastavro.writer(file, SCHEMA, [{"n": n} for n in range(100)], sync_interval=20)
    return _FastAvroSource(str(tmp_path / "a.avro"))


def parquet_source(tmp_path):
    table = pa.table({"n": list(range(20))})
    parquet.write_table(table, tmp_path / "a.parquet", row_group_size=3)
    return _create_parquet_source(str(tmp_path / "a.parquet"))


@pytest.mark.parametrize("made", [avro_source, parquet_source])
@pytest.mark.parametrize("size", [1, 100, 10_000])
def test_blocks_are_read_in_the_range_in_which_they_begin(tmp_path, made, size):
    source = made(tmp_path)
    infos = [(b.source, b.start_position, b.stop_position) for b in source.split(size)]
    source_test_utils.assert_sources_equal_reference_source((source, None, None), infos)


@pytest.mark.parametrize("made", [avro_source, parquet_source])
@pytest.mark.slow
def test_reads_do_not_disturb_each_other_and_can_be_split(tmp_path, made):
    (bundle,) = made(tmp_path).split(float("inf"))
    info = bundle.source, bundle.start_position, bundle.stop_position
    source_test_utils.assert_reentrant_reads_succeed(info)
    source_test_utils.assert_split_at_fraction_exhaustive(*info)


class Forgetful(Lines):
    """It does not claim what it reads."""

    def read_records(self, file_name, offset_range_tracker):
        with self.open_file(file_name) as file:
            yield from file


def test_a_source_that_reads_too_much_is_found(files):
    source = Forgetful(f"{files}/a.txt")
    infos = [(b.source, b.start_position, b.stop_position) for b in source.split(8)]
    with pytest.raises(ValueError, match="is read too often"):
        source_test_utils.assert_sources_equal_reference_source((source, None, None), infos)
    with pytest.raises(ValueError, match="is not read"):
        source_test_utils.assert_sources_equal_reference_source((source, None, None), [])
    with pytest.raises(ValueError, match="no split has divided"):
        source_test_utils.assert_split_at_fraction_exhaustive(source)


def test_a_pattern_that_matches_nothing_is_refused(tmp_path):
    with pytest.raises(hr.FileError, match="no file matches"):
        Lines(f"{tmp_path}/none")
    assert values("local", hr.io.Read(Lines(f"{tmp_path}/none", validate=False))) == []


def test_a_damaged_file_is_an_error_with_the_label(tmp_path):
    (tmp_path / "a.avro").write_bytes(b"one, two, three")
    with pytest.raises(hr.FileError, match="the file cannot be read") as found:
        values("local", "here" >> hr.io.Read(_FastAvroSource(f"{tmp_path}/a.avro")))
    assert found.value.where == f"{tmp_path}/a.avro"
    assert "in here" in found.value.__notes__
