"""Operations on tables of plain values or rows: words of text, and pairs of an element and None."""

from __future__ import annotations

from typing import Final

import attrs

from headrace.grouping.table_bundle import ArrowBundle, TableBundle
from headrace.sdk.elements.record_tables import (
    Fields,
    PairRecords,
    RowKey,
    RowRecords,
    TableKey,
    ValueRecords,
)
from headrace.sdk.elements.row import Row
from headrace.sdk.elements.table_form import CALLS_FUNCTION, Made

WHITE_SPACE: Final = (
    "\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
"""The characters at which ``str.split`` splits."""


@attrs.frozen
class Words:
    """The words of text, as ``str.split`` returns them."""

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of plain values, or why it takes elements."""
        return ValueRecords if kind is ValueRecords else CALLS_FUNCTION

    def apply(self, bundle: ArrowBundle) -> TableBundle | None:
        """Return the words as a table; None if the elements of the table are not all text."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not (isinstance(bundle, TableBundle) and isinstance(bundle.records, ValueRecords)):
            return None
        name = bundle.records.name
        text = bundle.table.column(name).combine_chunks()
        if not pa.types.is_string(text.type) or text.null_count:
            return None
        # pyarrow can find a word beyond the last text if it ends with white space
        lists = pc.utf8_split_whitespace(pa.concat_arrays([text, pa.array(["."])]))[:-1]
        words, rows = pc.list_flatten(lists), pc.list_parent_indices(lists)
        real = pc.not_equal(words, "")
        table = pa.table({name: words.filter(real)})
        return bundle.expanded(rows.filter(real).to_numpy(), table)


@attrs.frozen
class PairsWithNone:
    """Pairs of a plain value or a row and None."""

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of pairs, or why it takes elements."""
        return PairRecords if kind in (ValueRecords, Row) else CALLS_FUNCTION

    @staticmethod
    def pairs(key: TableKey) -> PairRecords[Fields]:
        """Return the fields of the pairs; that of their values has no values.

        Args:
            key: what the elements, which become keys, are made of.
        """
        return PairRecords(key, Fields((f"{key.names[0]} paired",), single=True))

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return the pairs as a table; None if the elements of the table are neither values nor rows."""
        import pyarrow as pa

        names = tuple(bundle.table.column_names)
        if isinstance(bundle.records, ValueRecords):
            key: TableKey = Fields((bundle.records.name,), single=True)
        elif isinstance(bundle.records, RowRecords) and names:
            key = RowKey(names)
        else:
            return None
        pairs = self.pairs(key)
        if pairs.value.names[0] in names:
            return None
        nothing = pa.nulls(len(bundle))
        return bundle.with_table(bundle.table.append_column(pairs.value.names[0], nothing), pairs)
