"""Histories of a table, the changelogs that tell them, and what groupings of its rows hold.

A case is a table whose rows are written and deleted, and the order in which its changes arrive: with changes
that overtake others, and some that come twice. After each arrival the table is known: of each key the latest
change that has arrived. So is the result of each grouping, in plain Python.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

import headrace as hr
from headrace.testing import Captured, TestStream, capture
from headrace.triggers import AccumulationMode, AfterCount, Repeatedly
from headrace.windowing import FOREVER, FixedWindows, GlobalWindows, Sessions

SIZE: Final = 10
GAP: Final = 5
PACE: Final = 3
"""Seconds of event time between two arrivals; the watermark follows them."""


class Row(NamedTuple):
    """Who paid, how much, and when in seconds: which is when it is in event time."""

    who: str
    amount: int
    at: int


class Case(NamedTuple):
    """A history.

    Attributes:
        changes: of each change the key, and the row from now on; None for a deletion.
        arrivals: numbers of changes, in the order of their arrival.
    """

    changes: tuple[tuple[str, Row | None], ...]
    arrivals: tuple[int, ...]

    def table(self, arrived: int) -> dict[str, Row]:
        """The rows after some arrivals."""
        latest: dict[str, int] = {}
        for number in self.arrivals[:arrived]:
            key = self.changes[number][0]
            latest[key] = max(number, latest.get(key, -1))
        rows = {key: self.changes[number][1] for key, number in latest.items()}
        return {key: row for key, row in rows.items() if row is not None}


ROWS = st.builds(Row, st.sampled_from(["ann", "bob"]), st.integers(1, 3), st.integers(0, 30))
CHANGES = st.tuples(st.sampled_from("abcd"), st.one_of(st.none(), ROWS, ROWS))


@st.composite
def cases(draw: Any, in_order: bool = False) -> Case:
    """Draw a history; its arrivals are all changes, with some that overtake others or come twice."""
    changes = draw(st.lists(CHANGES, min_size=1, max_size=10))
    order = list(range(len(changes)))
    if not in_order:
        places = draw(st.lists(st.integers(0, 3), min_size=len(order), max_size=len(order)))
        order.sort(key=lambda number: number + places[number])
        order += draw(st.lists(st.sampled_from(order), max_size=3))
    return Case(tuple(changes), tuple(order))


def drawn_cases(number: int, seed: int = 7) -> list[Case]:
    """The same cases each time, for runners on which a pipeline is expensive."""
    random = Random(seed)
    return [_drawn(random) for _ in range(number)]


def _drawn(random: Random) -> Case:
    changes = tuple((random.choice("abc"), _row(random)) for _ in range(6))
    order = sorted(range(6), key=lambda number: number + random.randrange(4))
    return Case(changes, (*order, *random.choices(order, k=2)))


def _row(random: Random) -> Row | None:
    who, amount, at = random.choice("ab"), random.randint(1, 3), random.randint(0, 30)
    return None if random.random() < 0.3 else Row(who, amount, at)


# What groupings of a table hold


def results(rows: Iterable[Row]) -> Counter[Any]:
    """What all groupings hold of rows: fixed windows, sessions and a join, as a multiset."""
    rows = list(rows)
    return Counter([*_fixed(rows), *_sessions(rows), *_joined(rows)])


def _fixed(rows: list[Row]) -> Iterable[Any]:
    totals: dict[Any, int] = defaultdict(int)
    for row in rows:
        totals[row.who, row.at // SIZE * SIZE] += row.amount
    return (("fixed", who, total, start, start + SIZE) for (who, start), total in totals.items())


def _sessions(rows: list[Row]) -> Iterable[Any]:
    found: dict[str, list[list[int]]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.at):
        own = found[row.who]
        if own and row.at < own[-1][1]:
            own[-1][1] = row.at + GAP
            own[-1][2] += 1
        else:
            own.append([row.at, row.at + GAP, 1])
    return (("session", who, n, *ends) for who, own in found.items() for *ends, n in own)


def _joined(rows: list[Row]) -> Iterable[Any]:
    """Join the rows of the first half of the time with those of the second, by who."""
    for who in {row.who for row in rows}:
        own = [row for row in rows if row.who == who]
        sides = (tuple(sorted(r.amount for r in own if early == (r.at < 15))) for early in (1, 0))
        yield "join", who, *sides


EACH: Final[dict[str, Any]] = {
    "trigger": Repeatedly(AfterCount(1)),
    "accumulation_mode": AccumulationMode.RETRACTING,
}


class Groupings(hr.PTransform[Any, Any]):
    """The groupings, each of whose panes is (name, key, value, start, end)."""

    def expand(self, pcoll: Any) -> Any:
        pairs = pcoll | hr.Map(lambda row: (row[0], row[1]))
        fixed = hr.WindowInto(FixedWindows(SIZE), allowed_lateness=FOREVER, **EACH)
        sessions = hr.WindowInto(Sessions(GAP), allowed_lateness=FOREVER, **EACH)
        early = pcoll | "early" >> hr.Filter(lambda row: row[2] < 15)
        late = pcoll | "late" >> hr.Filter(lambda row: row[2] >= 15)
        sides = [
            side
            | f"{name} pairs" >> hr.Map(lambda row: (row[0], row[1]))
            | f"{name} in all time" >> hr.WindowInto(GlobalWindows(), **EACH)
            for name, side in (("early", early), ("late", late))
        ]
        totals = pairs | fixed | "sum" >> hr.CombinePerKey(sum)
        numbers = pairs | sessions | "n" >> hr.combiners.Count.PerKey()
        return (
            totals | "total" >> hr.Map(_windowed, "fixed") | "totals" >> _everywhere(),
            numbers | "number" >> hr.Map(_windowed, "session") | "numbers" >> _everywhere(),
            tuple(sides) | hr.CoGroupByKey() | "join" >> hr.Map(_sides) | "joins" >> _everywhere(),
        ) | hr.Flatten()


def _everywhere() -> hr.WindowInto:
    return hr.WindowInto(GlobalWindows())


def _windowed(pair: Any, name: str, window: Any = hr.DoFn.WindowParam) -> Any:
    return name, *pair, int(window.start), int(window.end)


def _sides(pair: Any) -> Any:
    who, sides = pair
    return "join", who, *(tuple(sorted(side)) for side in sides)


# The changelogs that tell a history


def number_of(case: int, text: str) -> str:
    """A key or a name of a case, among those of others."""
    return f"{case}{text}"


def _of_case(case: int, row: Row | None) -> Row | None:
    return None if row is None else row._replace(who=number_of(case, row.who))


def upsert(case: int, history: Case, number: int) -> Any:
    key, row = history.changes[number]
    return {"key": number_of(case, key), "row": _of_case(case, row), "n": number}


class Upserts(hr.PTransform[Any, Any]):
    """The rows that upserts tell."""

    def expand(self, pcoll: Any) -> Any:
        latest = hr.FromUpserts(
            "key", lambda e: e["row"], order_by="n", timestamp=lambda row: row[2]
        )
        return pcoll | latest | hr.Values()


def message(case: int, history: Case, number: int) -> Any:
    """A change as Debezium tells it; every third has the row before, every second a wrapper."""
    key, row = history.changes[number]
    earlier = [r for k, r in history.changes[:number] if k == key]
    before = earlier[-1] if earlier else None
    op = "d" if row is None else "r" if number % 4 == 0 else "c" if before is None else "u"
    envelope = {
        "op": op,
        "before": _fields(_of_case(case, before)) if number % 3 == 0 else None,
        "after": _fields(_of_case(case, row)),
        "source": {"connector": "postgresql", "table": "payments", "lsn": number},
    }
    told = {"schema": {}, "payload": envelope} if number % 2 else envelope
    return json.dumps({"id": number_of(case, key)}).encode(), json.dumps(told).encode()


def _fields(row: Row | None) -> Any:
    return None if row is None else row._asdict()


class Messages(hr.PTransform[Any, Any]):
    """The rows that Debezium's messages tell."""

    def expand(self, pcoll: Any) -> Any:
        rows = pcoll | hr.FromDebezium(timestamp="at", on_truncate=self._on_truncate)
        return rows | "row" >> hr.Map(lambda row: (row["who"], row["amount"], row["at"]))

    def __init__(self, on_truncate: Any = "error") -> None:
        super().__init__()
        self._on_truncate = on_truncate


def diffs(case: int, history: Case, number: int) -> Any:
    """What the arrival of a number changes in the table, as diffs; by place and not by number."""
    before, after = history.table(number), history.table(number + 1)
    gone = [(-1, key, row) for key, row in before.items() if after.get(key) != row]
    new = [(1, key, row) for key, row in after.items() if before.get(key) != row]
    return [(diff, (number_of(case, key), *_of_case(case, row))) for diff, key, row in gone + new]  # type: ignore[misc]


class Diffs(hr.PTransform[Any, Any]):
    """The rows that diffs tell."""

    def __init__(self, on_unmatched: Any = "error") -> None:
        super().__init__()
        self._on_unmatched = on_unmatched

    def expand(self, pcoll: Any) -> Any:
        rows = pcoll | hr.FromChangelog(
            timestamp=lambda row: row[3], on_unmatched=self._on_unmatched
        )
        return rows | "without key" >> hr.Map(lambda row: row[1:])


def told(kind: str, histories: Sequence[Case], place: int) -> list[Any]:
    """The elements of all cases at one place of their arrivals."""
    found: list[Any] = []
    for case, history in enumerate(histories):
        if place < len(history.arrivals):
            number = history.arrivals[place]
            if kind == "upserts":
                found.append(upsert(case, history, number))
            elif kind == "messages":
                found.append(message(case, history, number))
            else:
                found += diffs(case, history, place)
    return found


def arriving(kind: str, histories: Sequence[Case]) -> TestStream:
    """The arrivals, one after another; the clock and the watermark advance between them."""
    stream = TestStream()
    for place in range(places(histories)):
        at = place * PACE
        elements = [hr.TimestampedValue(e, at) for e in told(kind, histories, place)]
        if elements:
            stream = stream.add_elements(elements)
        if place % 2:
            stream = stream.advance_watermark_to(at)
        stream = stream.advance_processing_time(1)
    return stream.advance_watermark_to_infinity()


def places(histories: Sequence[Case]) -> int:
    return max(len(history.arrivals) for history in histories)


KINDS: Final = {"upserts": Upserts, "messages": Messages, "diffs": Diffs}


def at_once(kind: str, histories: Sequence[Case]) -> hr.Create:
    """All arrivals as a batch."""
    arrived = [told(kind, histories, place) for place in range(places(histories))]
    return hr.Create([element for elements in arrived for element in elements])


def grouped(
    p: Any, kind: str, histories: Sequence[Case], rows: Any = None, source: Any = arriving
) -> Any:
    """The panes of the groupings of a changelog."""
    changes = p | f"{kind} in" >> source(kind, histories)
    found = changes | f"{kind} rows" >> (rows or KINDS[kind]())
    return capture(found | f"{kind} grouped" >> Groupings(), kind)


def net(panes: Iterable[Captured], until: float) -> Counter[Any]:
    """What the panes up to a time hold."""
    found: Counter[Any] = Counter()
    for pane in panes:
        if float(pane.now) <= until:
            found[pane.value] += pane.diff
    return Counter({value: n for value, n in found.items() if n})


def check(panes: Sequence[Captured], histories: Sequence[Case]) -> None:
    """Check that after each arrival the panes hold what the present rows of all tables give."""
    for place in range(places(histories)):
        assert net(panes, place) == results(present(histories, place + 1)), place


def check_at_the_end(panes: Sequence[Captured], histories: Sequence[Case]) -> None:
    """Check that all panes together hold what the last rows of all tables give."""
    assert net(panes, float("inf")) == results(present(histories, places(histories)))


def present(histories: Sequence[Case], arrived: int) -> list[Row]:
    """The rows of all tables after some arrivals."""
    return [
        row._replace(who=number_of(case, row.who))
        for case, history in enumerate(histories)
        for row in history.table(arrived).values()
    ]
