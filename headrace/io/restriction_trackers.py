# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Refuses the names of the Beam module for splittable DoFns."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of

__all__: list[str] = []

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
