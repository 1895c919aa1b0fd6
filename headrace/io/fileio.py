"""Matching files and reading them whole, under Beam's module path."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.io.matching_files import (
    EmptyMatchTreatment,
    MatchAll,
    MatchFiles,
    ReadableFile,
    ReadMatches,
)

__all__ = [
    "EmptyMatchTreatment",
    "MatchAll",
    "MatchFiles",
    "ReadMatches",
    "ReadableFile",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
