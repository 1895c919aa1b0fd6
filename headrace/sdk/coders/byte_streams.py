"""Streams of bytes that the implementations of coders write to and read from, with Beam's methods."""

from __future__ import annotations

import struct

from headrace.errors import PipelineError


class OutputStream:
    r"""Bytes that grow.

    >>> stream = OutputStream()
    >>> stream.write_var_int64(300)
    >>> stream.write(b"ab", nested=True)
    >>> stream.get()
    b'\xac\x02\x02ab'
    """

    def __init__(self) -> None:
        self._data = bytearray()

    def write(self, b: bytes, nested: bool = False) -> None:
        """Append bytes, with their length before them if they are nested."""
        if nested:
            self.write_var_int64(len(b))
        self._data += b

    def write_byte(self, val: int) -> None:
        """Append one byte."""
        self._data.append(val)

    def write_var_int64(self, v: int) -> None:
        """Append an int of at most 64 bits with seven bits in each byte, the lowest first.

        Raises:
            PipelineError: the int has more bits.
        """
        if not -(1 << 63) <= v < 1 << 63:
            raise PipelineError(
                f"{v} is not an int of at most 64 bits", remedy="use a coder for larger ints"
            )
        rest = v & ((1 << 64) - 1)
        while rest >= 0x80:
            self._data.append(rest & 0x7F | 0x80)
            rest >>= 7
        self._data.append(rest)

    def write_bigendian_int64(self, v: int) -> None:
        """Append a signed int as eight bytes."""
        self._data += struct.pack(">q", v)

    def write_bigendian_uint64(self, v: int) -> None:
        """Append an unsigned int as eight bytes."""
        self._data += struct.pack(">Q", v)

    def write_bigendian_int32(self, v: int) -> None:
        """Append a signed int as four bytes."""
        self._data += struct.pack(">i", v)

    def write_bigendian_double(self, v: float) -> None:
        """Append a float as eight bytes."""
        self._data += struct.pack(">d", v)

    def size(self) -> int:
        """Return the number of bytes."""
        return len(self._data)

    def get(self) -> bytes:
        """Return the bytes."""
        return bytes(self._data)


class InputStream:
    r"""Bytes that are read from the front.

    >>> stream = InputStream(b"\xac\x02\x02ab")
    >>> stream.read_var_int64(), stream.read_all(nested=True), stream.size()
    (300, b'ab', 0)
    """

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def size(self) -> int:
        """Return the number of bytes that are left."""
        return len(self._data) - self._at

    def read(self, size: int) -> bytes:
        """Return the next bytes.

        Raises:
            PipelineError: there are fewer.
        """
        if self.size() < size:
            raise PipelineError(
                f"an encoding ends after {len(self._data)} bytes, {size - self.size()} too early",
                remedy="decode with the coder that encoded the value",
            )
        self._at += size
        return self._data[self._at - size : self._at]

    def read_all(self, nested: bool) -> bytes:
        """Return all bytes that are left, or as many as the length before them says if they are nested."""
        return self.read(self.read_var_int64() if nested else self.size())

    def read_byte(self) -> int:
        """Return the next byte."""
        return self.read(1)[0]

    def read_var_int64(self) -> int:
        """Return the int that :meth:`OutputStream.write_var_int64` wrote."""
        number = shift = 0
        while True:
            byte = self.read_byte()
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number - (1 << 64) if number >= 1 << 63 else number

    def read_bigendian_int64(self) -> int:
        """Return a signed int of eight bytes."""
        return int(struct.unpack(">q", self.read(8))[0])

    def read_bigendian_uint64(self) -> int:
        """Return an unsigned int of eight bytes."""
        return int(struct.unpack(">Q", self.read(8))[0])

    def read_bigendian_int32(self) -> int:
        """Return a signed int of four bytes."""
        return int(struct.unpack(">i", self.read(4))[0])

    def read_bigendian_double(self) -> float:
        """Return a float of eight bytes."""
        return float(struct.unpack(">d", self.read(8))[0])
