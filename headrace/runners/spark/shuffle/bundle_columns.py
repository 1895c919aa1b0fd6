"""Bundles as columns: records by field, and windows by their bounds, because both pickle faster."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_table import PaneTable
from headrace.runners.spark.shuffle.records import by_field, restored
from headrace.windowing.window import IntervalWindow, intervals


def pack(bundle: Bundle) -> tuple[object, ...] | PaneTable:
    """Return a bundle as plain columns; a table is one already."""
    if isinstance(bundle, PaneTable):
        return bundle
    columns = bundle.timestamps, bundle.panes, bundle.diffs
    return by_field(bundle.values), _packed(bundle.windows), *columns


def unpack(columns: tuple[Any, ...] | PaneTable) -> Bundle:
    """Return the bundle that :func:`pack` was given."""
    if isinstance(columns, PaneTable):
        return columns
    values, windows, timestamps, panes, diffs = columns
    return Bundle(restored(values), timestamps, _unpacked(windows), panes, diffs)


def _packed(windows: Any) -> object:
    """Return bounds if each row is in exactly one interval window, else the column itself."""
    if isinstance(windows, repeat) or not windows:
        return windows
    if set(map(len, windows)) != {1} or {type(w) for (w,) in windows} != {IntervalWindow}:
        return windows
    return [w[0] for (w,) in windows], [w[1] for (w,) in windows]


def _unpacked(packed: object) -> Any:
    if not isinstance(packed, tuple):
        return packed
    bounds = list(zip(*packed, strict=True))
    windows = {pair: (next(intervals([pair])),) for pair in set(bounds)}
    return [windows[pair] for pair in bounds]
