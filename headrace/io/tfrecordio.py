"""TFRecord files, under Beam's module path."""

from headrace.sdk.io.beam_formats import TFRecordUtil as _TFRecordUtil
from headrace.sdk.io.read_continuously import ReadAllFromTFRecordContinuously
from headrace.sdk.io.tfrecord_files import TFRecordSink as _TFRecordSink
from headrace.sdk.io.tfrecord_io import ReadAllFromTFRecord, ReadFromTFRecord, WriteToTFRecord

__all__ = [
    "ReadAllFromTFRecord",
    "ReadAllFromTFRecordContinuously",
    "ReadFromTFRecord",
    "WriteToTFRecord",
    "_TFRecordSink",
    "_TFRecordUtil",
]
