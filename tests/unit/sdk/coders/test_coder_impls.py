"""Implementations of coders over streams: their bytes are Beam's, and damaged bytes are refused."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from headrace.coders import FastCoder, StrUtf8Coder, VarIntCoder, coder_impl
from headrace.errors import PipelineError
from headrace.windowing import IntervalWindow, Timestamp

VALUES: list[tuple[str, list[Any]]] = [
    ("VarIntCoderImpl", [0, 127, 128, -1, 2**63 - 1, -(2**63)]),
    ("BooleanCoderImpl", [True, False]),
    ("FloatCoderImpl", [0.5, -3.25, float("inf")]),
    ("BytesCoderImpl", [b"", b"ab"]),
]
TIMES = [0, 1.5, -3, -0.001, 1_528_098_831.026]


@pytest.mark.parametrize(("name", "values"), VALUES)
def test_bytes_are_those_of_beam(name: str, values: list[Any]) -> None:
    impls = pytest.importorskip("apache_beam.coders.coder_impl")
    ours, theirs = getattr(coder_impl, name)(), getattr(impls, name)()
    for value in values:
        assert ours.encode(value) == theirs.encode(value)
        assert ours.encode_nested(value) == theirs.encode_nested(value)


def test_times_and_windows_have_the_bytes_of_beam() -> None:
    pytest.importorskip("apache_beam")
    from apache_beam.coders import coder_impl as impls
    from apache_beam.transforms.window import IntervalWindow as BeamWindow
    from apache_beam.utils.timestamp import Timestamp as BeamTimestamp

    for time in TIMES:
        ours = coder_impl.TimestampCoderImpl().encode(Timestamp(time))
        assert ours == impls.TimestampCoderImpl().encode(BeamTimestamp(time))
        ours = coder_impl.IntervalWindowCoderImpl().encode(IntervalWindow(time, time + 60))
        assert ours == impls.IntervalWindowCoderImpl().encode(BeamWindow(time, time + 60))


@pytest.mark.parametrize(("name", "values"), VALUES)
def test_values_come_back(name: str, values: list[Any]) -> None:
    impl = getattr(coder_impl, name)()
    for value in values:
        assert impl.decode(impl.encode(value)) == value
        assert impl.decode_nested(impl.encode_nested(value)) == value


def test_times_and_windows_come_back() -> None:
    for time in TIMES:
        impl, window = coder_impl.TimestampCoderImpl(), coder_impl.IntervalWindowCoderImpl()
        assert impl.decode(impl.encode(Timestamp(time))) == Timestamp(time)
        assert window.decode(window.encode(IntervalWindow(time, time + 1))) == (
            IntervalWindow(time, time + 1)
        )


class GradedImpl(coder_impl.StreamCoderImpl):
    def encode_to_stream(self, value: Any, stream: Any, nested: bool) -> None:
        StrUtf8Coder().get_impl().encode_to_stream(value[0], stream, True)
        VarIntCoder().get_impl().encode_to_stream(value[1], stream, True)

    def decode_from_stream(self, stream: Any, nested: bool) -> Any:
        name = StrUtf8Coder().get_impl().decode_from_stream(stream, True)
        return name, VarIntCoder().get_impl().decode_from_stream(stream, True)


class Graded(FastCoder):
    def _create_impl(self) -> coder_impl.CoderImpl:
        return GradedImpl()


def test_a_coder_of_parts() -> None:
    coder = Graded()
    assert coder.decode(coder.encode(("flour", 550))) == ("flour", 550)
    assert pickle.loads(pickle.dumps(coder)) == coder == Graded()


@pytest.mark.parametrize("length", [0, 3, 6])
def test_an_encoding_that_is_cut_off_is_refused(length: int) -> None:
    encoded = Graded().encode(("flour", 550))
    with pytest.raises(PipelineError, match="too early"):
        Graded().decode(encoded[:length])


def test_what_cannot_be_encoded_is_refused() -> None:
    with pytest.raises(PipelineError, match="64 bits"):
        coder_impl.VarIntCoderImpl().encode(2**63)
    with pytest.raises(PipelineError, match="neither True nor False"):
        coder_impl.BooleanCoderImpl().decode(b"\x02")
