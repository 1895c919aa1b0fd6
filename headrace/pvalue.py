# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Collections and other inputs and outputs of transforms, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.tagged_output import TaggedOutput
from headrace.sdk.pardo.side_inputs import (
    AsDict,
    AsIter,
    AsList,
    AsMultiMap,
    AsSideInput,
    AsSingleton,
    EmptySideInput,
)
from headrace.sdk.pipelines.pvalue import DoOutputsTuple, PBegin, PCollection, PDone, PValue

__all__ = [
    "AsDict",
    "AsIter",
    "AsList",
    "AsMultiMap",
    "AsSideInput",
    "AsSingleton",
    "DoOutputsTuple",
    "EmptySideInput",
    "PBegin",
    "PCollection",
    "PDone",
    "PValue",
    "Row",
    "TaggedOutput",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
