# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""State and timers of stateful DoFns, under Beam's path."""

from headrace.sdk.pardo.state.specs import (
    BagStateSpec,
    CombiningValueStateSpec,
    MapStateSpec,
    OrderedListStateSpec,
    ReadModifyWriteStateSpec,
    SetStateSpec,
    StateSpec,
)
from headrace.sdk.pardo.state.timers import TimeDomain, TimerSpec, on_timer, on_window_expiration
from headrace.sdk.pardo.stateful_dofn import (
    get_dofn_specs,
    is_stateful_dofn,
    validate_stateful_dofn,
)

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
