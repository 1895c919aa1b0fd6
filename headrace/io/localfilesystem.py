# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The file system of local files, under Beam's module path."""

from headrace.sdk.io.files.file_systems import LocalFileSystem

__all__ = ["LocalFileSystem"]
