"""Options of pipelines, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.options import PipelineOptions, SetupOptions, StandardOptions, TypeOptions

__all__ = ["PipelineOptions", "SetupOptions", "StandardOptions", "TypeOptions"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
