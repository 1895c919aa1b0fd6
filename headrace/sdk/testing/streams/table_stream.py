"""Sources of tests whose rows reach the first steps as columns: scripted, or values in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import TableBundle
from headrace.sdk.elements.column_expressions import table_of_elements
from headrace.sdk.elements.record_tables import AS_ROWS, RowRecords
from headrace.sdk.elements.row import Row
from headrace.sdk.pipelines.outputs import as_bundle
from headrace.sdk.sources.reading import ValuesSource
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.sources.source import BoundedTables, EventTables
from headrace.sdk.typehints.type_hints import with_output_types
from headrace.windowing.column import materialise


@with_output_types(Row)
class TableStream(TestStream[Row], EventTables):
    """A test stream of rows that reach the first steps as columns, if these can work on columns.

    So a test runs the steps on columns, as for a file of Parquet. The elements of an event are one Arrow
    table; they stay rows if a table does not hold them exactly. All rows of an event have the same fields.

    >>> from operator import attrgetter
    >>> rows = [Row(key="a", value=3), Row(key="a", value=4)]
    >>> stream = TableStream().add_elements(rows).advance_watermark_to_infinity()
    >>> with Pipeline() as p:
    ...     pairs = p | stream | Map(attrgetter("key", "value"))
    ...     _ = pairs | CombinePerKey(sum) | Map(print)
    ('a', 7)
    """

    @property
    def records(self) -> RowRecords:
        return AS_ROWS

    def event_table(self, elements: Bundle) -> Bundle:
        return as_table(elements)


class TableValues(ValuesSource, BoundedTables):
    """A source of rows in memory, which are one Arrow table."""

    @property
    def records(self) -> RowRecords:
        return AS_ROWS

    def read_tables(self, partition: Any) -> Iterator[Bundle]:
        yield as_table(as_bundle(self.values))


def as_table(bundle: Bundle) -> Bundle:
    """Return rows as a table, or as they are if a table does not hold them exactly.

    >>> type(as_table(Bundle([Row(key="a", value=3)]))).__name__
    'TableBundle'
    >>> type(as_table(Bundle([Row(key="a", value=3), Row(key="a", value=0.5)]))).__name__
    'Bundle'
    """
    if not len(bundle):
        return bundle
    import numpy as np

    table = table_of_elements(bundle.values, None, {})
    if list(map(repr, AS_ROWS.elements(table))) != list(map(repr, bundle.values)):
        return bundle
    times = np.array(materialise(bundle.timestamps, len(bundle)), np.int64)
    return TableBundle(table, AS_ROWS, times)
