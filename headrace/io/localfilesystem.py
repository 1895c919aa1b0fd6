"""The file system of local files, under Beam's module path."""

from headrace.sdk.io.file_systems import LocalFileSystem

__all__ = ["LocalFileSystem"]
