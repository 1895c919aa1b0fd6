"""Bounded sources as bundles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headrace.grouping.bundle import Bundle
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import BoundedSource, ReadsBundles, ReadsTables

BUNDLE_ROWS = 1 << 12
"""The number of records of a bounded source in a bundle."""


def all_bundles_of(source: BoundedSource[object], tables: bool = False) -> Iterator[Bundle]:
    """Read all partitions of a source, as tables if the next steps work on columns."""
    for partition in source.partitions():
        yield from bundles_of(source, partition, tables)


def bundles_of(
    source: BoundedSource[object], partition: object, tables: bool = False
) -> Iterator[Bundle]:
    """Read a whole partition, as tables if the next steps work on columns."""
    if tables and isinstance(source, ReadsTables):
        yield from source.read_tables(partition)
        return
    if isinstance(source, ReadsBundles):
        yield from source.read_bundles(partition)
        return
    records = iter(source.read(partition))
    while chunk := list(islice(records, BUNDLE_ROWS)):
        yield as_bundle(chunk)
