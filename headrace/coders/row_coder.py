# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""The coder of classes with fields, under Beam's name for the module."""

from headrace.sdk.coders.kinds.row_coder import RowCoder

__all__ = ["RowCoder"]
