"""Readers and writers of text with a coder, and ReadFromTextWithFilename; on each runner."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

import headrace as hr
from headrace.coders import BytesCoder, StrUtf8Coder, ToBytesCoder
from headrace.errors import ElementError, PipelineError
from headrace.testing import TestPipeline, assert_that, equal_to
from tests.unit.sdk.io.files import Applied, pipeline, read, values, visible, write

LINES = b'{"n": 1}\r\n{"n": 2}\n{"n": 3}'


class JsonCoder:
    """A coder as in Beam's examples: it is of no class of coders."""

    def encode(self, value):
        return json.dumps(value).encode()

    def decode(self, encoded):
        assert isinstance(encoded, bytes)
        return json.loads(encoded)


class DecimalCoder(hr.coders.Coder):
    def encode(self, value):
        return str(value).encode()

    def decode(self, encoded):
        return Decimal(encoded.decode())

    def to_type_hint(self):
        return Decimal


def without_directory(path, line):
    return Path(path).name, line


def time_of(element, timestamp=hr.DoFn.TimestampParam):
    return timestamp


@pytest.fixture(params=["batch", "streaming"])
def mode(request):
    return request.param


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "in.json"
    path.write_bytes(LINES)
    return path


def test_a_coder_decodes_each_line_and_encodes_each_element(runner, mode, path, tmp_path):
    """As Beam's examples coders.py and estimate_pi.py do."""
    with pipeline(runner, mode) as p:
        games = p | hr.io.ReadFromText(path, coder=JsonCoder())
        doubled = games | hr.Map(lambda game: {"n": 2 * game["n"]})
        _ = doubled | hr.io.WriteToText(tmp_path / "out", ".txt", coder=JsonCoder())
    found = "".join(visible(tmp_path)[name] for name in visible(tmp_path) if "out" in name)
    assert sorted(found.splitlines()) == ['{"n": 2}', '{"n": 4}', '{"n": 6}']


def test_each_reader_of_text_has_a_coder(runner, mode, path):
    games = [{"n": 1}, {"n": 2}, {"n": 3}]
    transforms = (
        hr.io.ReadFromText(path, coder=JsonCoder()),
        Applied(hr.Create([str(path)]), hr.io.ReadAllFromText(coder=JsonCoder())),
    )
    for transform in transforms:
        assert sorted(values(runner, transform, mode), key=str) == games


def test_a_line_has_the_name_of_its_file(runner, mode, path):
    pairs = [("in.json", {"n": n}) for n in (1, 2, 3)]
    with_names = hr.io.ReadFromTextWithFilename(path, coder=JsonCoder())
    also = hr.io.ReadAllFromText(coder=JsonCoder(), with_filename=True)
    for transform in (with_names, Applied(hr.Create([str(path)]), also)):
        found = values(runner, Applied(transform, hr.MapTuple(without_directory)), mode)
        assert sorted(found, key=str) == pairs


def test_names_of_files_have_event_times_and_dead_letters(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("head\n1\nx\n3\n")
    timed = hr.io.ReadFromTextWithFilename(
        path, coder=DecimalCoder(), timestamp=lambda pair: float(pair[1]), skip_header_lines=1
    ).with_exception_handling()
    with TestPipeline() as p:
        good, bad = p | timed
        assert_that(
            good, equal_to([(str(path), Decimal(1)), (str(path), Decimal(3))]), label="good"
        )
        times = good | hr.Map(time_of)
        assert_that(times, equal_to([1, 3]), label="times")
        assert_that(bad | hr.Map(lambda letter: letter[0]), equal_to(["x"]), label="bad")


@pytest.mark.parametrize("content", [b"a\xff\n\x80", b"\r\n\na\r\n", b"\n\n", b"a\rb\n", b""])
@pytest.mark.parametrize("strip", [True, False])
def test_a_coder_gets_the_bytes_of_the_file(tmp_path, content, strip):
    path = tmp_path / "bytes"
    path.write_bytes(content)
    found = values(
        "local", hr.io.ReadFromText(path, coder=BytesCoder(), strip_trailing_newlines=strip)
    )
    lines = content.splitlines(keepends=True) if b"\rb" not in content else [content]
    if strip:
        lines = [line.removesuffix(b"\n").removesuffix(b"\r") for line in lines]
    assert found == lines


def test_the_default_coders_are_those_of_beam(tmp_path, path):
    assert (
        values("local", hr.io.ReadFromText(path, coder=StrUtf8Coder()))
        == LINES.decode().splitlines()
    )
    elements = ["a", 1, b"\xff"]
    for coder in (None, ToBytesCoder()):
        write("local", elements, hr.io.WriteToText(tmp_path / "out", coder=coder))
        assert (tmp_path / "out-00000-of-00001").read_bytes() == b"a\n1\n\xff\n"


def test_header_and_footer_are_text_and_bytes_are_joined(tmp_path):
    to_text = hr.io.WriteToText(
        tmp_path / "out", coder=JsonCoder(), header="[", footer="]", num_shards=2
    )
    write("local", [1, 2], to_text)
    found = [(tmp_path / f"out-0000{n}-of-00002").read_text().split() for n in range(2)]
    assert [lines[0] + lines[-1] for lines in found] == ["[]", "[]"]
    assert sorted(line for lines in found for line in lines[1:-1]) == ["1", "2"]


def test_a_watched_file_is_decoded(tmp_path, path):
    found = read(
        "local",
        "streaming",
        hr.io.ReadFromText(path, coder=JsonCoder(), timestamp=lambda g: g["n"]),
    )
    assert found == [({"n": n}, float(n)) for n in (1, 2, 3)]


def test_types_are_those_of_the_coder(path):
    path.write_text("1.5")
    p = hr.Pipeline(runner="local")
    assert (p | hr.io.ReadFromText(path, coder=DecimalCoder())).element_type is Decimal
    assert (p | "Names" >> hr.io.ReadFromTextWithFilename(path)).element_type == tuple[str, str]
    p.run()


# Bad input


def test_a_line_that_cannot_be_decoded_is_shown_with_the_label(path):
    path.write_text('{"n": 1}\n{"n": \n')
    with pytest.raises(json.JSONDecodeError) as found, pipeline("local") as p:
        _ = p | "Read games" >> hr.io.ReadFromText(path, coder=JsonCoder())
    notes = " ".join(found.value.__notes__)
    assert "when JsonCoder decodes the line '{\"n\": '" in notes
    assert "in Read games" in notes


@pytest.mark.mode("batch")
def test_an_element_that_cannot_be_encoded_is_shown_with_the_label(runner, tmp_path):
    to_text = "Write games" >> hr.io.WriteToText(tmp_path / "out", coder=JsonCoder())
    with pytest.raises(TypeError) as found:
        write(runner, [1, {1, 2}], to_text)
    notes = " ".join(found.value.__notes__)
    assert "when JsonCoder encodes the element {1, 2}" in notes
    assert "in Write games" in notes


def test_an_encoding_that_is_not_bytes_is_refused(tmp_path):
    class Text:
        def encode(self, value):
            return str(value)

    with pytest.raises(ElementError, match="Text encodes the element 1 as '1', not as bytes"):
        write("local", [1], hr.io.WriteToText(tmp_path / "out", coder=Text()))


@pytest.mark.parametrize("coder", [JsonCoder, json, 3])
def test_what_is_no_coder_is_refused(tmp_path, path, coder):
    with pytest.raises(PipelineError, match="has no method decode"):
        hr.io.ReadFromText(path, coder=coder)
    with pytest.raises(PipelineError, match="has no method encode"):
        hr.io.WriteToText(tmp_path / "out", coder=coder)
