"""Shuffle blocks: the arrivals for a grouping, as columns for each key group.

Before a shuffle a precombiner combines elements by key and window, so a flush sends one content for each key
and window, for any number of elements. A block is a list of arrivals as columns. If each window has only one
pane, at its end, the grouping needs only contents
(:class:`~headrace.grouping.pane_output.ArrivalColumns`), and the block has no facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import Any, NamedTuple

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import Arrival, ArrivalColumns
from headrace.runners.precombine import Arrivals
from headrace.runners.precombine.key_index import arrivals_by_key
from headrace.runners.precombine.per_row import ElementRows
from headrace.runners.spark.shuffle.arrival_facts import (
    ArrivalFacts,
    Predicates,
    arrivals_of,
    facts_of,
    facts_of_elements,
)
from headrace.runners.spark.shuffle.key_group import KeyGroups
from headrace.runners.spark.shuffle.packed_integers import packed_bounds, unpacked_bounds
from headrace.runners.spark.shuffle.records import by_field, restored
from headrace.triggers.trigger import Trigger
from headrace.windowing.column import Column
from headrace.windowing.window import BoundedWindow, packed, unpacked
from headrace.windowing.window_fn import Windows


class Block(NamedTuple):
    """A list of arrivals, as columns.

    Attributes:
        keys: the keys.
        windows: the packed windows (:func:`packed_windows`), or the window of all rows.
        contents: the contents.
        facts: what else the grouping needs to know of the arrivals; None if it needs only contents.
        count: number of elements; if a block is divided by key group, the first part has the count of all
            parts.
        counts: number of elements of each row, if the grouping needs it.
    """

    keys: list[object]
    windows: Any
    contents: list[object]
    facts: ArrivalFacts | None = None
    count: int = 0  # type: ignore[assignment]  # hides tuple.count, which is not used
    counts: Sequence[int] = ()


def packed_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Return blocks whose keys and contents pickle fast."""
    return [b._replace(keys=by_field(b.keys), contents=by_field(b.contents)) for b in blocks]


def unpacked_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks that :func:`packed_blocks` was given."""
    return [b._replace(keys=restored(b.keys), contents=restored(b.contents)) for b in blocks]


def packed_windows(windows: list[Any]) -> object:
    """Return windows in a form that pickles fast."""
    bounds = packed(windows)
    return packed_bounds(*bounds) if isinstance(bounds, tuple) else bounds


def unpacked_windows(windows: Any, rows: int) -> Iterable[BoundedWindow]:
    """Return the window of each row; a single window applies to all rows."""
    if isinstance(windows, BoundedWindow):
        return repeat(windows, rows)
    return unpacked(windows if isinstance(windows, list) else unpacked_bounds(windows))


def blocks_of_columns(
    columns: Iterable[ArrivalColumns], groups: KeyGroups, counted: bool = False
) -> dict[int, list[Block]]:
    """Group arrivals by key group: with facts if they have elements, else without.

    Args:
        columns: the arrivals.
        groups: the key groups.
        counted: whether the number of elements of each row is sent.
    """
    parts: dict[int, list[Block]] = {}
    for some in columns:
        if some.elements:
            for group, blocks in blocks_of_arrivals(arrivals_by_key([some]), groups).items():
                parts.setdefault(group, []).extend(blocks)
            continue
        divide = _divide_one_window if isinstance(some.windows, repeat) else _divide
        numbers = groups.of(some.keys)
        counts = _by_number(some.counts, numbers) if counted else {}
        for group, block in divide(some, numbers):
            own = block._replace(counts=counts[group]) if counted else block
            parts.setdefault(group, []).append(own)
    return parts


def _by_number(column: Sequence[int], numbers: list[int]) -> dict[int, list[int]]:
    """Divide a column by the number of each row."""
    found: dict[int, list[int]] = {number: [] for number in set(numbers)}
    for each, number in zip(column, numbers, strict=True):
        found[number].append(each)
    return found


def _divide_one_window(some: ArrivalColumns, groups: list[int]) -> Iterator[tuple[int, Block]]:
    (window,) = _one(some.windows)
    found: dict[int, tuple[list[object], list[Any]]] = {g: ([], []) for g in set(groups)}
    for key, content, group in zip(some.keys, some.contents, groups, strict=True):
        keys, contents = found[group]
        keys.append(key)
        contents.append(content)
    count = some.count
    for group, (keys, contents) in found.items():
        yield group, Block(keys, window, contents, count=count)
        count = 0


def _divide(some: ArrivalColumns, groups: list[int]) -> Iterator[tuple[int, Block]]:
    found: dict[int, tuple[list[object], list[Any], list[Any]]] = {
        g: ([], [], []) for g in set(groups)
    }
    rows = zip(some.keys, some.windows, some.contents, groups, strict=False)
    for key, (window,), content, group in rows:
        keys, windows, contents = found[group]
        keys.append(key)
        windows.append(window)
        contents.append(content)
    for group, (keys, windows, contents) in found.items():
        yield group, Block(keys, packed_windows(windows), contents)


def _one(windows: Column[Windows]) -> Windows:
    return next(iter(windows))


def blocks_of_arrivals(
    arrivals: Arrivals, groups: KeyGroups, predicates: Predicates = ()
) -> dict[int, list[Block]]:
    """Group arrivals with their facts by key group; some can have matched predicates of the trigger."""
    rows = [(key, arrival) for _, key, some in arrivals for arrival in some]
    found: dict[int, list[tuple[Any, Arrival]]] = {}
    for row, group in zip(rows, groups.of([key for key, _ in rows]), strict=True):
        found.setdefault(group, []).append(row)
    return {group: [_block(some, predicates)] for group, some in found.items()}


def _block(rows: Sequence[tuple[object, Arrival]], predicates: Predicates) -> Block:
    arrivals = [arrival for _, arrival in rows]
    return Block(
        keys=[key for key, _ in rows],
        windows=packed_windows([a.window for a in arrivals]),
        contents=[a.content for a in arrivals],
        facts=facts_of(arrivals, predicates),
    )


def blocks_of_rows(rows: ElementRows, groups: KeyGroups) -> dict[int, list[Block]]:
    """Group elements by key group."""
    found: dict[int, list[int]] = {}
    for row, group in enumerate(groups.of(rows.keys)):
        found.setdefault(group, []).append(row)
    return {group: [_block_of_rows(*rows.take(own))] for group, own in found.items()}


def _block_of_rows(keys: list[Any], contents: list[Any], elements: Bundle) -> Block:
    windows = [window for (window,) in islice(elements.windows, len(keys))]
    return Block(keys, packed_windows(windows), contents, facts_of_elements(elements))


def arrivals_in(blocks: Iterable[Block], trigger: Trigger) -> Iterator[tuple[object, Arrival]]:
    """Return the key and the arrival of each row of blocks with facts."""
    predicates = tuple(trigger.predicates)
    for block in blocks:
        assert block.facts is not None
        windows = unpacked_windows(block.windows, len(block.keys))
        arrivals = arrivals_of(block.facts, windows, block.contents, predicates)
        yield from zip(block.keys, arrivals, strict=True)
