# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Tools for BigQuery, under Beam's name for the module: its names are refused."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import google_names_of as _google_names_of

__all__: list[str] = []

if not _TYPE_CHECKING:
    __getattr__ = _google_names_of(__name__)
