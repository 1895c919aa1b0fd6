"""fileio: files that match patterns, read whole; the same on each runner and in both modes."""

import gzip
import sys

import pytest

import headrace as hr
from headrace.io import fileio
from headrace.io.filesystem import FileMetadata
from tests.unit.sdk.io.files import Applied, values

pytestmark = pytest.mark.mode("any")


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.txt").write_text("eins")
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(b"zwei"))
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.txt").write_text("drei – 3")
    return tmp_path


def contents(runner, mode, *transforms):
    return sorted(values(runner, Applied(*transforms, hr.Map(read_utf8)), mode))


def read_utf8(file):
    return file.read_utf8()


def named(file):
    return file.metadata.path.rpartition("/")[2], file.metadata.size_in_bytes, file.read()


def test_matching_files_are_read_whole(runner, mode, files):
    found = contents(runner, mode, fileio.MatchFiles(f"{files}/**"), fileio.ReadMatches())
    assert found == ["drei – 3", "eins", "zwei"]


def test_urls_are_matched_and_read(runner, mode, files):
    found = contents(runner, mode, fileio.MatchFiles(f"file://{files}/*"), fileio.ReadMatches())
    assert found == ["eins", "zwei"]


def test_each_pattern_of_a_collection_is_matched(runner, mode, files):
    patterns = hr.Create([f"{files}/*.txt", f"{files}/sub/*", f"{files}/*.csv"])
    assert contents(runner, mode, patterns, fileio.MatchAll(), fileio.ReadMatches()) == [
        "drei – 3",
        "eins",
    ]


def test_paths_are_read_without_matching(runner, files):
    assert contents(runner, "batch", hr.Create([f"{files}/a.txt"]), fileio.ReadMatches()) == [
        "eins"
    ]


def test_a_file_has_its_metadata(runner, files):
    transform = Applied(fileio.MatchFiles(f"{files}/a.txt"), fileio.ReadMatches(), hr.Map(named))
    assert values(runner, transform) == [("a.txt", 4, b"eins")]


def test_the_compression_can_be_given(files):
    (files / "d").write_bytes(gzip.compress(b"vier"))
    metadata = FileMetadata(f"{files}/d", 0)
    assert fileio.ReadableFile(metadata, "gzip").read() == b"vier"
    with fileio.ReadableFile(metadata).open(compression_type="gzip") as file:
        assert file.read() == b"vier"


def test_directories_are_skipped(runner, files):
    paths = hr.Create([f"{files}/sub/", f"{files}/a.txt"])
    assert contents(runner, "batch", paths, fileio.ReadMatches()) == ["eins"]


# Bad input


def raised(runner, mode, kind, *transforms):
    with pytest.raises(kind) as found:
        values(runner, Applied(*transforms), mode)
    return "\n".join([str(found.value), *getattr(found.value, "__notes__", ())])


@pytest.mark.parametrize("treatment", ["DISALLOW", "ALLOW_IF_WILDCARD"])
def test_a_pattern_that_matches_nothing_is_an_error_with_the_label(
    runner, mode, tmp_path, treatment
):
    match = fileio.MatchFiles(f"{tmp_path}/none.txt", treatment)
    text = raised(runner, mode, hr.FileError, "here" >> match)
    assert f"Empty match for pattern '{tmp_path}/none.txt': no file matches it" in text
    assert "in Applied" in text
    assert "here/MatchAll" in text


@pytest.mark.parametrize(
    ("name", "treatment"), [("none.txt", "ALLOW"), ("*.none", "ALLOW_IF_WILDCARD")]
)
def test_a_pattern_may_match_nothing(runner, tmp_path, name, treatment):
    assert values(runner, fileio.MatchFiles(f"{tmp_path}/{name}", treatment)) == []


def test_a_pattern_with_a_wildcard_may_be_refused(runner, tmp_path):
    text = raised(
        runner, "batch", hr.FileError, fileio.MatchFiles(f"{tmp_path}/*.none", "DISALLOW")
    )
    assert "no file matches" in text


def test_an_unknown_treatment_is_refused():
    with pytest.raises(hr.PipelineError, match="unknown empty_match_treatment 'NEVER'"):
        fileio.MatchAll("NEVER")


def test_a_directory_is_an_error_if_it_is_not_skipped(runner, tmp_path):
    text = raised(
        runner,
        "batch",
        hr.FileError,
        hr.Create([f"{tmp_path}/"]),
        "here" >> fileio.ReadMatches(skip_directories=False),
    )
    assert f"Directories are not allowed, but '{tmp_path}/' is one" in text
    assert "here" in text


@pytest.mark.parametrize("damage", ["truncated", "another format"])
def test_a_damaged_file_is_an_error_with_the_label(runner, mode, tmp_path, damage):
    content = gzip.compress(b"one, two, three")[:-9] if damage == "truncated" else b"plain text"
    (tmp_path / "a.gz").write_bytes(content)
    text = raised(
        runner,
        mode,
        hr.FileError,
        fileio.MatchFiles(f"{tmp_path}/*"),
        fileio.ReadMatches(),
        "here" >> hr.Map(read_utf8),
    )
    assert f"{tmp_path}/a.gz" in text
    assert "/here" in text


def test_text_in_another_encoding_is_an_error_with_the_label(runner, tmp_path):
    (tmp_path / "a.txt").write_bytes("drei – 3".encode("utf-16"))
    text = raised(
        runner,
        "batch",
        hr.FileError,
        fileio.MatchFiles(f"{tmp_path}/*"),
        fileio.ReadMatches(),
        "here" >> hr.Map(read_utf8),
    )
    assert f"{tmp_path}/a.txt" in text
    assert "/here" in text


def read_without_zstandard(file):
    installed = sys.modules.pop("zstandard", None)
    sys.modules["zstandard"] = None  # type: ignore[assignment]
    try:
        return file.read()
    finally:
        del sys.modules["zstandard"]
        if installed is not None:
            sys.modules["zstandard"] = installed


def test_a_missing_compression_library_is_an_error_with_the_label(runner, mode, tmp_path):
    (tmp_path / "a.zst").write_bytes(b"abc")
    text = raised(
        runner,
        mode,
        hr.PipelineError,
        fileio.MatchFiles(f"{tmp_path}/*"),
        fileio.ReadMatches(),
        "here" >> hr.Map(read_without_zstandard),
    )
    assert "need the module zstandard" in text
    assert "/here" in text
