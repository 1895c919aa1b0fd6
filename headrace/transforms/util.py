"""Composite transforms, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.beam_names import missing_names_of as _missing_names_of
from headrace.sdk.co_group_by_key import CoGroupByKey
from headrace.sdk.flatten import Reshuffle
from headrace.sdk.pairs import Distinct, Keys, KvSwap, Values, WithKeys

__all__ = ["CoGroupByKey", "Distinct", "Keys", "KvSwap", "Reshuffle", "Values", "WithKeys"]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
