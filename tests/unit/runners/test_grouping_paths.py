"""The table of paths: a way for each fact sheet that can occur, and no way that none takes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import attrs
import pytest

from headrace.grouping.facts import (
    ContentKind,
    Firing,
    GroupingFacts,
    Needs,
    Removable,
    WindowMerging,
    facts_of,
)
from headrace.runners.contents.grouping_paths import (
    PATHS,
    Collect,
    Execution,
    GroupingPath,
    Keep,
    path_of,
)
from headrace.runners.precombine.per_element import ElementPrecombiner
from headrace.runners.precombine.per_session import SessionPrecombiner
from headrace.runners.precombine.per_window import NumberPrecombiner, PlainPrecombiner
from headrace.triggers import (
    AfterBytes,
    AfterCount,
    AfterWatermark,
    ClosingBehavior,
    DefaultTrigger,
    Repeatedly,
    WindowingStrategy,
)
from headrace.windowing import FixedWindows, Sessions, TimestampCombiner


class Own(Sessions):
    """Windows that merge by a rule of their own."""

    def merge(self, merge_context: Any) -> None:
        """Merge nothing."""

    def reach(self) -> int:
        return 5


class Once(DefaultTrigger):
    """A trigger that says nothing of when it finishes."""

    def may_finish(self, windowing: Any) -> bool:
        return True


WINDOWS = [FixedWindows(10), Sessions(5), Own(5)]
TRIGGERS = [
    DefaultTrigger(),
    Once(),
    AfterWatermark(),
    AfterWatermark(early=AfterCount(1), late=AfterCount(1)),
    AfterWatermark(early=AfterCount(3), late=AfterCount(1)),
    AfterWatermark(late=Repeatedly(AfterBytes(9))),
    AfterCount(3),
    Repeatedly(AfterCount(3)),
]


def strategies() -> Iterator[WindowingStrategy]:
    """Strategies of all kinds."""
    parts = product(WINDOWS, TRIGGERS, [0, 7], [None, "late"], TimestampCombiner, ClosingBehavior)
    for windows, trigger, lateness, late_tag, combiner, closing in parts:
        yield WindowingStrategy(
            windows,
            trigger,
            allowed_lateness=lateness,
            late_tag=late_tag,
            timestamp_combiner=combiner,
            closing=closing,
        )


SHEETS = {
    facts_of(strategy, contents, removable, reused)
    for strategy in strategies()
    for contents, removable in product(ContentKind, Removable)
    for reused in (False, True)
}


PRECOMBINERS = {
    Collect.NUMBERS: NumberPrecombiner,
    Collect.VALUES: PlainPrecombiner,
    Collect.SESSIONS: SessionPrecombiner,
    Collect.ELEMENTS: ElementPrecombiner,
}
READ_BY = {
    Execution.BATCH: {Keep.WINDOWS: "columns", Keep.SESSIONS: "columns", Keep.FULL: "drain"},
    Execution.STREAMING: {
        Keep.WINDOWS: "columns",
        Keep.LATE_WINDOWS: "columns",
        Keep.EARLY_WINDOWS: "columns",
        Keep.SESSIONS: "sessions",
        Keep.FULL: "drain",
    },
}
"""How an operator reads what was collected."""


@pytest.mark.parametrize("execution", READ_BY)
def test_what_is_collected_can_be_read_as_it_is_kept(execution: Execution) -> None:
    for path in {path_of(facts, execution) for facts in SHEETS}:
        assert hasattr(PRECOMBINERS[path.collect], READ_BY[execution][path.keep])


def test_the_table_has_no_path_that_none_takes() -> None:
    """Only groupings that need values are in the table."""
    taken = {
        (execution, facts.windows, facts.panes)
        for facts in SHEETS
        for execution in Execution
        if facts.needs is Needs.VALUES and facts.windows is not WindowMerging.CUSTOM
    }
    assert taken == {(*key, panes) for key, row in PATHS.items() for panes in row}


@pytest.mark.parametrize("execution", Execution)
def test_numbers_are_added_only_where_each_window_has_one_pane(execution: Execution) -> None:
    for facts in SHEETS:
        path = path_of(facts, execution)
        if path.collect is Collect.NUMBERS:
            assert (facts.contents, path.keep) == (ContentKind.NUMBERS, Keep.WINDOWS)


@pytest.mark.parametrize("execution", [Execution.STREAMING, Execution.SHUFFLED])
def test_what_must_be_seen_is_collected_by_element(execution: Execution) -> None:
    for facts in SHEETS:
        if facts.needs is not Needs.VALUES:
            assert path_of(facts, execution) == GroupingPath(Collect.ELEMENTS, Keep.FULL)


@pytest.mark.parametrize("execution", [Execution.STREAMING, Execution.SHUFFLED])
def test_a_late_output_changes_how_elements_are_collected_and_not_what_is_kept(
    execution: Execution,
) -> None:
    """It changes nothing where the watermark is known and alone tells which elements are late."""
    for facts in SHEETS:
        if facts.late_output and facts.needs is Needs.VALUES:
            before = path_of(attrs.evolve(facts, late_output=False), execution)
            alone = facts.windows is not WindowMerging.CUSTOM and not facts.may_finish
            known = alone and execution is Execution.STREAMING
            collect = Collect.ROWS if before.keep is Keep.SESSIONS else Collect.ELEMENTS
            expected = before if known else attrs.evolve(before, collect=collect)
            assert path_of(facts, execution) == expected
            assert expected.keep is not Keep.WINDOWS, (
                "a window without late panes can have late elements"
            )


def test_in_a_batch_no_element_is_late() -> None:
    for facts in SHEETS:
        without = attrs.evolve(facts, late_output=False)
        assert path_of(facts, Execution.BATCH) == path_of(without, Execution.BATCH)


def sheet(windows: WindowMerging, panes: Firing, **more: Any) -> GroupingFacts:
    return GroupingFacts(
        windows, panes, Needs.VALUES, ContentKind.ACCUMULATORS, Removable.NOTHING, **more
    )


@pytest.mark.parametrize(
    ("facts", "batch", "streaming"),
    [
        (sheet(WindowMerging.ALIGNED, Firing.ONE), Keep.WINDOWS, Keep.WINDOWS),
        (sheet(WindowMerging.ALIGNED, Firing.FIRST_AT_END), Keep.WINDOWS, Keep.LATE_WINDOWS),
        (sheet(WindowMerging.ALIGNED, Firing.AFTER_COUNT), Keep.FULL, Keep.EARLY_WINDOWS),
        (sheet(WindowMerging.ALIGNED, Firing.NONE_EARLY), Keep.WINDOWS, Keep.FULL),
        (sheet(WindowMerging.ALIGNED, Firing.ANY), Keep.FULL, Keep.FULL),
        (sheet(WindowMerging.SESSIONS, Firing.FIRST_AT_END), Keep.SESSIONS, Keep.SESSIONS),
        (
            sheet(WindowMerging.SESSIONS, Firing.FIRST_AT_END, may_finish=True),
            Keep.SESSIONS,
            Keep.FULL,
        ),
        (sheet(WindowMerging.CUSTOM, Firing.FIRST_AT_END), Keep.FULL, Keep.FULL),
    ],
)
def test_full_states_are_kept_only_where_they_are_needed(
    facts: GroupingFacts, batch: Keep, streaming: Keep
) -> None:
    assert [path_of(facts, each).keep for each in Execution] == [batch, streaming, streaming]
