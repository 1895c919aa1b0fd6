"""Bundles as columns: records by field, and windows by their bounds, because both pickle faster."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.runners.spark.shuffle.records import by_field, restored
from headrace.windowing.window import IntervalWindow, intervals


def pack(bundle: Bundle) -> tuple[object, ...]:
    """Return a bundle as plain columns."""
    columns = bundle.timestamps, bundle.panes, bundle.diffs
    return by_field(bundle.values), _packed(bundle.windows), *columns


def unpack(columns: tuple[Any, ...]) -> Bundle:
    """Return the bundle that :func:`pack` was given."""
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
    return list(zip(intervals(zip(*packed, strict=True)))) if isinstance(packed, tuple) else packed
