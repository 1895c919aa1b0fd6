"""TFRecord: the frames around records, with checksums, as TensorFlow writes them.

A record is its length (8 bytes, little-endian), the masked CRC-32C of these bytes (4 bytes), the data, and
the masked CRC-32C of the data (4 bytes).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from struct import Struct
from typing import IO, Any, Final

from headrace.errors import require_extra

_HEAD: Final = Struct("<QI")
_LENGTH: Final = Struct("<Q")
_CHECKSUM: Final = Struct("<I")
_MASK: Final = 0xA282EAD8

HEAD_BYTES: Final = _HEAD.size
"""Number of bytes before the data of a record."""

FOOT_BYTES: Final = _CHECKSUM.size
"""Number of bytes after the data of a record."""


def crc32c() -> Callable[[bytes], int]:
    """Return the function for CRC-32C of google-crc32c, an extra.

    Raises:
        PipelineError: google-crc32c is not installed.

    >>> hex(crc32c()(b"123456789"))
    '0xe3069283'
    """
    use = "the checksums of TFRecord need google-crc32c"
    return require_extra("google_crc32c", "tfrecord", use).value  # type: ignore[no-any-return]


def masked(checksum: int) -> int:
    """Return the masked form of a checksum, which TFRecord stores.

    >>> hex(masked(crc32c()(b"foo")))
    '0xfebe8a61'
    """
    return ((checksum >> 15 | checksum << 17) + _MASK) & 0xFFFFFFFF


def framed(data: bytes, crc: Callable[[bytes], int]) -> bytes:
    """Return a record with its frame.

    >>> len(framed(b"foo", crc32c()))
    19
    """
    length = _LENGTH.pack(len(data))
    return b"".join(
        (length, _CHECKSUM.pack(masked(crc(length))), data, _CHECKSUM.pack(masked(crc(data))))
    )


def read_records(file: IO[bytes], crc: Callable[[bytes], int], start: int = 0) -> Iterator[bytes]:
    """Yield the data of the records of a file, after checking the checksums.

    Args:
        file: the file.
        crc: the function for CRC-32C.
        start: number of bytes that precede, for errors.

    Raises:
        OSError: the file is truncated, is not a TFRecord file, or a checksum is wrong.

    >>> from io import BytesIO
    >>> list(read_records(BytesIO(framed(b"foo", crc32c())), crc32c()))
    [b'foo']
    """
    at = start
    while head := file.read(HEAD_BYTES):
        length = _length(head, crc, at)
        data = file.read(length)
        foot = file.read(FOOT_BYTES)
        if len(foot) < FOOT_BYTES:
            raise OSError(f"the record at byte {at} is truncated")
        if _CHECKSUM.unpack(foot)[0] != masked(crc(data)):
            raise OSError(f"the checksum of the data of the record at byte {at} is wrong")
        yield data
        at += HEAD_BYTES + length + FOOT_BYTES


def ends_of_records(file: IO[bytes], crc: Callable[[bytes], int], start: int) -> Iterator[int]:
    """Yield the byte at the end of each record from a byte on, without reading the data.

    Raises:
        OSError: the file is truncated or is not a TFRecord file.
    """
    at = start
    file.seek(at)
    while head := file.read(HEAD_BYTES):
        at += HEAD_BYTES + _length(head, crc, at) + FOOT_BYTES
        file.seek(at)
        yield at


def _length(head: bytes, crc: Callable[[bytes], int], at: int) -> int:
    """Return the length of the data of a record."""
    if len(head) < HEAD_BYTES:
        raise OSError(f"Not a valid TFRecord. Fewer than 12 bytes: {head.hex()} at byte {at}")
    length, checksum = _HEAD.unpack(head)
    if checksum != masked(crc(head[: _LENGTH.size])):
        raise OSError(
            f"the checksum of the length of the record at byte {at} is wrong, or this is not a TFRecord file"
        )
    return int(length)


def decoded(coder: Any, data: list[bytes]) -> list[Any]:
    """Return records decoded by a coder; as they are without one.

    >>> decoded(None, [b"foo"])
    [b'foo']
    """
    return data if coder is None else list(map(coder.decode, data))
