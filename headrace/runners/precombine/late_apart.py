"""Precombiner that keeps late elements apart, for a late output of windows that are not sessions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice, repeat

import attrs

from headrace.grouping.bundle import Bundle
from headrace.grouping.pane_output import ArrivalColumns
from headrace.grouping.table_bundle import TableBundle
from headrace.runners.precombine.key_index import with_late
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.protocol import Arrivals, GroupInput, Input, expired_until
from headrace.windowing.time.timestamps import MIN_MICROS
from headrace.windowing.window_fn import Windows


@attrs.define
class LateApart:
    """Late elements as they are, and all others combined.

    An element with several windows can be late in some of them only.

    Attributes:
        input: the facts about the elements.
        in_time: takes elements with windows in which they are not late.
        late: takes elements with windows in which they are late.
        watermark: the input watermark, or a later time; then also elements that are not late are kept.
    """

    input: Input
    in_time: GroupInput
    late: ElementPrecombiner
    watermark: int = MIN_MICROS

    def add(self, bundle: Bundle) -> None:
        """Take the elements of a bundle."""
        if isinstance(bundle, TableBundle):
            rest = self._add_rows(self._windowed(bundle))
        else:
            rest = bundle.with_windows(self.input.windows(bundle))
        if len(rest):
            self._add_elements(rest)

    def drain(self) -> Arrivals:
        """Return each key with one arrival per window."""
        found = with_late(self.in_time.drain(), self.late.drain())
        return ((identity, key, [*own, *late]) for identity, key, own, late in found)

    def columns(self) -> Iterator[ArrivalColumns]:
        """Yield the arrivals of one window at a time."""
        return chain(self.late.columns(), self.in_time.columns())

    def _windowed(self, bundle: TableBundle) -> TableBundle:
        window_fn = self.input.strategy.window_fn
        return bundle.windowed(window_fn) if self.input.assigns_windows else bundle

    def _add_rows(self, bundle: TableBundle) -> Bundle:
        """Add the rows of a table that are certainly not late, and return the others.

        Windows that are assigned by time alone do not end before the timestamp.
        """
        if bundle.times is None:
            return bundle
        early = bundle.times < expired_until(self.input.strategy, self.watermark)
        if not early.any():
            self.in_time.add(bundle)
            return Bundle([])
        self.in_time.add(bundle.filtered(~early))
        return bundle.filtered(early)

    def _add_elements(self, bundle: Bundle) -> None:
        """Add elements with their windows."""
        column = bundle.windows
        some = {next(column)} if isinstance(column, repeat) else set(column)
        late = {windows: self._late(windows) for windows in some}
        if not any(late.values()):
            self.in_time.add(bundle)
            return
        kept = {windows: tuple(w for w in windows if w not in late[windows]) for windows in some}
        for taker, part in ((self.in_time, kept), (self.late, late)):
            own = [part[windows] for windows in islice(column, len(bundle))]
            if any(own):
                taker.add(bundle.with_windows(own).where(own))

    def _late(self, windows: Windows) -> Windows:
        """Return the windows that take no more elements."""
        strategy = self.input.strategy
        return tuple(w for w in windows if strategy.is_late(w.last, self.watermark))
