"""The answers by numpy, without Headrace: from the same blocks, in pieces that fit into memory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from benchmarks.size.bids import Bids
from benchmarks.size.blocks import BLOCK, Columns, GeneratedTables
from benchmarks.size.queries import page_number
from benchmarks.size.visits import Visits

PIECE: Final = 128 * BLOCK
"""Rows of each partition that are in memory at a time."""

SLOT: Final = 5_000
"""Milliseconds: a sliding window of query 5 has two slots, and a window of query 7 too."""

Answers = dict[Any, Any]


def pieces(source: GeneratedTables) -> Iterator[Columns]:
    """Yield all rows of a source, partition by partition."""
    for partition in source.partitions():
        end = len(range(partition, source.rows, source.count))
        for start in range(0, end, PIECE):
            yield source.columns(partition, start, min(start + PIECE, end))


def hot_items(bids: Bids) -> Answers:
    """Return query 5: the number of bids and the auctions that have it, by the start of the window."""
    by_slot: defaultdict[int, list[tuple[Any, Any]]] = defaultdict(list)
    for piece in pieces(bids):
        slots, places = np.unique(piece["time"] // SLOT, return_inverse=True)
        for number, slot in enumerate(slots.tolist()):
            by_slot[slot].append(np.unique(piece["auction"][places == number], return_counts=True))
    starts = {slot - back for slot in by_slot for back in (0, 1)}
    return {s * SLOT: _most([*by_slot.get(s, []), *by_slot.get(s + 1, [])]) for s in starts}


def _most(counts: list[tuple[Any, Any]]) -> tuple[int, tuple[int, ...]]:
    """Return the largest sum of counts, and the auctions that have it."""
    auctions, places = np.unique(np.concatenate([a for a, _ in counts]), return_inverse=True)
    sums = np.zeros(len(auctions), np.int64)
    np.add.at(sums, places, np.concatenate([n for _, n in counts]))
    return int(sums.max()), tuple(auctions[sums == sums.max()].tolist())


def highest_bids(bids: Bids) -> Answers:
    """Return query 7: price, auction and bidder of the highest bid, by the start of the window."""
    found: Answers = {}
    for piece in pieces(bids):
        windows, places = np.unique(piece["time"] // (2 * SLOT), return_inverse=True)
        highest = np.zeros(len(windows), np.int64)
        np.maximum.at(highest, places, piece["price"])
        rows = np.flatnonzero(piece["price"] == highest[places])
        fields = (piece[name][rows].tolist() for name in ("price", "auction", "bidder"))
        for place, bid in zip(places[rows].tolist(), zip(*fields, strict=True), strict=True):
            start = int(windows[place]) * 2 * SLOT
            found[start] = max(found.get(start, bid), bid, key=_as_text)
    return found


def _as_text(bid: tuple[int, int, int]) -> tuple[int, str]:
    """Return the order of bids: by price, then by the text of the other numbers."""
    price, auction, bidder = bid
    return price, f"{auction} {bidder}"


def sessions(visits: Visits) -> Answers:
    """Return by number of visits: the number of sessions, and the sums of lengths, users and page numbers.

    Each user has one session, since gaps are longer than the times between visits.
    """
    users = visits.users + visits.bots
    number, pages = np.zeros(users, np.int64), np.zeros(users, np.int64)
    first, last = np.full(users, np.iinfo(np.int64).max), np.zeros(users, np.int64)
    for piece in pieces(visits):
        number += np.bincount(piece["user"], minlength=users)
        np.add.at(pages, piece["user"], np.array(list(map(page_number, piece["page"].tolist()))))
        np.minimum.at(first, piece["user"], piece["time"])
        np.maximum.at(last, piece["user"], piece["time"])
    found: Answers = {}
    for count in np.unique(number).tolist():
        these = np.flatnonzero(number == count)
        lengths = (last - first)[these]
        sums = (int(each.sum()) for each in (lengths, these, pages[these]))
        found[count] = (len(these), *sums)
    return found
