"""A cursor: reads a given number of rows at a time from bundles of any size."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.table_bundle import joined


@attrs.define(eq=False)
class Cursor:
    """A position in a sequence of bundles.

    Args:
        bundles: the bundles that follow.

    >>> cursor = Cursor(iter([Bundle([1, 2, 3]), Bundle([4])]))
    >>> cursor.take(2).values, cursor.take(9).values, cursor.take(9).values
    ([1, 2], [3, 4], [])
    """

    bundles: Iterator[Bundle]
    _rest: Bundle | None = attrs.field(default=None, init=False)

    def take(self, limit: int) -> Bundle:
        """Return the next ``limit`` rows, or fewer at the end."""
        taken: list[Bundle] = []
        while limit > 0 and (bundle := self._next()) is not None:
            if len(bundle) > limit:
                self._rest = bundle.part(limit, len(bundle))
                bundle = bundle.part(0, limit)
            taken.append(bundle)
            limit -= len(bundle)
        return joined(taken)

    def skip(self, rows: int) -> None:
        """Skip the next ``rows`` rows."""
        while rows > 0 and (bundle := self._next()) is not None:
            if len(bundle) > rows:
                self._rest = bundle.part(rows, len(bundle))
            rows -= len(bundle)

    def _next(self) -> Bundle | None:
        bundle, self._rest = self._rest, None
        return next(self.bundles, None) if bundle is None else bundle
