# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""TFRecord files, under Beam's module path."""

from headrace.sdk.io.formats.beam_formats import TFRecordUtil as _TFRecordUtil
from headrace.sdk.io.formats.tfrecord.tfrecord_files import TFRecordSink as _TFRecordSink
from headrace.sdk.io.formats.tfrecord.tfrecord_io import (
    ReadAllFromTFRecord,
    ReadAllFromTFRecordContinuously,
    ReadFromTFRecord,
    WriteToTFRecord,
)

__all__ = [
    "ReadAllFromTFRecord",
    "ReadAllFromTFRecordContinuously",
    "ReadFromTFRecord",
    "WriteToTFRecord",
    "_TFRecordSink",
    "_TFRecordUtil",
]
