"""Text, CSV and JSON files, under Beam's module path."""

from headrace.sdk.io.read_from_files import ReadFromCsv, ReadFromJson, ReadFromText
from headrace.sdk.io.write_to_files import WriteToCsv, WriteToJson, WriteToText

__all__ = [
    "ReadFromCsv",
    "ReadFromJson",
    "ReadFromText",
    "WriteToCsv",
    "WriteToJson",
    "WriteToText",
]
