"""FileSystems: the same operations on local files and URLs; compression; errors with the path."""

import gzip
import sys
import uuid
from typing import Any

import pytest

import headrace as hr
from headrace.io.filesystem import BeamIOError, CompressionTypes, FileMetadata
from headrace.io.filesystems import FileSystems
from headrace.io.localfilesystem import LocalFileSystem
from headrace.sdk.io.files.compression import compressed
from headrace.sdk.io.files.file_operations import FileOperationError

COMPRESSIONS = {
    "gzip": ".gz",
    "bzip2": ".bz2",
    "lzma": ".xz",
    "deflate": ".deflate",
    "zstd": ".zst",
    "uncompressed": ".txt",
}


@pytest.fixture(params=["local", "memory", "file"])
def root(request, tmp_path):
    """A directory that does not exist yet."""
    memory = f"memory://{uuid.uuid4().hex}"
    return {"local": f"{tmp_path}/new", "memory": memory, "file": f"file://{tmp_path}/new"}[
        request.param
    ]


def put(path, content=b"abc", **options):
    with FileSystems.create(path, **options) as file:
        file.write(content)


def get(path, **options):
    with FileSystems.open(path, **options) as file:
        return file.read()


def paths(*patterns):
    return [[file.path for file in found.metadata_list] for found in FileSystems.match(patterns)]


def test_a_file_has_what_was_written_to_it(root):
    put(f"{root}/deep/a.txt")
    assert get(f"{root}/deep/a.txt") == b"abc"


def test_what_matches_has_its_size_and_time(root):
    put(f"{root}/a.txt")
    [found] = FileSystems.match([f"{root}/a.txt"])[0].metadata_list
    assert (found.path, found.size_in_bytes) == (f"{root}/a.txt", 3)
    assert found.last_updated_in_seconds == FileSystems.last_updated(f"{root}/a.txt") > 1e9


TREE = ["a.txt", "b.txt", "b.csv", ".hidden.txt", "sub/c.txt", "sub/deep/d.txt", "x[1].txt"]
PATTERNS = {
    "*.txt": [".hidden.txt", "a.txt", "b.txt", "x[1].txt"],
    "**.txt": [".hidden.txt", "a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", "x[1].txt"],
    "**/*.txt": [".hidden.txt", "a.txt", "b.txt", "sub/c.txt", "sub/deep/d.txt", "x[1].txt"],
    "*/*.txt": ["sub/c.txt"],
    "sub/": ["sub/c.txt"],
    "sub/**": ["sub/c.txt", "sub/deep/d.txt"],
    "?.txt": ["a.txt", "b.txt"],
    "[ab].*": ["a.txt", "b.csv", "b.txt"],
    "[!a].txt": ["b.txt"],
    "s*/d*/*": ["sub/deep/d.txt"],
    "none*": [],
    "none": [],
}


@pytest.fixture
def tree(root):
    for name in TREE:
        put(f"{root}/{name}")
    return root


def test_patterns_match_within_directories_and_below(tree):
    found = {
        pattern: [path.removeprefix(f"{tree}/") for path in paths(f"{tree}/{pattern}")[0]]
        for pattern in PATTERNS
    }
    # `**/` needs a slash, which the path of the directory has already
    expected = {**PATTERNS, "**/*.txt": ["sub/c.txt", "sub/deep/d.txt"]}
    assert found == expected


def test_patterns_match_as_beam_matches_them(tmp_path):
    beam = pytest.importorskip("apache_beam.io.filesystems")
    for name in TREE:
        put(f"{tmp_path}/{name}")
    for pattern in PATTERNS:
        [theirs] = beam.FileSystems.match([f"{tmp_path}/{pattern}"])
        assert paths(f"{tmp_path}/{pattern}") == [sorted(f.path for f in theirs.metadata_list)]


def test_a_relative_pattern_gives_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put("a.txt")
    put("sub/b.txt")
    assert paths("*.txt", "*/*.txt", "./*.txt") == [["a.txt"], ["sub/b.txt"], ["./a.txt"]]


def test_matches_can_be_limited(tree):
    found = FileSystems.match([f"{tree}/*.txt", f"{tree}/*.csv"], [2, None])
    assert [len(result.metadata_list) for result in found] == [2, 1]


def test_files_and_trees_are_copied_renamed_and_deleted(root):
    put(f"{root}/a.txt", b"a")
    put(f"{root}/tree/b.txt", b"b")
    FileSystems.copy([f"{root}/a.txt", f"{root}/a.txt"], [f"{root}/c.txt", f"{root}/d.txt"])
    FileSystems.rename([f"{root}/a.txt"], [f"{root}/e.txt"])
    FileSystems.copy([f"{root}/tree"], [f"{root}/other"])
    FileSystems.delete([f"{root}/tree", f"{root}/d*"])
    assert paths(f"{root}/**") == [[f"{root}/{name}" for name in ("c.txt", "e.txt", "other/b.txt")]]
    assert (get(f"{root}/c.txt"), get(f"{root}/e.txt")) == (b"a", b"a")


def test_a_copy_replaces_its_destination(root):
    put(f"{root}/a.txt", b"new")
    put(f"{root}/b.txt", b"old and longer")
    FileSystems.copy([f"{root}/a.txt"], [f"{root}/b.txt"])
    assert get(f"{root}/b.txt") == b"new"


def test_a_directory_exists_once_it_is_made(root):
    assert not FileSystems.exists(root)
    FileSystems.mkdirs(f"{root}/a/b")
    assert FileSystems.exists(f"{root}/a/b")
    with pytest.raises(BeamIOError, match="Mkdirs operation failed"):
        FileSystems.mkdirs(f"{root}/a/b")


def test_paths_are_joined_and_split():
    assert FileSystems.join("memory://a", "b", "c.txt") == "memory://a/b/c.txt"
    assert FileSystems.join("/a", "b", "c.txt") == "/a/b/c.txt"
    assert FileSystems.split("memory://a/b/c.txt") == ("memory://a/b", "c.txt")
    assert FileSystems.split("/a/b/c.txt") == ("/a/b", "c.txt")
    assert FileSystems.get_scheme("memory://a") == "memory"
    assert FileSystems.get_scheme("/a") is None


def test_the_last_operations_are_done_if_the_first_fails(root):
    put(f"{root}/a.txt")
    with pytest.raises(BeamIOError, match=r"Delete operation failed.*none.*nothing matches"):
        FileSystems.delete([f"{root}/none", f"{root}/a.txt"])
    assert not FileSystems.exists(f"{root}/a.txt")


def test_a_missing_source_is_named(root):
    put(f"{root}/b.txt")
    for operation in (FileSystems.copy, FileSystems.rename):
        with pytest.raises(BeamIOError, match=r"none\.txt"):
            operation([f"{root}/none.txt"], [f"{root}/b.txt"])
    assert get(f"{root}/b.txt") == b"abc"


def test_a_string_is_not_a_list_of_paths():
    with pytest.raises(hr.PipelineError, match="takes a list"):
        FileSystems.delete("a.txt")


def test_each_source_has_a_destination():
    with pytest.raises(hr.PipelineError, match="1 sources and 0 destinations"):
        FileSystems.copy(["a"], [])


# Compression


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_depends_on_the_extension(root, compression):
    path = f"{root}/a{COMPRESSIONS[compression]}"
    content = bytes(range(256)) * 2000
    put(path, content)
    raw = get(path, compression_type=CompressionTypes.UNCOMPRESSED)
    assert get(path) == content
    assert (raw == content) == (compression == "uncompressed")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_by_name_comes_before_the_extension(tmp_path, compression):
    put(f"{tmp_path}/a.gz", compression_type=compression)
    assert get(f"{tmp_path}/a.gz", compression_type=compression) == b"abc"


@pytest.mark.parametrize("compression", [name for name in COMPRESSIONS if name != "uncompressed"])
def test_beam_reads_what_is_compressed(tmp_path, compression):
    beam = pytest.importorskip("apache_beam.io.filesystems")
    path = f"{tmp_path}/a{COMPRESSIONS[compression]}"
    put(path, b"one\ntwo\n")
    with beam.FileSystems.open(path) as file:
        assert file.read(100) == b"one\ntwo\n"


@pytest.mark.parametrize("compression", [name for name in COMPRESSIONS if name != "uncompressed"])
def test_consecutive_compressed_streams_are_one_content(tmp_path, compression):
    path = f"{tmp_path}/a{COMPRESSIONS[compression]}"
    with open(path, "wb") as whole:
        for part in (b"one", b"two"):
            put(f"{path}.part", part, compression_type=compression)
            whole.write(get(f"{path}.part", compression_type=CompressionTypes.UNCOMPRESSED))
    assert get(path) == b"onetwo"


@pytest.mark.parametrize("compression", [name for name in COMPRESSIONS if name != "uncompressed"])
@pytest.mark.parametrize("damage", ["truncated", "another format"])
def test_a_damaged_file_is_named(root, compression, damage):
    path = f"{root}/a{COMPRESSIONS[compression]}"
    put(path, uuid.uuid4().bytes * 20)
    raw = get(path, compression_type=CompressionTypes.UNCOMPRESSED)
    damaged = raw[:-6] if damage == "truncated" else b"this is text, and no compressed data"
    put(path, damaged, compression_type=CompressionTypes.UNCOMPRESSED)
    with pytest.raises(hr.FileError, match="cannot be read") as found:
        get(path)
    assert found.value.where == path


@pytest.mark.parametrize(
    ("module", "extension"), [("zstandard", ".zst"), ("bz2", ".bz2"), ("lzma", ".xz")]
)
def test_a_missing_compression_library_is_named(tmp_path, monkeypatch, module, extension):
    (tmp_path / f"a{extension}").write_bytes(b"abc")
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(hr.PipelineError, match=f"need the module {module}"):
        get(f"{tmp_path}/a{extension}")


def test_an_unknown_compression_type_is_refused(tmp_path):
    with pytest.raises(hr.PipelineError, match="unknown compression type 'rar'"):
        get(f"{tmp_path}/a.txt", compression_type="rar")


def test_the_same_rows_give_the_same_compressed_bytes(tmp_path):
    put(f"{tmp_path}/a.gz")
    put(f"{tmp_path}/b.gz")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.gz").read_bytes()) == b"abc"


def test_a_compressed_file_is_closed_with_its_compressor(tmp_path):
    under = open(tmp_path / "a.gz", "wb")  # noqa: SIM115  # closing it is what is tested
    compressed(under, "gzip").close()
    assert under.closed


# Schemes


def test_a_url_without_fsspec_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "fsspec", None)
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(hr.PipelineError, match="needs fsspec") as found:
        FileSystems.exists("memory://a")
    assert "headrace[fsspec]" in found.value.remedy


def test_a_scheme_without_its_library_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(hr.PipelineError, match="a library for the scheme 'gs'") as found:
        FileSystems.exists("gs://bucket/a")
    assert "gcsfs" in found.value.remedy


def test_an_unknown_scheme_is_named():
    with pytest.raises(hr.PipelineError, match="no file system is known for the URL 'nope://a'"):
        FileSystems.exists("nope://a")


def test_metadata_are_values():
    assert FileMetadata("a", 1, 2.0) == FileMetadata("a", 1, 2.0) != FileMetadata("a", 1)
    assert repr(FileMetadata("a", 1, 2.0)) == "FileMetadata('a', 1, 2.0)"


def test_a_checksum_changes_with_the_content(root):
    checksums = []
    for content in (b"one", b"three"):
        with FileSystems.create(f"{root}/a.txt") as file:
            file.write(content)
        checksums.append(FileSystems.checksum(f"{root}/a.txt"))
    assert len(set(checksums)) == 2


def test_errors_tell_the_paths():
    pair = ("nowhere/a.txt", "nowhere/b.txt")
    with pytest.raises(FileOperationError, match=r"^Copy operation failed: 'nowhere/a") as error:
        FileSystems.copy([pair[0]], [pair[1]])
    assert list(error.value.exception_details) == [pair]
    assert isinstance(error.value, OSError)
    nothing: list[Any] = [None]
    with pytest.raises(FileOperationError, match=r"^Unable to get the Filesystem") as error:
        FileSystems.match(nothing)
    assert list(error.value.exception_details) == nothing


def test_a_path_has_a_file_system():
    assert isinstance(FileSystems.get_filesystem("a.txt"), LocalFileSystem)
    assert FileSystems.get_filesystem("memory://a").exists("memory://none") is False
    with pytest.raises(ValueError, match="no file system is known"):
        FileSystems.get_filesystem("error://a")
