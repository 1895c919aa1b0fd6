# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The values and the error that FileSystems takes and returns, under Beam's module path."""

from headrace.errors import FileError as BeamIOError
from headrace.sdk.io.files.compression import CompressionTypes
from headrace.sdk.io.files.file_operations import MatchResult
from headrace.sdk.io.files.file_systems import FileMetadata

__all__ = ["BeamIOError", "CompressionTypes", "FileMetadata", "MatchResult"]
