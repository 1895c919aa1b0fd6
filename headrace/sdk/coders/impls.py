"""Implementations of coders: they encode into a stream, and decode from it, for coders made of parts.

A program that defines a class of records in Beam's way writes one of these for the class, from the
implementations of the fields, and a :class:`headrace.sdk.coders.fast_coder.FastCoder` that returns it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.errors import PipelineError
from headrace.sdk.coders.byte_streams import InputStream, OutputStream
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.window import IntervalWindow

_SIGN: Final = 1 << 63
"""Added to times, so that their encodings have their order."""


class CoderImpl:
    """Base of all implementations; a subclass defines a pair of methods, and has the other.

    >>> VarIntCoderImpl().decode_nested(VarIntCoderImpl().encode_nested(300))
    300
    """

    def encode_to_stream(self, value: Any, stream: OutputStream, nested: bool) -> None:
        """Write the encoding of a value; if it is nested, so that something can follow it."""
        raise NotImplementedError

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        """Read a value."""
        raise NotImplementedError

    def encode(self, value: Any) -> bytes:
        """Return the encoding of a value."""
        raise NotImplementedError

    def decode(self, encoded: bytes) -> Any:
        """Return the value of an encoding."""
        raise NotImplementedError

    def encode_nested(self, value: object) -> bytes:
        """Return the encoding of a value so that something can follow it."""
        stream = OutputStream()
        self.encode_to_stream(value, stream, True)
        return stream.get()

    def decode_nested(self, encoded: bytes) -> Any:
        """Return the value of a nested encoding."""
        return self.decode_from_stream(InputStream(encoded), True)


class StreamCoderImpl(CoderImpl):
    r"""An implementation by streams: define ``encode_to_stream`` and ``decode_from_stream``.

    >>> class Pair(StreamCoderImpl):
    ...     def encode_to_stream(self, value, stream, nested):
    ...         for number in value:
    ...             VarIntCoderImpl().encode_to_stream(number, stream, True)
    ...
    ...     def decode_from_stream(self, stream, nested):
    ...         return tuple(VarIntCoderImpl().decode_from_stream(stream, True) for _ in range(2))
    >>> Pair().encode((1, 2))
    b'\x01\x02'
    """

    def encode(self, value: Any) -> bytes:
        stream = OutputStream()
        self.encode_to_stream(value, stream, False)
        return stream.get()

    def decode(self, encoded: bytes) -> Any:
        return self.decode_from_stream(InputStream(encoded), False)


class SimpleCoderImpl(CoderImpl):
    r"""An implementation by values: define ``encode`` and ``decode``.

    >>> BytesCoderImpl().encode_nested(b"ab")
    b'\x02ab'
    """

    def encode_to_stream(self, value: object, stream: OutputStream, nested: bool) -> None:
        stream.write(self.encode(value), nested)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        return self.decode(stream.read_all(nested))


class CallbackCoderImpl(SimpleCoderImpl):
    """An implementation by two functions.

    >>> CallbackCoderImpl(str.encode, bytes.decode).decode(b"ab")
    'ab'
    """

    def __init__(
        self, encoder: Callable[[Any], bytes], decoder: Callable[[bytes], Any], *_: Any
    ) -> None:
        self._encoder, self._decoder = encoder, decoder

    def encode(self, value: Any) -> bytes:
        return self._encoder(value)

    def decode(self, encoded: bytes) -> Any:
        return self._decoder(encoded)


class BytesCoderImpl(SimpleCoderImpl):
    """Bytes as they are.

    >>> BytesCoderImpl().encode(b"ab")
    b'ab'
    """

    def encode(self, value: Any) -> bytes:
        return bytes(value)

    def decode(self, encoded: bytes) -> Any:
        return encoded


class BooleanCoderImpl(StreamCoderImpl):
    """A bool as one byte.

    >>> BooleanCoderImpl().decode(BooleanCoderImpl().encode(True))
    True
    """

    def encode_to_stream(self, value: object, stream: OutputStream, nested: bool) -> None:
        stream.write_byte(1 if value else 0)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        byte = stream.read_byte()
        if byte > 1:
            raise PipelineError(
                f"the byte {byte} encodes neither True nor False",
                remedy="decode with the coder that encoded the value",
            )
        return byte == 1


class FloatCoderImpl(StreamCoderImpl):
    """A float as eight bytes.

    >>> FloatCoderImpl().decode(FloatCoderImpl().encode(0.5))
    0.5
    """

    def encode_to_stream(self, value: Any, stream: OutputStream, nested: bool) -> None:
        stream.write_bigendian_double(value)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        return stream.read_bigendian_double()


class VarIntCoderImpl(StreamCoderImpl):
    r"""An int of at most 64 bits; small ones need one byte.

    >>> VarIntCoderImpl().encode(300)
    b'\xac\x02'
    """

    def encode_to_stream(self, value: Any, stream: OutputStream, nested: bool) -> None:
        stream.write_var_int64(value)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        return stream.read_var_int64()


class TimestampCoderImpl(StreamCoderImpl):
    """A timestamp as eight bytes, in milliseconds; microseconds are lost, as in Beam.

    >>> TimestampCoderImpl().decode(TimestampCoderImpl().encode(Timestamp(1.5)))
    Timestamp(1.500000)
    """

    def encode_to_stream(self, value: Any, stream: OutputStream, nested: bool) -> None:
        stream.write_bigendian_uint64(value.micros // 1000 + _SIGN)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        return Timestamp(micros=(stream.read_bigendian_uint64() - _SIGN) * 1000)


class IntervalWindowCoderImpl(StreamCoderImpl):
    """A window as its last millisecond and its length in milliseconds; microseconds are lost, as in Beam.

    >>> IntervalWindowCoderImpl().decode(IntervalWindowCoderImpl().encode(IntervalWindow(0, 60)))
    [0.0, 60.0)
    """

    def encode_to_stream(self, value: Any, stream: OutputStream, nested: bool) -> None:
        start, end = value.start.micros // 1000, value.end.micros // 1000
        stream.write_bigendian_uint64(end + _SIGN)
        stream.write_var_int64(end - start)

    def decode_from_stream(self, stream: InputStream, nested: bool) -> Any:
        end = stream.read_bigendian_uint64() - _SIGN
        start = end - stream.read_var_int64()
        return IntervalWindow(Timestamp(micros=start * 1000), Timestamp(micros=end * 1000))
