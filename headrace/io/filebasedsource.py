# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Sources of files in ranges of bytes, under Beam's module path."""

from headrace.sdk.beam.file_based_source import FileBasedSource

__all__ = ["FileBasedSource"]
