# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Text, CSV and JSON files, under Beam's module path."""

from headrace.sdk.io.formats.lines.csv_io import ReadFromCsv, WriteToCsv
from headrace.sdk.io.formats.lines.json_io import ReadFromJson, WriteToJson
from headrace.sdk.io.formats.lines.text_io import (
    ReadAllFromText,
    ReadAllFromTextContinuously,
    ReadFromText,
    ReadFromTextWithFilename,
    WriteToText,
)

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
