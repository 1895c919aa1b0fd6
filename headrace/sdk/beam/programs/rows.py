"""Rows of a bundle as Beam's windowed values, and what Beam's DoFns emit as bundles by tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

import attrs
from apache_beam.runners.common import Receiver
from apache_beam.utils.windowed_value import create

from headrace.grouping.bundle import INSERT, Bundle
from headrace.sdk.beam.programs.windows import WindowTranslation, pane_of_ours, pane_of_theirs
from headrace.sdk.pipelines.graph import MAIN
from headrace.sdk.pipelines.outputs import Outputs
from headrace.windowing.column import Column


def windowed_values(bundle: Bundle, translation: WindowTranslation) -> Iterator[Any]:
    """Return the rows of a bundle as Beam's windowed values."""
    return map(
        create,
        bundle.values,
        bundle.timestamps,
        converted(bundle.windows, translation.theirs),
        converted(bundle.panes, pane_of_ours),
    )


def converted(column: Column[Any], convert: Callable[[Any], Any]) -> Iterable[Any]:
    """Return a column with its cells converted; one that repeats a cell stays one.

    >>> list(converted([1, 2], str))
    ['1', '2']
    """
    return repeat(convert(next(column))) if isinstance(column, repeat) else map(convert, column)


def tag_of(tag: Any) -> str:
    """Return the tag of an output of Beam as ours; the main output has no tag there.

    >>> tag_of(None), tag_of("odd"), tag_of("main")
    ('main', 'odd', 'tag main')
    """
    if tag is None:
        return MAIN
    return f"tag {tag}" if tag == MAIN else str(tag)


class EmittedValues(Receiver):
    """Collects what is emitted to an output.

    Attributes:
        values: Beam's windowed values.
        converter: makes elements of batches; None if no batches are emitted.
    """

    def __init__(self, converter: Any = None) -> None:
        self.values: list[Any] = []
        self.converter = converter

    def receive(self, windowed_value: Any) -> None:
        """Take an element."""
        self.values.append(windowed_value)

    def receive_batch(self, windowed_batch: Any) -> None:
        """Take the elements of a batch."""
        self.values.extend(windowed_batch.as_windowed_values(self.converter.explode_batch))

    def flush(self) -> None:
        """Do nothing: elements are not kept back."""


class _Receivers(dict[Any, EmittedValues]):
    """The outputs by tag; what is emitted to an output that nothing reads is dropped."""

    def __missing__(self, tag: Any) -> EmittedValues:
        found = self[tag] = EmittedValues(self[None].converter)
        return found


@attrs.define(eq=False)
class Emitted:
    """What a DoFn of Beam emits.

    Attributes:
        receivers: the outputs by tag; None is the main output.
    """

    receivers: dict[Any, EmittedValues]

    @staticmethod
    def with_converter(converter: Any) -> Emitted:
        """Return empty outputs, which take batches of a converter, too."""
        return Emitted(_Receivers({None: EmittedValues(converter)}))

    def drain(self, translation: WindowTranslation) -> Outputs:
        """Return the outputs so far as bundles by tag, and forget them."""
        made: Outputs = {}
        for tag, receiver in self.receivers.items():
            if receiver.values:
                made[tag_of(tag)] = bundle_of(receiver.values, translation)
                receiver.values = []
        return made


def bundle_of(rows: list[Any], translation: WindowTranslation) -> Bundle:
    """Return Beam's windowed values as a bundle."""
    return Bundle(
        [row.value for row in rows],
        [row.timestamp_micros for row in rows],
        _alike([row.windows for row in rows], translation.ours),
        _alike([row.pane_info for row in rows], pane_of_theirs),
        repeat(INSERT),
    )


def _alike(cells: list[Any], convert: Any) -> Column[Any]:
    """Convert the cells of a column, of which most are the same object as the one before."""
    first = cells[0]
    if all(cell is first for cell in cells):
        return repeat(convert(first))
    made: list[Any] = []
    last, converted = first, convert(first)
    for cell in cells:
        if cell is not last:
            last, converted = cell, convert(cell)
        made.append(converted)
    return made
