# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Declarations of types, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.errors import TypeCheckError
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.typehints.io_hints import IOTypeHints, WithTypeHints
from headrace.sdk.typehints.signatures import get_signature, no_annotations
from headrace.sdk.typehints.type_hints import get_type_hints, with_input_types, with_output_types

__all__ = [
    "IOTypeHints",
    "TypeCheckError",
    "WithTypeHints",
    "get_signature",
    "get_type_hints",
    "no_annotations",
    "with_input_types",
    "with_output_types",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
