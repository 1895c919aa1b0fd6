"""Bundles as plain data: records by field and windows by bounds, which is faster, and tables as bytes."""

from __future__ import annotations

from itertools import repeat
from typing import Any, NamedTuple

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_table import PaneTable, WindowBounds
from headrace.grouping.table_bundle import TableRecords
from headrace.runners.spark.shuffle.arrow_bytes import (
    bytes_of_integers,
    bytes_of_table,
    integers_of_bytes,
    table_of_bytes,
)
from headrace.runners.spark.shuffle.packed_integers import (
    packed_bounds,
    packed_integers,
    unpacked_bounds,
    unpacked_integers,
)
from headrace.runners.spark.shuffle.records import by_field, restored
from headrace.windowing.window import IntervalWindow, intervals


class SentPanes(NamedTuple):
    """A table of panes.

    Attributes:
        stream: the table in Arrow's format of streams.
        records: how its rows become elements.
        bounds: the starts and the ends of their windows, as bytes of 64-bit integers; None for the global
            window.
    """

    stream: bytes
    records: TableRecords
    bounds: tuple[bytes, ...] | None


def pack(bundle: Bundle) -> tuple[object, ...]:
    """Return a bundle as plain data."""
    if isinstance(bundle, PaneTable):
        bounds = bundle.bounds and tuple(map(bytes_of_integers, bundle.bounds))
        return SentPanes(bytes_of_table(bundle.table), bundle.records, bounds)
    times = bundle.timestamps
    packed = packed_integers(times) if isinstance(times, list) else times
    return by_field(bundle.values), _packed(bundle.windows), packed, bundle.panes, bundle.diffs


def unpack(columns: tuple[Any, ...]) -> Bundle:
    """Return the bundle that :func:`pack` was given."""
    if isinstance(columns, SentPanes):
        bounds = None
        if columns.bounds is not None:
            bounds = WindowBounds(*map(integers_of_bytes, columns.bounds))
        return PaneTable(table_of_bytes(columns.stream), columns.records, bounds)
    values, windows, packed, panes, diffs = columns
    times = packed if isinstance(packed, repeat) else unpacked_integers(packed)
    return Bundle(restored(values), times, _unpacked(windows), panes, diffs)


def _packed(windows: Any) -> object:
    """Return bounds if each row is in exactly one interval window, else the column itself."""
    if isinstance(windows, repeat) or not windows:
        return windows
    if set(map(len, windows)) != {1} or {type(w) for (w,) in windows} != {IntervalWindow}:
        return windows
    return packed_bounds([w[0] for (w,) in windows], [w[1] for (w,) in windows])


def _unpacked(packed: Any) -> Any:
    if not isinstance(packed, tuple):
        return packed
    bounds = list(zip(*unpacked_bounds(packed), strict=True))
    windows = {pair: (next(intervals([pair])),) for pair in set(bounds)}
    return [windows[pair] for pair in bounds]
