# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""State and timers of stateful DoFns, under Beam's path."""

from headrace.sdk.state import (
    BagStateSpec,
    CombiningValueStateSpec,
    MapStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
    StateSpec,
)
from headrace.sdk.stateful_dofn import get_dofn_specs, is_stateful_dofn, validate_stateful_dofn
from headrace.sdk.timers import TimeDomain, TimerSpec, on_timer, on_window_expiration

__all__ = [
    "BagStateSpec",
    "CombiningValueStateSpec",
    "MapStateSpec",
    "OrderedListStateSpec",
    "ReadModifyWriteStateSpec",
    "SetStateSpec",
    "StateSpec",
    "TimeDomain",
    "TimerSpec",
    "get_dofn_specs",
    "is_stateful_dofn",
    "on_timer",
    "on_window_expiration",
    "validate_stateful_dofn",
]
