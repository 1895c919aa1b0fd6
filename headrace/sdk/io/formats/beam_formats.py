"""Sinks and records of formats with Beam's arguments, for programs that apply Write to them."""

from __future__ import annotations

from typing import IO, Any

from headrace.sdk.io.formats.avro.avro_sink import AvroSink
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.formats.tfrecord.record_frames import crc32c, framed, masked, read_records
from headrace.sdk.io.formats.write_options import PathPrefix, WriteOptions


def avro_sink(
    file_path_prefix: PathPrefix,
    schema: object,
    codec: str,
    file_name_suffix: str,
    num_shards: int,
    shard_name_template: str | None,
    mime_type: str,
) -> AvroSink:
    """Return a sink of Avro files.

    >>> avro_sink("out", {"delay": int}, "null", ".avro", 0, None, "application/x-avro").codec
    'null'
    """
    files = WriteOptions(file_path_prefix, file_name_suffix, shard_name_template, num_shards)
    return files.sink(AvroSink, schema, codec)


def parquet_sink(
    file_path_prefix: PathPrefix,
    schema: object,
    codec: str,
    use_deprecated_int96_timestamps: bool,
    use_compliant_nested_type: bool,
    file_name_suffix: str,
    num_shards: int,
    shard_name_template: str | None,
    mime_type: str,
) -> ParquetSink:
    """Return a sink of Parquet files.

    >>> sink = parquet_sink("out", {"delay": int}, "none", False, False, "", 0, None, "")
    >>> sink.codec
    'none'
    """
    files = WriteOptions(file_path_prefix, file_name_suffix, shard_name_template, num_shards)
    return files.sink(ParquetSink, schema, codec)


class TFRecordUtil:
    """Records of TFRecord in an open file.

    >>> from io import BytesIO
    >>> file = BytesIO()
    >>> TFRecordUtil.write_record(file, b"foo")
    >>> TFRecordUtil.read_record(BytesIO(file.getvalue()))
    b'foo'
    """

    @staticmethod
    def _masked_crc32c(value: bytes, crc32c_fn: Any = None) -> int:
        return masked((crc32c_fn or crc32c())(value))

    @staticmethod
    def write_record(file_handle: IO[bytes], value: bytes) -> None:
        """Write a record."""
        file_handle.write(framed(value, crc32c()))

    @staticmethod
    def read_record(file_handle: IO[bytes]) -> bytes | None:
        """Return the next record; None at the end of the file.

        Raises:
            ValueError: the record is malformed.
        """
        try:
            return next(read_records(file_handle, crc32c()), None)
        except OSError as error:
            raise ValueError(str(error)) from error
