"""Composite transforms, under Beam's name for the module."""

from headrace.sdk.co_group_by_key import CoGroupByKey
from headrace.sdk.flatten import Reshuffle
from headrace.sdk.pairs import Distinct, Keys, KvSwap, Values, WithKeys

__all__ = ["CoGroupByKey", "Distinct", "Keys", "KvSwap", "Reshuffle", "Values", "WithKeys"]
