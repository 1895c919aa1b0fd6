"""Sinks that get an open file, with which WriteToFiles writes elements (Beam's FileSink)."""

from __future__ import annotations

from abc import abstractmethod
from typing import IO, Any, NamedTuple

from headrace.errors import ElementError, shorten
from headrace.sdk.io.files.compression import CompressionTypes


class CreateMetadata(NamedTuple):
    """The type and compression of a new file (Beam's FileMetadata of ``fileio``).

    Attributes:
        mime_type: has no effect.
        compression_type: one of ``CompressionTypes``.

    >>> from headrace.io import fileio
    >>> fileio.FileMetadata("text/plain").compression_type
    'auto'
    """

    mime_type: str = "application/octet-stream"
    compression_type: str = CompressionTypes.AUTO


class RecordSink:
    """Writes elements into files (Beam's ``fileio.FileSink``); subclass it.

    ``open``, ``write`` for each element, and ``flush`` are called for one file after the other.

    >>> from headrace.io import fileio
    >>> class Shout(fileio.FileSink):
    ...     def open(self, fh):
    ...         self.file = fh
    ...
    ...     def write(self, record):
    ...         self.file.write(record.upper().encode())
    ...
    ...     def flush(self):
    ...         pass
    >>> Shout().create_metadata(None, "out.gz").compression_type
    'auto'
    """

    def create_metadata(self, destination: object, full_file_name: str) -> CreateMetadata:
        """Return how the file of a destination is created.

        Args:
            destination: the destination.
            full_file_name: the path of the file.
        """
        return CreateMetadata()

    @abstractmethod
    def open(self, fh: IO[bytes]) -> None:
        """Begin a file.

        Args:
            fh: the open file, which the sink does not close.
        """

    @abstractmethod
    def write(self, record: Any) -> None:
        """Write an element.

        Args:
            record: the element.
        """

    @abstractmethod
    def flush(self) -> None:
        """Write what is buffered; called at the end of a file."""


class RecordTextSink(RecordSink):
    r"""Writes each string on a separate line, in UTF-8 (Beam's ``fileio.TextSink``).

    >>> from io import BytesIO
    >>> from headrace.io import fileio
    >>> file, sink = BytesIO(), fileio.TextSink()
    >>> sink.open(file), sink.write("a"), sink.flush()
    (None, None, None)
    >>> file.getvalue()
    b'a\n'
    """

    def open(self, fh: IO[bytes]) -> None:
        self._fh = fh

    def write(self, record: Any) -> None:
        if not isinstance(record, str):
            raise ElementError(
                f"the element {shorten(record)} is not a string, as fileio.TextSink needs",
                remedy="apply hr.Map(str) first, or pass another sink",
            )
        self._fh.write(record.encode())
        self._fh.write(b"\n")

    def flush(self) -> None:
        self._fh.flush()
