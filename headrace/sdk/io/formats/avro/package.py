"""Access to fastavro, which reads and writes Avro: an extra, imported on first use."""

from __future__ import annotations

from io import BytesIO
from typing import Any

from headrace.errors import PipelineError, require_extra


def avro(module: str = "fastavro") -> Any:
    """Return fastavro, or one of its modules.

    Raises:
        PipelineError: fastavro is not installed.

    >>> avro("fastavro.schema").__name__
    'fastavro.schema'
    """
    return require_extra(module, "avro", "Avro is read and written with fastavro")


def checked_codec(codec: str) -> str:
    """Return a codec after checking that blocks can be compressed with it here.

    Raises:
        PipelineError: the codec is unknown, or needs a library that is not installed.

    >>> checked_codec("deflate")
    'deflate'
    >>> checked_codec("zip")
    Traceback (most recent call last):
    headrace.errors.PipelineError: Avro files cannot be written with the codec 'zip'...
    """
    library = avro()
    try:
        library.writer(BytesIO(), "int", [1], codec)
    except ValueError as error:
        raise PipelineError(
            f"Avro files cannot be written with the codec {codec!r}: {error}",
            remedy="use codec='deflate' or 'null', or install the library of the codec",
        ) from error
    return codec
