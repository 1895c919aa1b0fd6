"""Bounded sources as bundles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headrace.grouping.bundle import Bundle
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import BoundedSource, ReadsBundles

BUNDLE_ROWS = 1 << 12
"""The number of records of a bounded source in a bundle."""


def all_bundles_of(source: BoundedSource[object]) -> Iterator[Bundle]:
    """Read all partitions of a source."""
    for partition in source.partitions():
        yield from bundles_of(source, partition)


def bundles_of(source: BoundedSource[object], partition: object) -> Iterator[Bundle]:
    """Read a whole partition."""
    if isinstance(source, ReadsBundles):
        yield from source.read_bundles(partition)
        return
    records = iter(source.read(partition))
    while chunk := list(islice(records, BUNDLE_ROWS)):
        yield as_bundle(chunk)
