# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Operations on local files and on URLs, under Beam's module path."""

from headrace.sdk.io.files.compression import CompressionTypes
from headrace.sdk.io.files.file_operations import FileSystems

__all__ = ["CompressionTypes", "FileSystems"]
