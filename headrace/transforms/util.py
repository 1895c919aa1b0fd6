# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Composite transforms, under Beam's name for the module."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from headrace.sdk.batching.batch_elements import BatchElements
from headrace.sdk.batching.group_into_batches import GroupIntoBatches
from headrace.sdk.beam.names import missing_names_of as _missing_names_of
from headrace.sdk.combiners.pairs import Distinct, Keys, KvSwap, Values, WithKeys
from headrace.sdk.joins.co_group_by_key import CoGroupByKey
from headrace.sdk.pardo.flatten import Reshuffle
from headrace.sdk.small.log_elements import LogElements
from headrace.sdk.small.regex import Regex
from headrace.sdk.small.tee import Tee
from headrace.sdk.small.to_string import ToString
from headrace.sdk.small.wait_on import Wait, WaitOn

__all__ = [
    "BatchElements",
    "CoGroupByKey",
    "Distinct",
    "GroupIntoBatches",
    "Keys",
    "KvSwap",
    "LogElements",
    "Regex",
    "Reshuffle",
    "Tee",
    "ToString",
    "Values",
    "Wait",
    "WaitOn",
    "WithKeys",
]

if not _TYPE_CHECKING:
    __getattr__ = _missing_names_of(__name__)
