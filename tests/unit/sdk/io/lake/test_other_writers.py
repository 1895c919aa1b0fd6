"""Others write to the table, or compact it, between the look at the table and the commit."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog

from headrace.sdk.io.lake import sink as lake_sink
from headrace.sdk.io.lake.lake_table import ConflictError, LakeTable
from tests.unit.sdk.io.lake import lakes
from tests.unit.sdk.io.lake.lakes import batch, parts

pytestmark = [pytest.mark.mode("streaming"), pytest.mark.slow]

PAIR = {"columns": ["k", "n"]}


@attrs.define
class Interrupted:
    """A table that others change each time it was looked at, as often as there are changes."""

    table: LakeTable
    changes: list[Callable[[], object]]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.table, name)

    def find(self) -> Any:
        found = self.table.find()
        if self.changes:
            self.changes.pop(0)()
        return found


def interrupted(sink: Any, *changes: Callable[[], object]) -> Any:
    return attrs.evolve(sink, table=Interrupted(sink.table, list(changes)))


def others(lake: Any) -> dict[str, Callable[[], object]]:
    row = pa.table({"k": ["x"], "n": [1]})
    return {
        "append": lambda: lake.append(row),
        "rewrite": lake.rewrite,
        "property": lambda: lake.set_property(40),
    }


@pytest.mark.parametrize("change", ["append", "rewrite", "property"])
@pytest.mark.parametrize("key", [None, "k"])
def test_the_batch_is_tried_again(lake, key, change) -> None:
    sink = lake.sink(key, **PAIR)
    sink.write(batch(0, (1, ("a", 1)), (1, ("b", 1))))
    sink.write(batch(1, (1, ("c", 1))))
    commit = parts(sink, 2, [(1, ("a", 2))])
    interrupted(sink, others(lake)[change], others(lake)[change]).commit(commit)
    expected = [("a", 2), ("b", 1), ("c", 1)] + ([] if key else [("a", 1)])
    expected += [("x", 1)] * (2 if change == "append" else 0)
    rows = lake.tuples()
    # The second append of the others can fail to come in between, where the format needs no second attempt.
    assert rows in (sorted(expected), sorted(expected)[:-1])
    assert lake.last() == 2
    assert sorted(lake.query("select k, n from {}")) == rows


@pytest.mark.parametrize("key", [None, "k"])
def test_a_process_presumed_dead_commits_the_same_batch(lake, key) -> None:
    sink = lake.sink(key, **PAIR)
    sink.write(batch(0, (1, ("a", 1))))
    rival = lake.sink(key, **PAIR)
    changes = [(1, ("b", 1)), (1, ("c", 1))]
    commit = parts(sink, 1, changes)
    interrupted(sink, lambda: rival.write(batch(1, *changes))).commit(commit)
    assert lake.tuples() == [("a", 1), ("b", 1), ("c", 1)]


def test_both_create_the_table(lake) -> None:
    sink, rival = lake.sink(**PAIR), lake.sink(**PAIR)
    commit = parts(sink, 0, [(1, ("a", 1))])
    interrupted(sink, lambda: rival.write(batch(0, (1, ("b", 1)), step="other"))).commit(commit)
    assert lake.tuples() == [("a", 1), ("b", 1)]


def test_both_add_a_column(lake) -> None:
    sink = lake.sink("k", schema_evolution=True)
    sink.write(batch(0, (1, {"k": "a"})))
    commit = parts(sink, 1, [(1, {"k": "b", "n": 1})])
    rival = lake.sink("k", schema_evolution=True)
    change = batch(0, (1, {"k": "c", "n": 2, "m": 3}), step="other")
    interrupted(sink, lambda: rival.write(change)).commit(commit)
    assert [(row["k"], row["n"]) for row in lake.rows()] == [("a", None), ("b", 1), ("c", 2)]


def test_attempts_are_bounded(lake, monkeypatch) -> None:
    monkeypatch.setattr(lake_sink, "COMMIT_ATTEMPTS", 3)
    monkeypatch.setattr(lake_sink, "_FIRST_WAIT", 0.0)
    sink = lake.sink("k", **PAIR)
    sink.write(batch(0, (1, ("a", 1))))
    commit = parts(sink, 1, [(1, ("a", 2))])
    changes = [others(lake)["append"]] * 20
    with pytest.raises(ConflictError, match="during all 3 attempts to commit") as caught:
        interrupted(sink, *changes).commit(commit)
    assert "what to do" in str(caught.value)
    assert set(lake.tuples()) == {("a", 1), ("x", 1)}


def test_a_conflicting_compaction_of_ours_is_left_out(lake) -> None:
    sink = lake.sink(**PAIR, optimize=2)
    sink.write(batch(0, (1, ("a", 1))))
    commit = parts(sink, 1, [(1, ("b", 1))])
    interrupted(sink, lambda: None, lake.rewrite).commit(commit)
    assert lake.tuples() == [("a", 1), ("b", 1)]


@contextmanager
def reading(lake: Any, check: Callable[[list[Any]], bool]) -> Iterator[list[Any]]:
    """Read the table again and again in another thread; yields the states that fail a check."""
    wrong: list[Any] = []
    ended = threading.Event()

    def read() -> None:
        while not ended.is_set():
            rows = lake.tuples()
            if not check(rows):
                wrong.append(rows)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield wrong
    finally:
        ended.set()
        thread.join()


def test_a_reader_sees_whole_batches_only(lake) -> None:
    """Each batch moves one unit from an account to the next: the sum is the same in every state."""
    sink = lake.sink("k", **PAIR, optimize=5)
    balances = dict.fromkeys("abcd", 10)
    sink.write(batch(0, *((1, each) for each in balances.items())))
    with reading(lake, lambda rows: sum(n for _, n in rows) == 40 and len(rows) == 4) as wrong:
        for number in range(1, 21):
            giver, taker = "abcd"[number % 4], "abcd"[(number + 1) % 4]
            changes = [(-1, (k, balances[k])) for k in (giver, taker)]
            balances[giver] -= 1
            balances[taker] += 1
            changes += [(1, (k, balances[k])) for k in (giver, taker)]
            sink.write(batch(number, *changes))
    assert not wrong
    assert lake.tuples() == sorted(balances.items())


def test_another_writer_creates_the_namespace_after_the_look_at_it(tmp_path, monkeypatch) -> None:
    look = SqlCatalog.namespace_exists

    def created_after_the_look(catalog, namespace):
        monkeypatch.setattr(SqlCatalog, "namespace_exists", look)
        found = look(catalog, namespace)
        catalog.create_namespace(namespace)
        return found

    monkeypatch.setattr(SqlCatalog, "namespace_exists", created_after_the_look)
    lake = lakes.lake("iceberg", tmp_path)
    lake.sink(None, **PAIR).write(batch(0, (1, ("a", 1))))
    assert lake.tuples() == [("a", 1)]


def test_a_namespace_that_cannot_be_created_is_an_error(tmp_path, monkeypatch) -> None:
    def refused(catalog, namespace, properties=None):
        raise PermissionError(namespace)

    monkeypatch.setattr(SqlCatalog, "create_namespace", refused)
    with pytest.raises(PermissionError, match="shop"):
        lakes.lake("iceberg", tmp_path).sink(None, **PAIR).write(batch(0, (1, ("a", 1))))
