# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Matching, reading and writing whole files, under Beam's module path."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.io.destinations.destination_naming import (
    default_file_naming,
    destination_prefix_naming,
    prefix_naming,
    single_file_naming,
)
from headrace.sdk.io.destinations.record_sinks import (
    CreateMetadata as FileMetadata,
    RecordSink as FileSink,
    RecordTextSink as TextSink,
)
from headrace.sdk.io.destinations.write_by_destination import FileResult, WriteToFiles
from headrace.sdk.io.matching.match_continuously import MatchContinuously
from headrace.sdk.io.matching.matching_files import (
    EmptyMatchTreatment,
    MatchAll,
    MatchFiles,
    ReadableFile,
    ReadMatches,
)

__all__ = [
    "EmptyMatchTreatment",
    "FileMetadata",
    "FileResult",
    "FileSink",
    "MatchAll",
    "MatchContinuously",
    "MatchFiles",
    "ReadMatches",
    "ReadableFile",
    "TextSink",
    "WriteToFiles",
    "default_file_naming",
    "destination_prefix_naming",
    "prefix_naming",
    "single_file_naming",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
