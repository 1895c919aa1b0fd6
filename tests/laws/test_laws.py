"""The laws: a stream ends with the batch result, whatever the windows, triggers, modes and order of arrival.

Each holds for one grouping and for several in a row. Laws about the output of a grouping are
:mod:`headrace.sdk.testing.laws.pane_laws`, and hold on any runner; the other laws here also look inside.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import attrs
from hypothesis import assume, strategies as st

from headrace.sdk.testing.laws import pane_laws, result_laws
from headrace.sdk.testing.laws.pane_law import PaneLaw
from headrace.sdk.testing.laws.result_laws import behind, compare_with_batch
from headrace.sdk.testing.runs.batch_oracle import (
    ACCUMULATING,
    DISCARDING,
    RETRACTING,
    AcceptedElement,
    Part,
    end_result,
    shrinks,
    without_empty,
)
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.run_on_runner import Observation, Pane
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.strategies.pipelines import runs
from headrace.sdk.testing.strategies.targeted_runs import (
    closing_over_changes,
    counting,
    expiring,
    merging_after_firing,
    reaching_through,
    splitting,
    unsafe,
)
from headrace.sdk.testing.strategies.windowing import Where, aligned, calendars, merging
from headrace.sdk.testing.streams.script import ScriptRow, rows_of, with_rows
from headrace.triggers import AccumulationMode
from headrace.windowing import TimestampCombiner
from headrace.windowing.time.units import SECOND
from tests.laws.corpus import law
from tests.laws.event_by_event import parts, run_batch_of, run_events


def windows() -> st.SearchStrategy[Where]:
    """All window functions; those that merge are drawn more often."""
    return st.one_of(aligned(), merging(), merging(), calendars())


def chains(least: int = 1, most: int = 3, **options: Any) -> st.SearchStrategy[Run]:
    """One grouping, or several in a row."""
    numbers = st.integers(least, most)
    return numbers.flatmap(lambda n: runs(n, windows=windows(), **options))


def retracting() -> st.SearchStrategy[Run]:
    """Groupings in a row, the first of which retracts, with windows that often split."""
    return st.one_of(chains(modes=[RETRACTING], retractions=True), splitting())


def ending_in_mode(mode: AccumulationMode, **options: Any) -> st.SearchStrategy[Run]:
    """Runs whose last grouping has a mode, and that end at the end of time."""
    return chains(to_infinity=True, **options).map(partial(_ending_with, mode=mode))


def _ending_with(run: Run, mode: AccumulationMode) -> Run:
    """Set the mode of the last grouping, and of those before it whose windows it inherits."""
    first = max(n for n, step in enumerate(run.steps) if step.assigns)
    steps = [_in_mode(s, mode) if n >= first else s for n, s in enumerate(run.steps)]
    return attrs.evolve(run, steps=tuple(steps))


def _in_mode(step: Step, mode: AccumulationMode) -> Step:
    kind = "sum" if mode is DISCARDING and step.kind == "largest" else step.kind
    windowing = attrs.evolve(step.windowing, accumulation_mode=mode)
    return attrs.evolve(step, windowing=windowing, kind=kind)


def assert_holds(pane_law: PaneLaw, found: Sequence[Part]) -> None:
    """Check a law for groupings; runs to which it does not apply are rejected."""
    seen = [part for part in found if pane_law.sees(part)]
    assume(seen)
    for part in seen:
        pane_law.check(part)


# The output of a grouping


@law(ending_in_mode(DISCARDING))
def test_discarding_panes_add_up_to_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.LIKE_BATCH, parts(run)[-1:])


@law(ending_in_mode(ACCUMULATING))
def test_the_last_accumulating_pane_is_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.LIKE_BATCH, parts(run)[-1:])


@law(ending_in_mode(RETRACTING, retractions=True))
def test_panes_minus_retractions_are_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.LIKE_BATCH, parts(run)[-1:])


@law(st.one_of(splitting(), expiring(), unsafe()))
def test_windows_that_split_or_expire_or_close_end_with_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.LIKE_BATCH, parts(run))


@law(retracting())
def test_final_panes_have_the_timestamp_of_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.STAMPED, parts(run))


@law(chains(modes=[RETRACTING, ACCUMULATING], retractions=True))
def test_each_pane_is_the_batch_result_of_all_elements_so_far(run: Run) -> None:
    assert_holds(result_laws.UNTIL, parts(run))


@law(retracting())
def test_outstanding_panes_are_the_batch_result_of_all_fired_elements(run: Run) -> None:
    assert_holds(result_laws.STANDS, parts(run))


@law(st.one_of(retracting(), expiring()))
def test_outstanding_panes_have_disjoint_windows(run: Run) -> None:
    assert_holds(pane_laws.APART, parts(run))


@law(chains(modes=[DISCARDING]))
def test_discarding_panes_so_far_add_up_to_the_batch_result_so_far(run: Run) -> None:
    assert_holds(result_laws.ADDING_UP, parts(run))


@law(retracting())
def test_only_outstanding_panes_are_retracted_and_there_is_at_most_one(run: Run) -> None:
    assert_holds(pane_laws.TAKEN_BACK, parts(run))


@law(st.one_of(merging_after_firing(), splitting()))
def test_panes_of_merged_windows_are_retracted_in_order_before_the_new_pane(run: Run) -> None:
    assert_holds(pane_laws.MERGED, parts(run))


@law(chains(retractions=True, safe=False))
def test_a_window_has_at_most_one_on_time_pane(run: Run) -> None:
    assert_holds(pane_laws.ONE_ON_TIME, parts(run))


@law(chains(retractions=True, safe=False))
def test_key_window_index_and_sign_identify_a_pane(run: Run) -> None:
    assert_holds(pane_laws.DISTINCT, parts(run))


@law(chains(retractions=True, safe=False))
def test_panes_of_a_window_are_early_then_on_time_then_late_and_numbered(run: Run) -> None:
    assert_holds(pane_laws.NUMBERED, parts(run))


@law(chains(modes=[DISCARDING], kinds=["list"], to_infinity=True))
def test_no_element_is_lost_or_duplicated(run: Run) -> None:
    assert_holds(result_laws.NOTHING_LOST, parts(run)[:1])


@law(chains(retractions=True))
def test_only_elements_of_expired_windows_are_dropped(run: Run) -> None:
    assert_holds(pane_laws.EXPIRED_ONLY, parts(run))


@law(st.one_of(chains(retractions=True), expiring()))
def test_elements_of_expired_windows_are_dropped(run: Run) -> None:
    assert_holds(pane_laws.EXPIRED, parts(run))


@law(st.booleans().flatmap(closing_over_changes))
def test_a_retraction_of_a_dropped_element_is_dropped(run: Run) -> None:
    assert_holds(pane_laws.DROPPED_TOGETHER, parts(run))


@law(st.booleans().flatmap(closing_over_changes))
def test_closed_windows_with_retractions_end_with_the_batch_result(run: Run) -> None:
    assert_holds(result_laws.LIKE_BATCH, parts(run))


@law(chains(least=2))
def test_a_grouping_that_keeps_the_windows_of_its_input_drops_nothing(run: Run) -> None:
    assert_holds(pane_laws.KEEPS_WINDOWS, parts(run))


@law(counting())
def test_after_count_leaves_less_than_its_count_pending(run: Run) -> None:
    assert_holds(pane_laws.COUNTED, parts(run))


# Streaming and batch


@law(chains(to_infinity=True))
def test_a_batch_run_equals_the_end_result_of_the_stream(run: Run) -> None:
    """The batch is without the elements that the stream dropped."""
    part = parts(attrs.evolve(run, steps=run.steps[:1]))[0]
    assume(part.fully_observed and all(len(e.windows) == 1 for _, e in part.observed.inputs))
    streamed, _ = compare_with_batch(part)
    (batched,) = run_batch_of(rows_without_late(run, part), [part.step])
    assert streamed == without_empty(part.step, end_result(part.step, batched.panes))


def rows_without_late(run: Run, part: Part) -> list[ScriptRow]:
    """The rows of a script without those that a grouping with one window per element dropped."""
    later = part.step.later * SECOND
    late = Counter((e.key, e.value, e.timestamp - later) for _, e in part.observed.late)
    rows = []
    for row in rows_of(run.script):
        if late[row[:3]]:
            late[row[:3]] -= 1
        else:
            rows.append(row)
    return rows


@law(reaching_through())
def test_groupings_in_a_row_end_with_the_batch_result(run: Run) -> None:
    """From end to end: retractions pass through all groupings."""
    batched = run_batch_of(rows_of(run.script), run.steps)
    for step, one, other in zip(run.steps, run_events(run), batched, strict=True):
        assert not any(one.dropped)
        assert same_end_result(step, one, other)


@law(reaching_through(), order=st.randoms(use_true_random=False))
def test_the_end_result_does_not_depend_on_the_order_of_arrival(run: Run, order: Any) -> None:
    rows = rows_of(run.script)
    order.shuffle(rows)
    other = attrs.evolve(run, script=with_rows(run.script, rows))
    for step, one, two in zip(run.steps, run_events(run), run_events(other), strict=True):
        assert same_end_result(step, one, two)


def same_end_result(step: Step, one: Observation, other: Observation) -> bool:
    results = [without_empty(step, end_result(step, heard.panes)) for heard in (one, other)]
    return results[0] == results[1]


# Watermarks


@law(chains(retractions=True, safe=False))
def test_output_watermarks_are_monotonic_and_not_ahead_of_the_input(run: Run) -> None:
    for part in parts(run):
        marks = part.observed.watermarks
        assert all(one <= two for one, two in pairwise(marks))
        assert all(
            mark <= limit for mark, limit in zip(marks, part.input_watermarks[1:], strict=True)
        )


@law(chains(retractions=True, safe=False))
def test_early_panes_are_not_behind_the_output_watermark(run: Run) -> None:
    for part in parts(run):
        for pane in part.observed.panes:
            if pane.timing == "EARLY" and pane.diff > 0:
                assert pane.timestamp + allowed_lag(part) >= watermark_at(pane, part)


def allowed_lag(part: Part) -> int:
    """How far behind the output watermark the timestamp of a pane may be that combines older elements.

    An element may be that late, and the pane has its timestamp; the next grouping still accepts it.
    """
    windowing = part.step.windowing
    at_end = windowing.timestamp_combiner is TimestampCombiner.OUTPUT_AT_EOW
    return part.lateness if part.mode is RETRACTING and not at_end else 0


def in_time(t: AcceptedElement, part: Part) -> bool:
    """Whether an element arrived before the end of its window."""
    return t.window[1] > part.input_watermarks[t.event]


def watermark_at(pane: Pane, part: Part) -> int:
    """The output watermark when a pane was emitted."""
    return part.observed.watermarks[pane.event - 1] if pane.event else -(1 << 63)


@law(chains())
def test_panes_with_data_in_time_are_not_behind_the_output_watermark(run: Run) -> None:
    """A pane with only late new data may be behind it, even one that is ON_TIME.

    So may be one of a window that has shrunk to before the watermark; these are left out.
    """
    for part in parts(run):
        if part.changing or shrinks(part.step):
            continue
        shown = set()
        taken = part.accepted
        for pane in part.observed.panes:
            if pane.diff > 0:
                new = [t for t in behind(pane, part, taken) if id(t) not in shown]
                shown |= set(map(id, new))
                stamp = pane.timestamp + allowed_lag(part)
                assert not any(in_time(t, part) for t in new) or stamp >= watermark_at(pane, part)


@law(chains(least=2, modes=[RETRACTING]))
def test_retractions_are_within_the_allowed_lateness(run: Run) -> None:
    for part in parts(run):
        for pane in part.observed.panes:
            if pane.diff < 0 and part.mode is RETRACTING:
                assert pane.timestamp + part.lateness >= watermark_at(pane, part)


# Late elements


@law(chains(least=2, most=2, modes=[RETRACTING], retractions=True))
def test_a_grouping_after_a_retracting_one_drops_nothing(run: Run) -> None:
    """If it allows as much lateness; so no retraction is dropped without its replacement."""
    assume(not any(map(shrinks, run.steps)))
    assert not any(run_events(run)[-1].dropped)


@law(chains(retractions=True))
def test_capturing_late_elements_changes_nothing_else(run: Run) -> None:
    for one, other in zip(run_events(run), run_events(run, watched=True), strict=True):
        assert sorted(map(repr, one.panes)) == sorted(map(repr, other.panes))
        assert (one.dropped, one.watermarks) == (other.dropped, other.watermarks)
