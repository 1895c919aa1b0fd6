# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Text, CSV and JSON files, under Beam's module path."""

from headrace.sdk.io.formats.read_all import ReadAllFromText
from headrace.sdk.io.formats.read_continuously import ReadAllFromTextContinuously
from headrace.sdk.io.formats.read_from_files import (
    ReadFromCsv,
    ReadFromJson,
    ReadFromText,
    ReadFromTextWithFilename,
)
from headrace.sdk.io.formats.write_to_files import WriteToCsv, WriteToJson, WriteToText

__all__ = [
    "ReadAllFromText",
    "ReadAllFromTextContinuously",
    "ReadFromCsv",
    "ReadFromJson",
    "ReadFromText",
    "ReadFromTextWithFilename",
    "WriteToCsv",
    "WriteToJson",
    "WriteToText",
]
