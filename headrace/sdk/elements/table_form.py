"""What an operation on elements says about tables: how it works on them, and what it makes of them."""

from __future__ import annotations

from typing import Final, Protocol, TypeAlias, runtime_checkable

from headrace.grouping.table_bundle import ArrowBundle
from headrace.sdk.elements.record_tables import KeyedRecords, PairRecords, ValueRecords

Made: TypeAlias = type | str
"""The kind of the elements that an operation makes of a table; or why it takes elements."""

CALLS_FUNCTION: Final = "it calls a function of an element"
"""Why an operation takes elements that has no form for their table."""

WITHOUT_NAMES: Final = (PairRecords, KeyedRecords, ValueRecords)
"""The kinds of elements that have no named fields."""


class TableForm(Protocol):
    """An operation on a table, without making elements."""

    def made_of(self, kind: type | None) -> Made:
        """Return the kind of the elements that it makes of elements of a kind, or why it takes elements.

        Args:
            kind: a type of records, or the class of other elements of tables, such as ``PairRecords``.
        """

    def apply(self, bundle: ArrowBundle) -> ArrowBundle | None:
        """Return what it makes of a table; None if the elements of the table are of another kind."""


@runtime_checkable
class HasTableForm(Protocol):
    """A function of an element that may have a form for tables."""

    def table_form(self) -> TableForm | None:
        """Return how it works on tables; None if it needs elements."""


def name_of(kind: type | None) -> str:
    """Return the name of a kind of elements, for explanations.

    >>> name_of(dict), name_of(PairRecords), name_of(ValueRecords)
    ('dict', 'pairs', 'plain values')
    """
    if kind is ValueRecords:
        return "plain values"
    return "pairs" if kind is None or issubclass(kind, WITHOUT_NAMES) else kind.__name__
