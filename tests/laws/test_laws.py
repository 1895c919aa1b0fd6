"""The laws: streaming is batch, whatever the windows, triggers, modes and order of arrival.

Each holds for one grouping and for each of several in a row. Those that can be seen from outside are
:mod:`headrace.sdk.testing.pane_laws`, and hold on any runner; here are also those that take a look inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
from hypothesis import assume
from hypothesis import strategies as st

from headrace.sdk.testing import pane_laws
from headrace.sdk.testing.batch_oracle import (
    ACCUMULATING,
    DISCARDING,
    RETRACTING,
    Part,
    Taken,
    end_result,
    meaning,
    shrinks,
)
from headrace.sdk.testing.pane_laws import PaneLaw, behind, like_batch
from headrace.sdk.testing.run_on_runner import Observation, Pane
from headrace.sdk.testing.runs import Run, Step
from headrace.sdk.testing.script import Row, rows_of, with_rows
from headrace.sdk.testing.strategies.pipelines import (
    counting,
    expiring,
    reaching_through,
    reunions,
    runs,
    splitting,
    unsafe,
)
from headrace.sdk.testing.strategies.windowing import Where, aligned, calendars, merging
from headrace.triggers import AccumulationMode
from headrace.windowing import TimestampCombiner
from tests.laws.corpus import law
from tests.laws.event_by_event import batch_of, follow, parts


def windows() -> st.SearchStrategy[Where]:
    """All window functions, those that merge more often than others."""
    return st.one_of(aligned(), merging(), merging(), calendars())


def chains(least: int = 1, most: int = 3, **options: Any) -> st.SearchStrategy[Run]:
    """One grouping, or some in a row."""
    numbers = st.integers(least, most)
    return numbers.flatmap(lambda n: runs(n, windows=windows(), **options))


def retracting() -> st.SearchStrategy[Run]:
    """Groupings in a row, the first of which retracts, and whose windows often come apart."""
    return st.one_of(chains(modes=[RETRACTING], retractions=True), splitting())


def spoken(mode: AccumulationMode, **options: Any) -> st.SearchStrategy[Run]:
    """Runs whose last grouping has a mode, and that end at the end of time."""
    return chains(to_infinity=True, **options).map(partial(_ending_with, mode=mode))


def _ending_with(run: Run, mode: AccumulationMode) -> Run:
    """The last grouping gets a mode, and those before it from which it inherits."""
    first = max(n for n, step in enumerate(run.steps) if step.assigns)
    steps = [_in_mode(s, mode) if n >= first else s for n, s in enumerate(run.steps)]
    return attrs.evolve(run, steps=tuple(steps))


def _in_mode(step: Step, mode: AccumulationMode) -> Step:
    kind = "sum" if mode is DISCARDING and step.kind == "largest" else step.kind
    windowing = attrs.evolve(step.windowing, accumulation_mode=mode)
    return attrs.evolve(step, windowing=windowing, kind=kind)


def holds(pane_law: PaneLaw, found: Sequence[Part]) -> None:
    """Hold groupings to a law of panes; runs of which it can say nothing are left out."""
    seen = [part for part in found if pane_law.sees(part)]
    assume(seen)
    for part in seen:
        pane_law.check(part)


# Seen from outside


@law(spoken(DISCARDING))
def test_discarding_panes_add_up_to_batch(run: Run) -> None:
    holds(pane_laws.LIKE_BATCH, parts(run)[-1:])


@law(spoken(ACCUMULATING))
def test_the_last_accumulating_pane_is_batch(run: Run) -> None:
    holds(pane_laws.LIKE_BATCH, parts(run)[-1:])


@law(spoken(RETRACTING, retractions=True))
def test_panes_minus_retractions_are_batch(run: Run) -> None:
    holds(pane_laws.LIKE_BATCH, parts(run)[-1:])


@law(st.one_of(splitting(), expiring(), unsafe()))
def test_what_comes_apart_or_reaches_back_or_closes_is_like_batch(run: Run) -> None:
    holds(pane_laws.LIKE_BATCH, parts(run))


@law(retracting())
def test_what_stands_in_the_end_has_the_timestamp_of_a_batch(run: Run) -> None:
    holds(pane_laws.STAMPED, parts(run))


@law(chains(modes=[RETRACTING, ACCUMULATING], retractions=True))
def test_after_every_firing_a_pane_says_what_a_batch_of_all_until_then_says(run: Run) -> None:
    holds(pane_laws.UNTIL, parts(run))


@law(retracting())
def test_after_every_firing_what_stands_is_a_batch_of_all_that_has_fired(run: Run) -> None:
    holds(pane_laws.STANDS, parts(run))


@law(st.one_of(retracting(), expiring()))
def test_no_two_panes_stand_in_windows_that_overlap(run: Run) -> None:
    holds(pane_laws.APART, parts(run))


@law(chains(modes=[DISCARDING]))
def test_after_every_firing_discarding_panes_add_up_to_a_batch_of_all_until_then(run: Run) -> None:
    holds(pane_laws.ADDING_UP, parts(run))


@law(retracting())
def test_only_what_stands_is_taken_back_and_one_pane_stands_at_the_most(run: Run) -> None:
    holds(pane_laws.TAKEN_BACK, parts(run))


@law(st.one_of(reunions(), splitting()))
def test_what_merges_is_taken_back_in_order_before_what_it_has_become(run: Run) -> None:
    holds(pane_laws.MERGED, parts(run))


@law(chains(retractions=True, safe=False))
def test_a_window_has_one_on_time_pane_at_the_most(run: Run) -> None:
    holds(pane_laws.ONE_ON_TIME, parts(run))


@law(chains(retractions=True, safe=False))
def test_key_window_number_and_sign_tell_panes_apart(run: Run) -> None:
    holds(pane_laws.DISTINCT, parts(run))


@law(chains(retractions=True, safe=False))
def test_panes_of_a_window_are_early_then_on_time_then_late_and_numbered(run: Run) -> None:
    holds(pane_laws.NUMBERED, parts(run))


@law(chains(modes=[DISCARDING], kinds=["list"], to_infinity=True))
def test_nothing_is_lost_and_nothing_comes_twice(run: Run) -> None:
    holds(pane_laws.NOTHING_LOST, parts(run)[:1])


@law(chains(retractions=True))
def test_an_element_is_dropped_from_a_window_only_if_that_has_expired(run: Run) -> None:
    holds(pane_laws.EXPIRED_ONLY, parts(run))


@law(st.one_of(chains(retractions=True), expiring()))
def test_what_has_expired_is_dropped(run: Run) -> None:
    holds(pane_laws.EXPIRED, parts(run))


@law(chains(least=2))
def test_a_grouping_that_keeps_the_windows_of_its_input_drops_nothing(run: Run) -> None:
    holds(pane_laws.KEEPS_WINDOWS, parts(run))


@law(counting())
def test_a_window_that_counts_holds_back_less_than_it_counts_to(run: Run) -> None:
    holds(pane_laws.COUNTED, parts(run))


# A stream and a batch


@law(chains(to_infinity=True))
def test_a_batch_run_is_what_the_stream_comes_to(run: Run) -> None:
    """What was dropped is left out of the batch, but for elements of several windows at once."""
    part = parts(attrs.evolve(run, steps=run.steps[:1]))[0]
    assume(all(len(e.windows) == 1 for _, e in part.heard.inputs))
    streamed, _ = like_batch(part)
    (batched,) = batch_of(kept(run, part), [part.step])
    assert streamed == meaning(part.step, end_result(part.step, batched.panes))


def kept(run: Run, part: Part) -> list[Row]:
    """The rows of a script without those that a grouping with one window an element dropped."""
    late = Counter((e.key, e.value, e.timestamp) for _, e in part.heard.late)
    rows = []
    for row in rows_of(run.script):
        if late[row[:3]]:
            late[row[:3]] -= 1
        else:
            rows.append(row)
    return rows


@law(reaching_through())
def test_groupings_in_a_row_come_to_what_they_come_to_in_a_batch(run: Run) -> None:
    """From end to end: retractions reach through."""
    batched = batch_of(rows_of(run.script), run.steps)
    for step, one, other in zip(run.steps, follow(run), batched, strict=True):
        assert not any(one.dropped)
        assert same_in_the_end(step, one, other)


@law(reaching_through(), order=st.randoms(use_true_random=False))
def test_the_order_of_arrival_means_nothing_in_the_end(run: Run, order: Any) -> None:
    rows = rows_of(run.script)
    order.shuffle(rows)
    other = attrs.evolve(run, script=with_rows(run.script, rows))
    for step, one, two in zip(run.steps, follow(run), follow(other), strict=True):
        assert same_in_the_end(step, one, two)


def same_in_the_end(step: Step, one: Observation, other: Observation) -> bool:
    results = [meaning(step, end_result(step, heard.panes)) for heard in (one, other)]
    return results[0] == results[1]


# Time


@law(chains(retractions=True, safe=False))
def test_watermarks_never_go_back_nor_ahead_of_the_input(run: Run) -> None:
    for part in parts(run):
        marks = part.heard.watermarks
        assert all(one <= two for one, two in pairwise(marks))
        assert all(mark <= limit for mark, limit in zip(marks, part.complete[1:], strict=True))


@law(chains(retractions=True, safe=False))
def test_no_early_pane_lies_behind_the_output_watermark(run: Run) -> None:
    for part in parts(run):
        for pane in part.heard.panes:
            if pane.timing == "EARLY" and pane.diff > 0:
                assert pane.timestamp + behind_it(part) >= before(pane, part)


def behind_it(part: Part) -> int:
    """How far behind the output watermark a pane may lie that stands for more than what is new in it.

    An element may have come so late, and the pane has its timestamp; groupings behind still take it.
    """
    windowing = part.step.windowing
    at_end = windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW
    return part.lateness if part.mode is RETRACTING and not at_end else 0


def in_time(t: Taken, part: Part) -> bool:
    """Whether an element came before its window was over."""
    return t.window[1] > part.complete[t.event]


def before(pane: Pane, part: Part) -> int:
    """How far the output was complete when a pane came out."""
    return part.heard.watermarks[pane.event - 1] if pane.event else -(1 << 63)


@law(chains())
def test_no_pane_with_data_that_came_in_time_lies_behind_the_output_watermark(run: Run) -> None:
    """A pane that is new by late data alone lies there, even one that its window makes ON_TIME.

    So does one of a window that has shrunk to before the watermark; these are left out.
    """
    for part in parts(run):
        if part.changing or shrinks(part.step):
            continue
        shown = set()
        took = part.taken
        for pane in part.heard.panes:
            if pane.diff > 0:
                new = [t for t in behind(pane, part, took) if id(t) not in shown]
                shown |= set(map(id, new))
                stamp = pane.timestamp + behind_it(part)
                assert not any(in_time(t, part) for t in new) or stamp >= before(pane, part)


@law(chains(least=2, modes=[RETRACTING]))
def test_a_retraction_is_never_later_than_the_lateness_that_was_allowed(run: Run) -> None:
    for part in parts(run):
        for pane in part.heard.panes:
            if pane.diff < 0 and part.mode is RETRACTING:
                assert pane.timestamp + part.lateness >= before(pane, part)


# What is dropped


@law(chains(least=2, most=2, modes=[RETRACTING], retractions=True))
def test_behind_a_grouping_that_retracts_nothing_is_dropped(run: Run) -> None:
    """If it allows as much lateness; so no retraction is dropped apart from its replacement."""
    assume(not any(map(shrinks, run.steps)))
    assert not any(follow(run)[-1].dropped)


@law(chains(retractions=True))
def test_to_ask_for_late_elements_changes_nothing_else(run: Run) -> None:
    for one, other in zip(follow(run), follow(run, watched=True), strict=True):
        assert sorted(map(repr, one.panes)) == sorted(map(repr, other.panes))
        assert (one.dropped, one.watermarks) == (other.dropped, other.watermarks)
