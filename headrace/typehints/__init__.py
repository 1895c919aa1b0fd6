"""Types of elements, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.errors import TypeCheckError
from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.type_hints import with_input_types, with_output_types
from headrace.sdk.typechecks.io_hints import WithTypeHints
from headrace.typehints import decorators, typehints
from headrace.typehints.typehints import *  # noqa: F403
from headrace.typehints.typehints import __all__ as _forms

__all__ = [
    "TypeCheckError",
    "WithTypeHints",
    "decorators",
    "typehints",
    "with_input_types",
    "with_output_types",
]
__all__ += _forms

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
