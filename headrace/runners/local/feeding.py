"""Feeds: what each source has to say in a round, bundles and a watermark.

In batch mode a bounded source is read to its end in one round. In streaming mode each round takes so many
records from each partition, which a watermark policy observes; a test stream says one event of its script.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

import attrs

from headrace.sdk.io.source import BoundedSource, UnboundedSource
from headrace.sdk.outputs import as_bundle
from headrace.triggers.bundle import Bundle
from headrace.windowing.time import MAX_MICROS, MIN_MICROS, micros
from headrace.windowing.watermark import PartitionedWatermark, WatermarkPolicy

BUNDLE_ROWS = 1 << 14
"""So many records of a bounded source make a bundle."""


class Feed(Protocol):
    """A source at work.

    Attributes:
        watermark: how far the source is complete after what was polled, in microseconds.
        done: whether nothing more will come.
    """

    watermark: int
    done: bool

    def poll(self, now: int) -> Iterable[Bundle]:
        """Return what the source has for this round, at a processing time in microseconds."""


@attrs.define(eq=False)
class WholeFeed:
    """A bounded source, read to its end in one round."""

    source: BoundedSource[Any]
    watermark: int = MIN_MICROS
    done: bool = False

    def poll(self, now: int) -> Iterator[Bundle]:
        """Read everything, a bundle at a time."""
        for partition in self.source.partitions():
            records = iter(self.source.read(partition))
            while chunk := list(islice(records, BUNDLE_ROWS)):
                yield as_bundle(chunk)
        self.watermark, self.done = MAX_MICROS, True
