# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Services of Google: Headrace does not connect to them, and each name says what to use instead."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import google_names_of as _google_names_of

__all__: list[str] = []

if not _TYPE_CHECKING:
    __getattr__ = _google_names_of(__name__)
