"""Bounded sources, and events of test streams, as bundles."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from headrace.grouping.bundle import Bundle
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.source import BoundedSource, BoundedTables, EventTables, ReadsBundles

BUNDLE_ROWS = 1 << 12
"""The number of records of a bounded source in a bundle."""


def all_bundles_of(source: BoundedSource[object], tables: bool = False) -> Iterator[Bundle]:
    """Read all partitions of a source, as tables if the next steps work on columns."""
    for partition in source.partitions():
        yield from bundles_of(source, partition, tables)


def event_bundle(source: object, elements: Bundle, tables: bool) -> Bundle:
    """Return elements that a source has read, those of a test stream as a table if the next steps need one.

    Args:
        source: the source.
        elements: the elements, which arrive together.
        tables: whether the next steps work on columns.
    """
    return source.event_table(elements) if tables and isinstance(source, EventTables) else elements


def bundles_of(
    source: BoundedSource[object], partition: object, tables: bool = False
) -> Iterator[Bundle]:
    """Read a whole partition, as tables if the next steps work on columns."""
    if tables and isinstance(source, BoundedTables):
        yield from source.read_tables(partition)
        return
    if isinstance(source, ReadsBundles):
        yield from source.read_bundles(partition)
        return
    records = iter(source.read(partition))
    while chunk := list(islice(records, BUNDLE_ROWS)):
        yield as_bundle(chunk)
