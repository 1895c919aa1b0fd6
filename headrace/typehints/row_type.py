# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Schemas of rows as types of elements, under Beam's name for the module."""

from headrace.sdk.elements.schemas import Schema as RowTypeConstraint

__all__ = ["RowTypeConstraint"]
