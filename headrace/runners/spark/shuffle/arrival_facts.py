"""Facts about arrivals that a grouping needs besides their contents, as columns.

If late elements have an output, the elements themselves follow, as one pickled bundle for each block. Few
elements are late, so a bundle is unpickled only when one of its elements is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, repeat
from typing import Any, Final, NamedTuple

import attrs

from headrace.grouping.bundle import Bundle, Element
from headrace.grouping.pane_output import Arrival
from headrace.runners.spark.shuffle.bundle_columns import pack, unpack
from headrace.runners.spark.shuffle.packed_integers import (
    Integers,
    packed_integers,
    unpacked_integers,
)
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.triggers.trigger import Arrived
from headrace.windowing.window import BoundedWindow

Predicates = Sequence[Callable[..., Any]]


class ArrivalFacts(NamedTuple):
    """The facts of arrivals: of each field of :class:`~headrace.grouping.pane_output.Arrival` a column.

    Attributes:
        counts: number of elements.
        sizes: size of the elements.
        matched: the matched predicates, as indexes into the trigger's predicates.
        earliest: earliest timestamp.
        latest: latest timestamp.
        times: number of insertions less the number of retractions, for each timestamp.
        lengths: number of elements that follow.
        elements: the elements, as a pickled bundle; empty if none follow.
    """

    counts: list[int]
    sizes: list[int]
    matched: list[tuple[int, ...]]
    earliest: Integers
    latest: Integers
    times: list[Mapping[int, int]]
    lengths: list[int]
    elements: bytes


NO_FACTS: Final = ArrivalFacts([], [], [], [], [], [], [], b"")
"""The facts of no arrivals."""


def facts_of(arrivals: Sequence[Arrival], predicates: Predicates) -> ArrivalFacts:
    """Return the facts of arrivals."""
    indexes = {predicate: n for n, predicate in enumerate(predicates)}
    arrived = [a.arrived for a in arrivals]
    elements = [list(chain.from_iterable(a.elements)) for a in arrivals]
    bundle = Bundle.of(list(chain.from_iterable(elements)))
    return ArrivalFacts(
        counts=[a.count for a in arrived],
        sizes=[a.size for a in arrived],
        matched=[tuple(sorted(map(indexes.__getitem__, a.matched_predicates))) for a in arrived],
        earliest=packed_integers([a.earliest for a in arrivals]),
        latest=packed_integers([a.latest for a in arrivals]),
        times=[a.times for a in arrivals],
        lengths=list(map(len, elements)),
        elements=dumps(pack(bundle)) if bundle.values else b"",
    )


def facts_of_elements(elements: Bundle) -> ArrivalFacts:
    """Return what is needed of arrivals of one element each, if only their number is; the rest is empty."""
    ones = [1] * len(elements)
    return ArrivalFacts(ones, [], [], [], [], [], ones, dumps(pack(elements)))


def arrivals_of(
    facts: ArrivalFacts,
    windows: Iterable[BoundedWindow],
    contents: Iterable[object],
    predicates: Predicates,
) -> Iterator[Arrival]:
    """Return the arrivals with some facts."""
    matched = (frozenset(predicates[n] for n in some) for some in facts.matched)
    arrived = map(Arrived, facts.counts, facts.sizes, matched)
    rows = range(len(facts.lengths))
    elements = map(PackedElements(facts).of, rows) if facts.elements else repeat(())
    earliest, latest = map(unpacked_integers, (facts.earliest, facts.latest))
    return map(Arrival, windows, contents, arrived, earliest, latest, elements, facts.times)


@attrs.define(eq=False)
class PackedElements:
    """The elements of a block, which are unpickled when they are first needed.

    Args:
        facts: the facts of the block.
    """

    facts: ArrivalFacts
    _ends: list[int] = attrs.field(init=False)
    _bundle: Bundle | None = attrs.field(default=None, init=False)

    def __attrs_post_init__(self) -> None:
        """Find the elements of each arrival."""
        self._ends = list(accumulate(self.facts.lengths))

    def of(self, arrival: int) -> tuple[Iterable[Element], ...]:
        """Return the elements of an arrival, by number, which are not read yet."""
        if not self.facts.elements:
            return ()
        end = self._ends[arrival]
        return (_Part(self, end - self.facts.lengths[arrival], end),)

    def part(self, start: int, end: int) -> Iterator[Element]:
        """Return the elements from one up to, but not including, another."""
        if self._bundle is None:
            self._bundle = unpack(loads(self.facts.elements))
        return self._bundle.part(start, end).rows()


@attrs.frozen(eq=False)
class _Part:
    """The elements of an arrival."""

    packed: PackedElements
    start: int
    end: int

    def __iter__(self) -> Iterator[Element]:
        return self.packed.part(self.start, self.end)
