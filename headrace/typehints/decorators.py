# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Declarations of types, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.errors import TypeCheckError
from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.type_hints import get_type_hints, with_input_types, with_output_types
from headrace.sdk.typechecks.io_hints import IOTypeHints, WithTypeHints
from headrace.sdk.typechecks.signatures import get_signature, no_annotations

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
