"""Random changelogs in random batches, some of them written again, leave a table that equals a dict."""

from __future__ import annotations

from datetime import UTC
from typing import Any

import attrs
from hypothesis import HealthCheck, given, settings, strategies as st

from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.io.table.materialized_view import ViewSink
from headrace.sdk.io.table.sink import TableSink
from headrace.sdk.sources.sink import SinkBatch
from headrace.windowing import IntervalWindow
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.unit.sdk.io.test_table import contents, query

KEYS = ["a", "A", "a ", "á", "a\u0301", "", "ﬀ", "😀", "x" * 200]
"""Texts some of which a collation takes for equal."""

VALUES = st.tuples(
    st.none() | st.integers(-(2**63), 2**63 - 1),
    st.none() | st.sampled_from([*KEYS, "%s", "\\'", '"', "\n"]),
)
COLUMNS: Any = ("k", "n", "text")
TYPES = {"k": str, "n": int, "text": str}

few = settings(
    max_examples=min(settings().max_examples, 12),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@attrs.define
class Model:
    """What a table should hold: a dict, and the rows that were only added."""

    rows: dict[str, tuple[Any, ...]] = attrs.field(factory=dict)
    added: list[tuple[Any, ...]] = attrs.field(factory=list)

    def changes(self, draw: Any) -> list[tuple[int, tuple[Any, ...]]]:
        """Draw changes of some keys: to another row, or to none; each key perhaps several times."""
        changes = []
        for key in draw(st.lists(st.sampled_from(KEYS), max_size=8)):
            old = self.rows.pop(key, None)
            if old is not None:
                changes.append((-1, old))
            if old is None or draw(st.booleans()):
                new = self.rows[key] = (key, *draw(VALUES))
                changes.append((1, new))
        return list(draw(st.permutations(changes)))


@few
@given(st.data())
def test_a_changelog_in_any_batches_leaves_what_a_dict_holds(database, data):
    """A batch that is written again, by a new process too, and older ones, change nothing."""
    model, written = Model(), []
    sinks = reopened(database)
    empty(database, *sinks)
    for number in range(data.draw(st.integers(1, 6))):
        batch = batch_of(number, model.changes(data.draw))
        model.added += batch.bundle.values
        written.append(batch)
        again = data.draw(st.lists(st.integers(0, number), max_size=2))
        for each in [batch, *(written[n] for n in again)]:
            sinks = reopened(database) if data.draw(st.integers(0, 3)) == 3 else sinks
            write(sinks, each)
        check(database, model)


def check(database, model):
    for name, rows in [("keyed", model.rows.values()), ("added", model.added)]:
        found = contents_of(database, name)
        assert unordered(found) == unordered(rows)


def contents_of(database, table):
    """The rows of a table; none if it was not created, since no batch had net changes."""
    sink = TableSink(database, table, ("k",) if table == "keyed" else (), COLUMNS, TYPES, False)
    sink.open()
    there = sink.database is not None and sink.database.table is not None
    return query(database, f"select k, n, text from {table}") if there else []


def unordered(rows):
    return sorted(map(repr, rows))


def reopened(database):
    """Sinks as a new process has them."""
    keyed = TableSink(database, "keyed", ("k",), COLUMNS, TYPES, False)
    added = TableSink(database, "added", (), COLUMNS, TYPES, False)
    for sink in (keyed, added):
        sink.open()
    return keyed, added


def empty(database, *sinks):
    """Delete the rows of the case before, if there was one."""
    tables = [sink.table for sink in sinks if sink.database.table is not None]
    for table in [*tables, *(["headrace_batches"] if tables else [])]:
        query(database, f"delete from {table}")


def batch_of(number, changes):
    return SinkBatch(
        number, 0, Bundle.of([Element(row, 0, (), diff=d) for d, row in changes]), "run"
    )


def write(sinks, batch):
    keyed, added = sinks
    keyed.write(attrs.evolve(batch, step="keyed"))
    added.write(attrs.evolve(batch, step="added"))


WINDOWS = [IntervalWindow(start, start + size) for start in range(0, 60, 10) for size in (10, 20)]


@few
@given(st.data())
def test_a_view_holds_the_latest_pane_of_each_live_window(database, data):
    keep = data.draw(st.integers(0, 15))
    model: dict[tuple[str, IntervalWindow], int] = {}
    view, watermark, horizon = opened_view(database, keep), -100, None
    empty(database, view)
    for number in range(data.draw(st.integers(1, 6))):
        live = [w for w in WINDOWS if horizon is None or w.end > horizon]
        panes = st.tuples(st.sampled_from("aA"), st.sampled_from(live or WINDOWS[-1:]))
        drawn = data.draw(st.lists(st.tuples(panes, st.integers(0, 99)), max_size=5))
        model.update(drawn)
        watermark = data.draw(st.integers(watermark, 120))
        horizon = watermark - keep
        model = {pane: n for pane, n in model.items() if pane[1].end > horizon}
        batch = view_batch(number, drawn, watermark * SECOND)
        for again in range(data.draw(st.integers(1, 2))):
            view = opened_view(database, keep) if again else view
            view.write(batch)
        check_view(database, view, model)
    view.write(view_batch(number + 1, [], MAX_MICROS))  # nothing expires at the end of the input
    check_view(database, view, model)


def opened_view(database, keep):
    key = ("k", "window_start", "window_end")
    types = {"k": str, "n": int}
    view = ViewSink(database, "live", key, ("k", "n"), types, True, keep=keep * SECOND)
    view.open()
    return view


def view_batch(number, panes, watermark):
    rows = [Element((key, n), 0, (window,)) for (key, window), n in panes]
    return SinkBatch(number, 0, Bundle.of(rows), "run", "view", watermark=watermark)


def check_view(database, view, model):
    found = contents(database, "live") if view.database.table is not None else []
    shown = [(key, n, at(start), at(end)) for key, n, start, end in found]
    assert sorted(shown) == sorted((k, n, w.start, w.end) for (k, w), n in model.items())


def at(moment):
    return moment.replace(tzinfo=UTC).timestamp()


def test_the_cases_have_keys_that_a_collation_takes_for_equal(mariadb_server):
    """Or a table with such a collation would pass."""
    compared = "select convert(:a using utf8mb4) collate utf8mb4_general_ci = :b"
    for other in ("A", "a ", "á"):
        text = compared.replace(":a", "'a'").replace(":b", f"'{other}'")
        assert query(mariadb_server.url, text) == [(1,)], other
