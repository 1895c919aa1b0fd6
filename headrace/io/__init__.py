# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Sources and sinks."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.io import fileio, filesystem, filesystems, iobase, kafka, watch
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.io.console import Console, WriteToConsole
from headrace.sdk.io.files.file_naming import FileNaming
from headrace.sdk.io.files.file_sink import FileSink
from headrace.sdk.io.files.file_source import FileSource
from headrace.sdk.io.formats.avro.avro_files import AvroFiles
from headrace.sdk.io.formats.avro.avro_io import (
    ReadAllFromAvro,
    ReadAllFromAvroContinuously,
    ReadFromAvro,
    WriteToAvro,
)
from headrace.sdk.io.formats.avro.avro_sink import AvroSink
from headrace.sdk.io.formats.lines.csv_files import CsvFiles
from headrace.sdk.io.formats.lines.csv_io import ReadFromCsv, WriteToCsv
from headrace.sdk.io.formats.lines.json_files import JsonFiles
from headrace.sdk.io.formats.lines.json_io import ReadFromJson, WriteToJson
from headrace.sdk.io.formats.lines.line_sinks import CsvSink, JsonSink, TextSink
from headrace.sdk.io.formats.lines.text_files import TextFiles
from headrace.sdk.io.formats.lines.text_io import (
    ReadAllFromText,
    ReadAllFromTextContinuously,
    ReadFromText,
    ReadFromTextWithFilename,
    WriteToText,
)
from headrace.sdk.io.formats.parquet.parquet_files import ParquetFiles
from headrace.sdk.io.formats.parquet.parquet_io import (
    ReadAllFromParquet,
    ReadAllFromParquetContinuously,
    ReadFromParquet,
    WriteToParquet,
)
from headrace.sdk.io.formats.parquet.parquet_sink import ParquetSink
from headrace.sdk.io.formats.parquet.parquet_tables import (
    ReadAllFromParquetBatched,
    ReadFromParquetBatched,
    WriteToParquetBatched,
)
from headrace.sdk.io.formats.tfrecord.tfrecord_files import TFRecordFiles, TFRecordSink
from headrace.sdk.io.formats.tfrecord.tfrecord_io import (
    ReadAllFromTFRecord,
    ReadAllFromTFRecordContinuously,
    ReadFromTFRecord,
    WriteToTFRecord,
)
from headrace.sdk.io.frames.foreach_batch import ForeachBatch
from headrace.sdk.io.frames.read_from_spark import FromDataFrame, ReadFromSpark
from headrace.sdk.io.frames.to_dataframe import ToDataFrame
from headrace.sdk.io.kafka.backfill import Backfill
from headrace.sdk.io.kafka.kafka_record import KafkaRecord
from headrace.sdk.io.kafka.read_from_kafka import ReadFromKafka
from headrace.sdk.io.kafka.write_to_kafka import WriteToKafka
from headrace.sdk.io.lake.read_lake import ReadFromDelta, ReadFromIceberg
from headrace.sdk.io.lake.write import WriteToDelta, WriteToIceberg
from headrace.sdk.io.matching.matching_files import (
    EmptyMatchTreatment,
    MatchAll,
    MatchFiles,
    ReadableFile,
    ReadMatches,
)
from headrace.sdk.io.matching.watched_files import WatchedFiles
from headrace.sdk.io.postgres.read_from_postgres import ReadFromPostgres
from headrace.sdk.io.secret import Secret
from headrace.sdk.io.serdes.avro import AvroSerde
from headrace.sdk.io.serdes.base import Serde
from headrace.sdk.io.serdes.plain import BytesSerde, JsonSerde, NumberSerde, StringSerde
from headrace.sdk.io.serdes.protobuf import ProtobufSerde
from headrace.sdk.io.serdes.registry import SchemaRegistry
from headrace.sdk.io.table.materialized_view import MaterializedView
from headrace.sdk.io.table.query import QueryResult
from headrace.sdk.io.table.sink import WriteToTable
from headrace.sdk.polling.watch import ReadByPolling
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.reading import Read
from headrace.sdk.sources.sink import Commit, PartSink, Sink, SinkBatch, SinkPart
from headrace.sdk.sources.source import (
    Batch,
    BoundedSource,
    LatestOffset,
    ReadsBundles,
    ReadsClock,
    UnboundedSource,
)
from headrace.sdk.sources.writing import Write

__all__ = [
    "AvroFiles",
    "AvroSerde",
    "AvroSink",
    "Backfill",
    "Batch",
    "BoundedSource",
    "BytesSerde",
    "Commit",
    "Console",
    "CsvFiles",
    "CsvSink",
    "Delivery",
    "EmptyMatchTreatment",
    "FileNaming",
    "FileSink",
    "FileSource",
    "ForeachBatch",
    "FromDataFrame",
    "JsonFiles",
    "JsonSerde",
    "JsonSink",
    "KafkaRecord",
    "LatestOffset",
    "MatchAll",
    "MatchFiles",
    "MaterializedView",
    "NumberSerde",
    "ParquetFiles",
    "ParquetSink",
    "PartSink",
    "ProtobufSerde",
    "QueryResult",
    "Read",
    "ReadAllFromAvro",
    "ReadAllFromAvroContinuously",
    "ReadAllFromParquet",
    "ReadAllFromParquetBatched",
    "ReadAllFromParquetContinuously",
    "ReadAllFromTFRecord",
    "ReadAllFromTFRecordContinuously",
    "ReadAllFromText",
    "ReadAllFromTextContinuously",
    "ReadByPolling",
    "ReadFromAvro",
    "ReadFromCsv",
    "ReadFromDelta",
    "ReadFromIceberg",
    "ReadFromJson",
    "ReadFromKafka",
    "ReadFromParquet",
    "ReadFromParquetBatched",
    "ReadFromPostgres",
    "ReadFromSpark",
    "ReadFromTFRecord",
    "ReadFromText",
    "ReadFromTextWithFilename",
    "ReadMatches",
    "ReadableFile",
    "ReadsBundles",
    "ReadsClock",
    "SchemaRegistry",
    "Secret",
    "Serde",
    "Sink",
    "SinkBatch",
    "SinkPart",
    "StringSerde",
    "TFRecordFiles",
    "TFRecordSink",
    "TextFiles",
    "TextSink",
    "ToDataFrame",
    "UnboundedSource",
    "WatchedFiles",
    "Write",
    "WriteToAvro",
    "WriteToConsole",
    "WriteToCsv",
    "WriteToDelta",
    "WriteToIceberg",
    "WriteToJson",
    "WriteToKafka",
    "WriteToParquet",
    "WriteToParquetBatched",
    "WriteToTFRecord",
    "WriteToTable",
    "WriteToText",
    "fileio",
    "filesystem",
    "filesystems",
    "iobase",
    "kafka",
    "watch",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
