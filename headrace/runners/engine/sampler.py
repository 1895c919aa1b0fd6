"""Samples of groupings for the observers of a run: of a few keys, the elements that arrive and the panes.

The keys are those with the smallest hashes, of the keys that were seen in the last minute of processing time.
So all workers choose the same keys, keys that come and go are followed by others, and a key that stays keeps
its place as long as no smaller hash comes. Of a large bundle only some elements are looked at, but all
panes. A sampler skips bundles if it has used more than its share of the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from heapq import nsmallest
from typing import Final

import attrs

from headrace.errors import shorten
from headrace.grouping.bundle import Bundle, Element
from headrace.runners.operator import Send
from headrace.sdk.coders.keys import identities
from headrace.sdk.metrics.run_records import SHOWN, ElementRecord, PaneRecord, Samples
from headrace.sdk.pipelines.graph import MAIN, Collection

SAMPLED_KEYS: Final = 8
"""Number of keys of a sample."""

LOOKED_AT: Final = 256
"""Number of elements of a bundle that are looked at."""

QUIET: Final = 60_000_000
"""Processing time in microseconds after which a key that was not seen gives up its place."""

SAMPLED_RECORDS: Final = 1_000
"""Maximum number of records of each kind of a grouping in a round."""

SHARE: Final = 0.01
"""Maximum share of the time that a process samples."""

ALLOWANCE: Final = 0.05
"""Time in seconds that a process may sample in any case."""


@attrs.define(eq=False)
class Budget:
    """The time that the samplers of a process may use.

    Args:
        clock: returns the time in seconds.
    """

    clock: Callable[[], float] = time.perf_counter
    _start: float = attrs.field(init=False)
    _spent: float = attrs.field(default=0.0, init=False)

    def __attrs_post_init__(self) -> None:
        """Start now."""
        self._start = self.clock()

    def spend(self, sample: Callable[[Bundle], None], bundle: Bundle) -> None:
        """Sample a bundle, if there is time for it."""
        begun = self.clock()
        if self._spent <= ALLOWANCE + SHARE * (begun - self._start):
            sample(bundle)
            self._spent += self.clock() - begun


@attrs.define(eq=False)
class Sampler:
    """Samples one grouping.

    Args:
        budget: the time that all samplers of the process may use.

    Attributes:
        samples: the records since they were last taken.
    """

    budget: Budget
    samples: Samples = attrs.field(factory=Samples, init=False)
    _keys: dict[Hashable, str] = attrs.field(factory=dict, init=False)
    _seen: set[Hashable] = attrs.field(factory=set, init=False)
    _last: dict[Hashable, int] = attrs.field(factory=dict, init=False)

    def receiving(self, receive: Callable[[Bundle], None]) -> Callable[[Bundle], None]:
        """Return a function that receives elements, and samples them."""

        def receive_and_sample(bundle: Bundle) -> None:
            receive(bundle)
            self.budget.spend(self._sample_elements, bundle)

        return receive_and_sample

    def sending(self, send: Send) -> Send:
        """Return a function that sends panes, and samples them."""

        def send_and_sample(collection: Collection, bundle: Bundle) -> None:
            send(collection, bundle)
            if collection.tag == MAIN:
                self.budget.spend(self._sample_panes, bundle)

        return send_and_sample

    def take(self, now: int) -> Samples:
        """Return the records, and start again; forget the keys that were not seen for a minute.

        Args:
            now: processing time in microseconds.
        """
        taken, self.samples = self.samples, Samples()
        last = {**self._last, **dict.fromkeys(self._seen, now)}
        self._seen.clear()
        self._keys = {key: t for key, t in self._keys.items() if now - last[key] <= QUIET}
        self._last = {key: last[key] for key in self._keys}
        return taken

    def _sample_elements(self, bundle: Bundle) -> None:
        room = SAMPLED_RECORDS - len(self.samples.elements)
        step = -(-len(bundle) // LOOKED_AT)
        some = bundle.take(range(0, len(bundle), step)) if step > 1 else bundle
        rows = self._followed(some)[:room]
        self.samples.elements += [
            ElementRecord(key, _shown(row.value[1]), row.timestamp, row.diff)
            for key, row in self._rows(some, rows)
        ]

    def _sample_panes(self, bundle: Bundle) -> None:
        room = SAMPLED_RECORDS - len(self.samples.panes)
        rows = self._followed(bundle)[:room] if room else []
        for key, row in self._rows(bundle, rows):
            (window,) = row.windows
            value, pane = _shown(row.value[1]), row.pane
            place = row.timestamp, window[0], window[1]
            record = PaneRecord(key, value, *place, pane.timing.name, pane.index, row.diff)
            self.samples.panes.append(record)

    def _rows(self, bundle: Bundle, rows: list[int]) -> list[tuple[str, Element]]:
        some = bundle.take(rows)
        keys = identities([value[0] for value in some.values])
        return [(self._keys[key], row) for key, row in zip(keys, some.rows(), strict=True)]

    def _followed(self, bundle: Bundle) -> list[int]:
        """Return the rows of the keys that are followed."""
        found = identities([value[0] for value in bundle.values])
        keys = self._keys
        limit = max(map(hash, keys)) if len(keys) == SAMPLED_KEYS else None
        near = {key for key in set(found) - keys.keys() if limit is None or hash(key) < limit}
        if near:
            rows = zip(found, bundle.values, strict=True)
            texts = {key: _text(value[0]) for key, value in rows if key in near}
            chosen = nsmallest(SAMPLED_KEYS, {**keys, **texts}, key=hash)
            keys = self._keys = {key: keys.get(key) or texts[key] for key in chosen}
        self._seen |= keys.keys() & found
        return [row for row, key in enumerate(found) if key in keys]


def _text(key: object) -> str:
    return (key if isinstance(key, str) else shorten(key))[:SHOWN]


def _shown(value: object) -> object:
    """Return a number as it is, and another value as text."""
    if type(value) is int or type(value) is float:
        return value
    return (value if isinstance(value, str) else shorten(value))[:SHOWN]
