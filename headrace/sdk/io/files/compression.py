"""Compression of files: by extension or by name, and a stream of bytes over a compressed file.

A library that is missing is named when a file needs it. A stream that ends too early is an error with every
type of compression.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from importlib import import_module
from io import BufferedReader, BufferedWriter, BytesIO, RawIOBase
from typing import IO, Any, Final

from headrace.errors import PipelineError, require_extra, shorten
from headrace.sdk.io.files.read_errors import reading

_CHUNK: Final = 1 << 17
"""Number of bytes that are read at once."""


class CompressionTypes:
    """The types of compression (Beam's CompressionTypes); strings.

    Attributes:
        AUTO: by the extension of the file.
        BZIP2: bzip2, for files that end in .bz2.
        DEFLATE: zlib, for files that end in .deflate.
        ZSTD: Zstandard, for files that end in .zst or .zstd; needs zstandard.
        GZIP: gzip, for files that end in .gz.
        LZMA: xz, for files that end in .xz or .lzma.
        UNCOMPRESSED: none, for all other files.

    >>> from headrace.io.filesystem import CompressionTypes
    >>> CompressionTypes.detect_compression_type("a.txt.gz")
    'gzip'
    """

    AUTO: Final = "auto"
    BZIP2: Final = "bzip2"
    DEFLATE: Final = "deflate"
    ZSTD: Final = "zstd"
    GZIP: Final = "gzip"
    LZMA: Final = "lzma"
    UNCOMPRESSED: Final = "uncompressed"

    @classmethod
    def is_valid_compression_type(cls, compression_type: object) -> bool:
        """Return whether a value is one of the types.

        Args:
            compression_type: the value.
        """
        return compression_type in _TYPES

    @classmethod
    def mime_type(cls, compression_type: str, default: str = "application/octet-stream") -> str:
        """Return the MIME type of compressed files.

        Args:
            compression_type: their type of compression.
            default: the result for a type without one.
        """
        return _MIME_TYPES.get(compression_type, default)

    @classmethod
    def detect_compression_type(cls, file_path: str) -> str:
        """Return the type that the extension of a file stands for.

        Args:
            file_path: the path or URL of the file.
        """
        types = (kind for end, kind in _BY_EXTENSION.items() if file_path.endswith(end))
        return next(types, cls.UNCOMPRESSED)


_BY_EXTENSION: Final = {
    ".bz2": CompressionTypes.BZIP2,
    ".deflate": CompressionTypes.DEFLATE,
    ".gz": CompressionTypes.GZIP,
    ".zst": CompressionTypes.ZSTD,
    ".zstd": CompressionTypes.ZSTD,
    ".xz": CompressionTypes.LZMA,
    ".lzma": CompressionTypes.LZMA,
}

_MIME_TYPES: Final[dict[str, str]] = {
    CompressionTypes.BZIP2: "application/x-bz2",
    CompressionTypes.DEFLATE: "application/x-deflate",
    CompressionTypes.GZIP: "application/x-gzip",
    CompressionTypes.ZSTD: "application/zstd",
    CompressionTypes.LZMA: "application/lzma",
}

_TYPES: Final = ("auto", "uncompressed", *dict.fromkeys(_BY_EXTENSION.values()))


def compression_of(compression_type: str) -> str:
    """Return a compression type after checking its name.

    Raises:
        PipelineError: the compression type is unknown.

    >>> compression_of("gzip")
    'gzip'
    """
    if CompressionTypes.is_valid_compression_type(compression_type):
        return compression_type
    raise PipelineError(
        f"unknown compression type {shorten(compression_type)}",
        remedy=f"use one of {', '.join(_TYPES)}",
    )


def require_library(compression: str) -> None:
    """Check that the library of a compression type is installed.

    Raises:
        PipelineError: it is not installed.

    >>> require_library("gzip")
    """
    if compression in _LIBRARIES:
        _LIBRARIES[compression]()


def decompressed(file: IO[bytes], path: str, compression: str) -> IO[bytes]:
    r"""Return the content of a compressed file as a file; closing it closes both.

    Args:
        file: the compressed file.
        path: its path, for errors.
        compression: its type of compression; not auto.

    >>> from io import BytesIO
    >>> decompressed(BytesIO(b"x\x9cKLJ\x06\x00\x02M\x01'"), "a", "deflate").read()
    b'abc'
    """
    return BufferedReader(_Reader(_DECOMPRESSORS[compression](file), file, path), _CHUNK)


def compressed(file: IO[bytes], compression: str) -> IO[bytes]:
    """Return a file that compresses what is written to it; closing it closes both.

    Args:
        file: the compressed file.
        compression: its type of compression; not auto.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> compressed(file, "bzip2").writable()
    True
    """
    return BufferedWriter(_Writer(_COMPRESSORS[compression](file), file), _CHUNK)


class _Kept(BytesIO):
    """A buffer whose content stays when it is closed."""

    content = b""

    def close(self) -> None:
        if not self.closed:
            self.content = self.getvalue()
        super().close()


def compressed_bytes(content: bytes, compression: str, name: str) -> bytes:
    """Return content as one compressed stream.

    Args:
        content: the content.
        compression: its type of compression, or auto.
        name: the name of its file, whose extension tells the type.

    >>> compressed_bytes(b"a", "auto", "a.txt"), compressed_bytes(b"a", "bzip2", "a")[:2]
    (b'a', b'BZ')
    """
    if compression == "auto":
        compression = CompressionTypes.detect_compression_type(name)
    require_library(compression)
    if compression == "uncompressed":
        return content
    kept = _Kept()
    with compressed(kept, compression) as file:
        file.write(content)
    return kept.content


class _Reader(RawIOBase):
    """Bytes of a file, with errors that name it."""

    def __init__(self, content: Any, file: IO[bytes], path: str) -> None:
        self._content = content
        self._file = file
        self._path = path

    def readinto(self, buffer: Any) -> int:
        with reading(self._path):
            data = self._content.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return bool(self._content.seekable())

    def seek(self, offset: int, whence: int = 0) -> int:
        with reading(self._path):
            return int(self._content.seek(offset, whence))

    def close(self) -> None:
        super().close()
        self._file.close()


class _Writer(RawIOBase):
    """Writes to a compressor, and closes the compressed file after it."""

    def __init__(self, content: Any, file: IO[bytes]) -> None:
        self._content = content
        self._file = file

    def write(self, data: Any) -> int:
        self._content.write(data)
        return len(data)

    def writable(self) -> bool:
        return True

    def close(self) -> None:
        if self.closed:
            return
        super().close()
        if self._content is not self._file:
            self._content.close()
        self._file.close()


class _Decompressor:
    """Reads consecutive streams that a decompressor object of zlib's form decompresses."""

    def __init__(self, file: IO[bytes], new: Callable[[], Any]) -> None:
        self._file = file
        self._new = new
        self._stream: Any = None
        self._ready = b""

    def read(self, size: int) -> bytes:
        while not self._ready:
            data = self._next()
            if not data:
                return b""
            self._ready = self._decompress(data)
        data, self._ready = self._ready[:size], self._ready[size:]
        return data

    def seekable(self) -> bool:
        return False

    def _next(self) -> bytes:
        """Return compressed bytes of the current stream, or of the next one."""
        if self._stream is None or self._stream.eof:
            data = (self._stream and self._stream.unused_data) or self._file.read(_CHUNK)
            self._stream = self._new() if data else self._stream
            return bytes(data)
        data = self._file.read(_CHUNK)
        if not data:
            raise EOFError("the compressed data ends too early")
        return data

    def _decompress(self, data: bytes) -> bytes:
        try:
            return bytes(self._stream.decompress(data))
        except zlib.error:
            raise
        except Exception as error:  # zstandard.ZstdError, which cannot be named without the library
            raise OSError(str(error)) from error


class _Compressor:
    """Writes one stream with a compressor object of zlib's form."""

    def __init__(self, file: IO[bytes], stream: Any) -> None:
        self._file = file
        self._stream = stream

    def write(self, data: Any) -> None:
        self._file.write(self._stream.compress(data))

    def close(self) -> None:
        self._file.write(self._stream.flush())


def _standard_library(name: str, compression: str) -> object:
    try:
        return import_module(name)
    except ImportError as error:
        raise PipelineError(
            f"{_needs(compression, name)}, which is not installed",
            remedy=f"use a Python that was built with lib{name}",
        ) from error


def _needs(compression: str, module: str) -> str:
    return f"files of the compression type {compression} need the module {module}"


def _bz2() -> Any:
    return _standard_library("bz2", "bzip2")


def _lzma() -> Any:
    return _standard_library("lzma", "lzma")


def _zstandard() -> Any:
    return require_extra("zstandard", "zstd", _needs("zstd", "zstandard"))


_LIBRARIES: Final = {"bzip2": _bz2, "lzma": _lzma, "zstd": _zstandard}
"""Modules that may be missing, by the compression type that needs them."""


def _from_gzip(file: IO[bytes]) -> object:
    return gzip.GzipFile(fileobj=file, mode="rb")


def _to_gzip(file: IO[bytes]) -> object:
    # Without a name and a modification time, the same rows give the same bytes.
    return gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)


_DECOMPRESSORS: Final[dict[str, Callable[[IO[bytes]], Any]]] = {
    "uncompressed": lambda file: file,
    "gzip": _from_gzip,
    "bzip2": lambda file: _bz2().BZ2File(file, "rb"),
    "lzma": lambda file: _lzma().LZMAFile(file, "rb"),
    "deflate": lambda file: _Decompressor(file, zlib.decompressobj),
    "zstd": lambda file: _Decompressor(file, _zstandard().ZstdDecompressor().decompressobj),
}

_COMPRESSORS: Final[dict[str, Callable[[IO[bytes]], Any]]] = {
    "uncompressed": lambda file: file,
    "gzip": _to_gzip,
    "bzip2": lambda file: _bz2().BZ2File(file, "wb"),
    "lzma": lambda file: _lzma().LZMAFile(file, "wb"),
    "deflate": lambda file: _Compressor(file, zlib.compressobj()),
    "zstd": lambda file: _Compressor(file, _zstandard().ZstdCompressor().compressobj()),
}
