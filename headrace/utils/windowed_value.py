# Generated from headrace/sdk/beam/paths.toml: change the table, then run `make beam-paths`.
"""Values with their metadata, under Beam's name for the module."""

from headrace.sdk.elements.windowed_batch import HomogeneousWindowedBatch, WindowedBatch
from headrace.sdk.elements.windowed_value import PANE_INFO_UNKNOWN, WindowedValue
from headrace.triggers import PaneInfo, PaneInfoTiming

__all__ = [
    "PANE_INFO_UNKNOWN",
    "HomogeneousWindowedBatch",
    "PaneInfo",
    "PaneInfoTiming",
    "WindowedBatch",
    "WindowedValue",
]
