"""The laws: streaming is batch, whatever the windows, triggers, modes and order of arrival.

Each holds for one grouping and for each of several in a row.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from itertools import chain, pairwise, takewhile
from typing import Any

import attrs
from hypothesis import assume, given
from hypothesis import strategies as st

from headrace.triggers import AccumulationMode, Repeatedly
from headrace.windowing.sessions import Sessions
from headrace.windowing.timestamp_combiner import TimestampCombiner
from tests.laws.laws import (
    Answer,
    Part,
    Taken,
    batch,
    end_result,
    in_time,
    joins_expired,
    lies_in,
    parts,
    reunions,
    said,
    shrinks,
    standing,
)
from tests.laws.playing import CONTENTS, Heard, bursts, follow, play_batch
from tests.laws.strategies import HOUR, Row, Run, Step, Where, aligned, calendars, merging, runs
from tests.oracle.story import Element, Pane, Window

DISCARDING = AccumulationMode.DISCARDING
ACCUMULATING = AccumulationMode.ACCUMULATING
RETRACTING = AccumulationMode.RETRACTING

FOREVER = 10_000 * HOUR
"""So late nothing is."""


def windows() -> st.SearchStrategy[Where]:
    """All window functions, those that merge more often than others."""
    return st.one_of(aligned(), merging(), merging(), calendars())


def chains(least: int = 1, **options: Any) -> st.SearchStrategy[Run]:
    """One grouping, or two in a row."""
    numbers = st.integers(least, 2)
    return numbers.flatmap(lambda n: runs(n, windows=windows(), **options))


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


def like_batch(part: Part) -> tuple[Answer, Answer]:
    """What a grouping says in the end, and what a batch makes of all that it took.

    Sessions with a limited lateness are like batch up to joining: an element that is taken, since its own
    window has not expired, may overlap a session that has. The stream has sent that one for good and
    starts a new session, and a batch joins the two. Such runs are left out.
    """
    assume(not joins_expired(part))
    step = part.step
    streamed, batched = end_result(step, part.heard.panes), batch(step, part.taken)
    return meaning(step, streamed), meaning(step, batched)


def meaning(step: Step, answer: Answer) -> Answer:
    """An answer without windows that hold nothing: only retracting panes tell these from others."""
    nothing = CONTENTS[step.kind].all([])
    says_so = step.windowing.accumulation_mode is RETRACTING
    return {place: value for place, value in answer.items() if says_so or value != nothing}


# The end result


@given(spoken(DISCARDING))
def test_discarding_panes_add_up_to_batch(run: Run) -> None:
    streamed, batched = like_batch(parts(run)[-1])
    assert streamed == batched


@given(spoken(ACCUMULATING))
def test_the_last_accumulating_pane_is_batch(run: Run) -> None:
    part = parts(run)[-1]
    assume(not part.changing)
    streamed, batched = like_batch(part)
    assert streamed == batched


@given(spoken(RETRACTING, retractions=True))
def test_panes_minus_retractions_are_batch(run: Run) -> None:
    streamed, batched = like_batch(parts(run)[-1])
    assert streamed == batched


@given(chains(to_infinity=True))
def test_a_batch_run_is_what_the_stream_comes_to(run: Run) -> None:
    """What was dropped is left out of the batch, but for elements of several windows at once."""
    part = parts(attrs.evolve(run, steps=run.steps[:1]))[0]
    assume(all(len(e.windows) == 1 for _, e in part.heard.inputs))
    streamed, _ = like_batch(part)
    (batched,) = play_batch(kept(run, part), [part.step], "local")
    assert streamed == meaning(part.step, end_result(part.step, batched.panes))


def kept(run: Run, part: Part) -> list[Row]:
    """The rows of a script without those that a grouping with one window an element dropped."""
    late = Counter((e.key, e.value, e.timestamp) for _, e in part.heard.late)
    rows = []
    for row in chain.from_iterable(bursts(run.script)):
        if late[row[:3]]:
            late[row[:3]] -= 1
        else:
            rows.append(row)
    return rows


def reaching_through() -> st.SearchStrategy[Run]:
    """Runs in which the end result depends on nothing but what came.

    Nothing is dropped. The first grouping retracts, and its panes lie at the ends of their windows, as
    other timestamps tell of the order of arrival. The second one has no sessions of its own: a session
    that a pane has joined to another stays one when that pane is retracted.
    """
    return chains(to_infinity=True, modes=[RETRACTING]).map(_waiting_for_all).filter(_keeps_apart)


def _waiting_for_all(run: Run) -> Run:
    return attrs.evolve(run, steps=tuple(map(_waits_for_all, run.steps)))


def _waits_for_all(step: Step) -> Step:
    windowing = attrs.evolve(
        step.windowing,
        allowed_lateness=FOREVER,
        timestamp_combiner=TimestampCombiner.OUTPUT_AT_EOW,
    )
    trigger = windowing.trigger
    if trigger.may_finish(windowing):
        windowing = attrs.evolve(windowing, trigger=Repeatedly(trigger))
    return attrs.evolve(step, windowing=windowing)


def _keeps_apart(run: Run) -> bool:
    return not any(step.assigns and step.windowing.window_fn.is_merging() for step in run.steps[1:])


@given(reaching_through())
def test_groupings_in_a_row_come_to_what_they_come_to_in_a_batch(run: Run) -> None:
    """From end to end: retractions reach through."""
    batched = play_batch(list(chain.from_iterable(bursts(run.script))), run.steps, "local")
    for step, one, other in zip(run.steps, follow(run), batched, strict=True):
        assert not any(one.dropped)
        assert same_in_the_end(step, one, other)


@given(st.data(), reaching_through())
def test_the_order_of_arrival_means_nothing_in_the_end(data: st.DataObject, run: Run) -> None:
    rows = data.draw(st.permutations(list(chain.from_iterable(bursts(run.script)))))
    other = attrs.evolve(run, script=dealt(run, rows))
    for step, one, two in zip(run.steps, follow(run), follow(other), strict=True):
        assert same_in_the_end(step, one, two)


def same_in_the_end(step: Step, one: Heard, other: Heard) -> bool:
    results = [meaning(step, end_result(step, heard.panes)) for heard in (one, other)]
    return results[0] == results[1]


def dealt(run: Run, rows: Sequence[Row]) -> tuple[Any, ...]:
    """The script with other rows in its bursts."""
    left = iter(rows)
    return tuple(
        (kind, tuple(next(left) for _ in what) if kind == "elements" else what)
        for kind, what in run.script
    )


# After every firing


@given(chains(modes=[RETRACTING, ACCUMULATING], retractions=True))
def test_after_every_firing_a_pane_says_what_a_batch_of_all_until_then_says(run: Run) -> None:
    """Up to joining sessions, as above."""
    for part in parts(run):
        if part.mode is not DISCARDING and not joins_expired(part):
            took = part.taken
            for pane in part.heard.panes:
                assert pane.diff < 0 or pane.value == until(pane, part, took)


def until(pane: Pane, part: Part, took: Sequence[Taken]) -> Any:
    """What all that was taken in the window of a pane until its event comes to."""
    return CONTENTS[part.step.kind].all([t.element for t in behind(pane, part, took)])


def behind(pane: Pane, part: Part, took: Sequence[Taken]) -> list[Taken]:
    """What was taken in the window of a pane until its event."""
    return [
        t
        for t in took
        if t.element.key == pane.key and t.event <= pane.event and inside(t.window, pane, part)
    ]


def inside(window: Window, pane: Pane, part: Part) -> bool:
    """Whether a window has become that of a pane; one that shrinks keeps its start."""
    window_fn = part.step.windowing.window_fn
    if isinstance(window_fn, Sessions):
        return lies_in(window, pane.window)
    return window[0] == pane.window[0]


@given(chains(modes=[DISCARDING]))
def test_after_every_firing_discarding_panes_add_up_to_a_batch_of_all_until_then(run: Run) -> None:
    for part in parts(run):
        if part.mode is DISCARDING and not joins_expired(part):
            took, panes = part.taken, part.heard.panes
            for n, pane in enumerate(panes):
                earlier = [p for p in panes[: n + 1] if p.key == pane.key]
                here = [p for p in earlier if inside(p.window, pane, part)]
                complete = last_of_its_firing(part, n)
                assert not complete or added_up(here, part) == until(pane, part, took)


def last_of_its_firing(part: Part, n: int) -> bool:
    """Whether the pane is not followed by one that says what went."""
    pane, *rest = part.heard.panes[n:]
    return not any((p.key, p.window, p.index) == (pane.key, pane.window, pane.index) for p in rest)


def added_up(panes: Sequence[Pane], part: Part) -> Any:
    values = [
        (v, p.diff) for p in panes for v in (p.value if part.step.kind == "list" else [p.value])
    ]
    return CONTENTS[part.step.kind].all([Element(0, v, 0, diff) for v, diff in values])


@given(chains(modes=[RETRACTING], retractions=True))
def test_only_what_stands_is_taken_back_and_one_pane_stands_at_the_most(run: Run) -> None:
    for part in parts(run):
        stands: dict[Any, Any] = {}
        for pane in part.heard.panes if part.mode is RETRACTING else []:
            place = pane.key, pane.window
            assert stands.pop(place, None) == (said(pane) if pane.diff < 0 else None)
            stands |= {place: said(pane)} if pane.diff > 0 else {}


@given(reunions())
def test_what_merges_is_taken_back_in_order_before_what_it_has_become(run: Run) -> None:
    (heard,) = follow(run)
    for n, pane in enumerate(heard.panes):
        if pane.diff > 0:
            before_it = takewhile(lambda p: p.diff < 0, reversed(heard.panes[:n]))
            taken_back = [p.window for p in before_it if lies_in(p.window, pane.window)]
            assert taken_back == sorted(taken_back, reverse=True)
            others = standing(p for p in heard.panes[: n + 1] if p.key == pane.key)
            assert not [o for o in others if o != said(pane) and lies_in(o[1], pane.window)]


# Time


@given(chains(retractions=True, safe=False))
def test_watermarks_never_go_back_nor_ahead_of_the_input(run: Run) -> None:
    for part in parts(run):
        marks = part.heard.watermarks
        assert all(one <= two for one, two in pairwise(marks))
        assert all(mark <= limit for mark, limit in zip(marks, part.complete[1:], strict=True))


@given(chains(retractions=True, safe=False))
def test_no_early_pane_lies_behind_the_output_watermark(run: Run) -> None:
    for part in parts(run):
        for pane in part.heard.panes:
            if pane.timing == "EARLY" and pane.diff > 0:
                assert pane.timestamp >= before(pane, part)


def before(pane: Pane, part: Part) -> int:
    """How far the output was complete when a pane came out."""
    return part.heard.watermarks[pane.event - 1] if pane.event else -(1 << 63)


@given(chains())
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
                assert not any(in_time(t, part) for t in new) or pane.timestamp >= before(
                    pane, part
                )


@given(chains(least=2, modes=[RETRACTING]))
def test_a_retraction_is_never_later_than_the_lateness_that_was_allowed(run: Run) -> None:
    for part in parts(run):
        for pane in part.heard.panes:
            if pane.diff < 0 and part.mode is RETRACTING:
                assert pane.timestamp + part.lateness >= before(pane, part)


# Each pane


@given(chains(retractions=True, safe=False))
def test_a_window_has_one_on_time_pane_at_the_most(run: Run) -> None:
    for heard in follow(run):
        on_time = Counter(
            (p.key, p.window, p.index) for p in heard.panes if p.timing == "ON_TIME" and p.diff > 0
        )
        places = Counter((key, window) for key, window, _ in on_time)
        assert not places or max(places.values()) == 1


@given(chains(retractions=True, safe=False))
def test_key_window_number_and_sign_tell_panes_apart(run: Run) -> None:
    for heard in follow(run):
        names = Counter((p.key, p.window, p.index, p.diff) for p in heard.panes)
        assert not names or max(names.values()) == 1


@given(chains(retractions=True, safe=False))
def test_panes_of_a_window_are_early_then_on_time_then_late_and_numbered(run: Run) -> None:
    for part in parts(run):
        for panes in firings(part).values():
            phases = [("EARLY", "ON_TIME", "LATE").index(p.timing) for p in panes]
            assert phases == sorted(phases)
            assert [p.index for p in panes] == list(range(len(panes)))
            assert [p.first for p in panes] == [p.index == 0 for p in panes]
            assert not any(p.last for p in panes[:-1])
            numbers = [p.nonspeculative for p in panes if p.timing != "EARLY"]
            assert numbers == list(range(len(numbers)))


def firings(part: Part) -> dict[Any, list[Pane]]:
    """The panes of each window; what came and what went in one firing are one pane."""
    places: dict[Any, list[Pane]] = defaultdict(list)
    for pane in part.heard.panes:
        numbers = [p.index for p in places[pane.key, pane.window]]
        if (pane.diff > 0 or part.mode is DISCARDING) and numbers[-1:] != [pane.index]:
            places[pane.key, pane.window].append(pane)
    return places


# What is dropped


@given(chains(modes=[DISCARDING], kinds=["list"], to_infinity=True, safe=True))
def test_nothing_is_lost_and_nothing_comes_twice(run: Run) -> None:
    """Every element that came is in one pane of each of its windows, or was dropped from there."""
    part = parts(attrs.evolve(run, steps=run.steps[:1]))[0]
    came = Counter((e.key, repr(e.value)) for _, e in part.heard.inputs for _ in e.windows)
    gone = Counter((e.key, repr(e.value)) for _, e in part.heard.late)
    out = Counter((p.key, repr(v)) for p in part.heard.panes for v in p.value)
    assert out + gone == came


@given(chains(retractions=True))
def test_an_element_is_dropped_from_a_window_only_if_that_has_expired(run: Run) -> None:
    """A window that shrinks may expire before the one that its element was given."""
    for part in parts(run):
        for event, element in [] if shrinks(part.step) else part.heard.late:
            assert element.windows[0][1] + part.lateness <= part.complete[event]


@given(runs(steps=2, windows=st.one_of(aligned(), calendars())))
def test_what_has_expired_is_dropped(run: Run) -> None:
    part = parts(run)[0]
    for t in part.taken:
        assert t.window[1] + part.lateness > part.complete[t.event]


@given(chains(least=2, modes=[RETRACTING], retractions=True))
def test_behind_a_grouping_that_retracts_nothing_is_dropped(run: Run) -> None:
    """If it allows as much lateness; so no retraction is dropped apart from its replacement."""
    assume(not any(map(shrinks, run.steps)))
    assert not any(follow(run)[-1].dropped)


@given(chains(least=2))
def test_a_grouping_that_keeps_the_windows_of_its_input_drops_nothing(run: Run) -> None:
    """If they do not shrink as those of several keys become those of one."""
    keeps = [not step.assigns and not shrinks(step) for step in run.steps]
    assert not any(
        keep and any(heard.dropped) for keep, heard in zip(keeps, follow(run), strict=True)
    )


@given(chains(retractions=True))
def test_to_ask_for_late_elements_changes_nothing_else(run: Run) -> None:
    for one, other in zip(follow(run), follow(run, watched=True), strict=True):
        assert sorted(map(repr, one.panes)) == sorted(map(repr, other.panes))
        assert (one.dropped, one.watermarks) == (other.dropped, other.watermarks)
