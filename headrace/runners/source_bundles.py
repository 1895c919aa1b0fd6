"""Bounded sources, a bundle at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from headrace.sdk.io.source import BoundedSource, ReadsBundles
from headrace.sdk.outputs import as_bundle
from headrace.triggers.bundle import Bundle

BUNDLE_ROWS = 1 << 12
"""So many records of a bounded source make a bundle."""


def bundles_of(source: BoundedSource[Any], partition: Any) -> Iterator[Bundle]:
    """Read a partition from end to end."""
    if isinstance(source, ReadsBundles):
        yield from source.read_bundles(partition)
        return
    records = iter(source.read(partition))
    while chunk := list(islice(records, BUNDLE_ROWS)):
        yield as_bundle(chunk)
