"""Seeded bugs: the kit finds each, by the law that it breaks, within 300 cases."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import islice

import attrs
import pytest

from headrace.grouping import grouping
from headrace.grouping.bundle import RETRACT, Bundle
from headrace.grouping.grouping import Grouping
from headrace.grouping.panes import emission
from headrace.grouping.panes.emission import PaneEmitter
from headrace.grouping.panes.output_times import OutputTimes
from headrace.grouping.state.contents import Contents
from headrace.grouping.state.key_state import Output
from headrace.grouping.windows.admission import Admission
from headrace.grouping.windows.replacing import Replacing
from headrace.grouping.windows.window_planners import SessionSplitPlanner
from headrace.runners.grouping.session_tier import SessionTier
from headrace.runners.grouping.window_tier import TierWindow
from headrace.runners.precombine.late_apart import LateApart
from headrace.runners.precombine.per_window import PlainPrecombiner
from headrace.runners.side_inputs import side_input_gate
from headrace.runners.side_inputs.side_input_gate import SideInputGate
from headrace.runners.splittable import restriction_keys
from headrace.runners.splittable.restriction_keys import RestrictionKeys
from headrace.runners.stateful import stateful_side_inputs
from headrace.runners.stateful.stateful_keys import StatefulKeys
from headrace.runners.stateful.stateful_side_inputs import CallsByWindow
from headrace.sdk.combiners import evictors
from headrace.sdk.combiners.approximate.distinct import ApproximateCountDistinctCombineFn
from headrace.sdk.combiners.moments import VarianceCombineFn
from headrace.sdk.pipelines import outputs
from headrace.sdk.testing.conformance.check_runner import check_runner
from headrace.sdk.testing.laws.law import LIKE_ITS_BATCH
from headrace.sdk.testing.laws.pane_laws import (
    APART,
    COUNTED,
    DROPPED_TOGETHER,
    EXPIRED_ONLY,
    FIRED_BY_COUNT,
    KEEPS_WINDOWS,
    NEW_WINDOWS,
    NUMBERED,
    ONE_ON_TIME,
    TAKEN_BACK,
)
from headrace.sdk.testing.laws.repeat_laws import REPEATED_ONCE
from headrace.sdk.testing.laws.result_laws import LIKE_BATCH, NOTHING_LOST, STAMPED, STANDS, UNTIL
from headrace.sdk.testing.laws.run_laws import IN_TIME, UNWATCHED
from headrace.sdk.testing.laws.side_laws import SIDE_CONTENT
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.pane import PaneInfoTiming
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import FINISHED, NEVER
from headrace.windowing.time.timestamps import MIN_MICROS
from tests.faults.days import in_turns
from tests.support.repository import ROOT

CASES = 300

PAGE = ROOT / "docs" / "how-to" / "testing.md"


def missing_watermark_hold(patch: pytest.MonkeyPatch) -> None:
    """The output watermark is not held for a pending pane."""
    patch.setattr(OutputTimes, "_hold", lambda self, key, arrival, watermark: None)


def retraction_after_replacement(patch: pytest.MonkeyPatch) -> None:
    """A new pane is emitted before the old one is retracted."""

    def send(self, key, window, timestamp, pane, out):
        state = key.windows[window]
        old, state.outputs = state.outputs, ()
        content = self._contents.of(key, window)
        if not self._reduction.is_empty(content):
            value = self._reduction.result(content)
            out.emit(value, timestamp, window, pane)
            state.outputs = (Output(value, timestamp, window, pane),)
        for output in old:
            out.emit(output.value, output.timestamp, output.window, output.pane, RETRACT)
        return bool(state.outputs)

    patch.setattr(PaneEmitter, "_retract_and_send", send)


def counts_of_merged_windows_not_added(patch: pytest.MonkeyPatch) -> None:
    """AfterCount continues with the largest count of merged windows."""

    def on_merge(self, states, last, clock):
        return FINISHED if FINISHED in states else max(states)

    patch.setattr(AfterCount, "on_merge", on_merge)


def indexes_continue_in_a_merged_window(patch: pytest.MonkeyPatch) -> None:
    """A merged window continues the pane indexes of its sources."""
    replace = Replacing._replace

    def and_continue(self, key, plan, *others):
        indexes = {window: state.index for window, state in key.windows.items()}
        owing = replace(self, key, plan, *others)
        for target, sources in plan.sources.items():
            key.windows[target].index = max([indexes[window] for window in sources], default=0)
        return owing

    patch.setattr(Replacing, "_replace", and_continue)


def late_by_the_watermark(patch: pytest.MonkeyPatch) -> None:
    """Elements behind the watermark are dropped, though their window has not expired."""
    process = Grouping.process

    def those_not_behind_the_watermark(self, key, arrivals, clock, out):
        out.dropped.extend(a for a in arrivals if a.latest < clock.watermark)
        process(self, key, [a for a in arrivals if a.latest >= clock.watermark], clock, out)

    patch.setattr(Grouping, "process", those_not_behind_the_watermark)


def second_on_time_pane(patch: pytest.MonkeyPatch) -> None:
    """A pane after the ON_TIME one is ON_TIME, too."""

    def timing(state, last, watermark):
        return PaneInfoTiming.EARLY if watermark <= last else PaneInfoTiming.ON_TIME

    patch.setattr(emission, "_timing", timing)


def sessions_do_not_split(patch: pytest.MonkeyPatch) -> None:
    """A session does not split when an element is retracted."""
    patch.setattr(SessionSplitPlanner, "_pieces", lambda self, key, removed: {})


def timestamp_of_new_elements_only(patch: pytest.MonkeyPatch) -> None:
    """The timestamp of a pane combines only its new elements."""
    patch.setattr(grouping, "stamping", lambda strategy, reduction, changing: None)


def expired_windows_forgotten(patch: pytest.MonkeyPatch) -> None:
    """An expired session is forgotten, and an overlapping element in time starts another."""
    patch.setattr(WindowingStrategy, "cleanup_time", WindowingStrategy.expiry)


def dropped_elements_extend_windows(patch: pytest.MonkeyPatch) -> None:
    """An element that is dropped from a closed window extends that window."""
    admit = Admission.admit

    def and_extend(self, key, arrivals, clock, out):
        admitted = admit(self, key, arrivals, clock, out)
        if self.contents.can_split:
            return admitted
        merges = [merge for merge in admitted.merges if self._finishes(key, merge, clock)]
        closed = {window: merge.target for merge in merges for window in merge.sources}
        dropped = [arrival for arrival in admitted.arrivals if arrival.window in closed]
        out.dropped.extend(attrs.evolve(a, window=closed[a.window]) for a in dropped)
        return admitted._replace(arrivals=[a for a in admitted.arrivals if a not in dropped])

    patch.setattr(Admission, "_closed", lambda self, key, plan, clock: set())
    patch.setattr(Admission, "admit", and_extend)


def dropped_elements_forgotten(patch: pytest.MonkeyPatch) -> None:
    """A retraction of an element that was dropped is kept as if its value were still to come."""
    patch.setattr(Contents, "takes_back", lambda self, key, arrival: False)


def earlier_trigger_state_kept(patch: pytest.MonkeyPatch) -> None:
    """A merged window continues with the trigger state of the earlier one."""
    merged_state = Replacing._merged_state

    def with_earlier_trigger(self, target, states, *others):
        state = merged_state(self, target, states, *others)
        return attrs.evolve(state, trigger=states[0].trigger) if states else state

    patch.setattr(Replacing, "_merged_state", with_earlier_trigger)


def timer_without_hold(patch: pytest.MonkeyPatch) -> None:
    """A timer of a stateful DoFn does not hold the output watermark."""
    moments = StatefulKeys.moments

    def without_hold(self, state):
        found = moments(self, state)
        return found and found._replace(hold=NEVER)

    patch.setattr(StatefulKeys, "moments", without_hold)


def timer_fires_twice(patch: pytest.MonkeyPatch) -> None:
    """The method of a timer is called twice."""
    call = StatefulKeys._call

    def twice(self, method, now, *others):
        for _ in range(1 + now.fires):
            call(self, method, now, *others)

    patch.setattr(StatefulKeys, "_call", twice)


def state_of_earlier_rounds_lost(patch: pytest.MonkeyPatch) -> None:
    """The cells of a key do not last from one round to the next; its timers do."""
    process = StatefulKeys.process

    def from_nothing(self, state, *others):
        for own in state.windows.values():
            own.cells.clear()
        process(self, state, *others)

    patch.setattr(StatefulKeys, "process", from_nothing)


def side_window_ready_too_early(patch: pytest.MonkeyPatch) -> None:
    """An element does not wait for the window of its side input."""
    patch.setattr(SideInputGate, "_ready", lambda self, state, needs: True)


def waiting_element_without_hold(patch: pytest.MonkeyPatch) -> None:
    """An element that waits for its side input does not hold the output watermark."""
    moments = SideInputGate.moments

    def without_hold(self, state):
        found = moments(self, state)
        return found and found._replace(hold=NEVER)

    patch.setattr(SideInputGate, "moments", without_hold)


def side_window_of_another_time(patch: pytest.MonkeyPatch) -> None:
    """An element sees the side window around the start of its own window, not around its end."""

    def around_the_start(window_fn, window):
        windows = next(iter(window_fn.assign_column([None], [window[0]], [(window,)])))
        return windows[-1] if windows else None

    patch.setattr(side_input_gate, "side_window", around_the_start)


def timer_overtakes_waiting_element(patch: pytest.MonkeyPatch) -> None:
    """Timers of a key fire, and its windows expire, while elements wait that are before them."""
    patch.setattr(stateful_side_inputs, "_held", lambda holds, key, clock: clock)


def side_input_of_another_window(patch: pytest.MonkeyPatch) -> None:
    """A stateful DoFn sees the side inputs of one window in all windows of a round."""

    def of_the_first(self, rows, run):
        return next(iter(self._calls.values())).results(rows, run)

    patch.setattr(CallsByWindow, "results", of_the_first)


def first_pane_not_retracted(patch: pytest.MonkeyPatch) -> None:
    """A late element does not retract the first pane of its window."""
    take = TierWindow.take

    def without_output(self, key):
        return take(self, key)._replace(output=None)

    patch.setattr(TierWindow, "take", without_output)


def early_pane_not_retracted(patch: pytest.MonkeyPatch) -> None:
    """A pane does not retract the EARLY pane before it, in a window without a full state."""
    patch.setattr(TierWindow, "_retractions", lambda self, ready, emitter: iter(()))


def counted_on_after_an_early_pane(patch: pytest.MonkeyPatch) -> None:
    """A window without a full state counts the elements of an EARLY pane again for the next one."""

    def without_reset(self, found, counts, until):
        for key, count in zip(found, counts, strict=True):
            self.counts[key] += count
        return [key for key in found if self.counts[key] >= until]

    patch.setattr(TierWindow, "count", without_reset)


def first_pane_of_session_not_retracted(patch: pytest.MonkeyPatch) -> None:
    """A late element does not retract the first pane of its session."""
    take = SessionTier.take

    def without_outputs(self, identity):
        for session in self._keys.get(identity, ()):
            session.output = None
        return take(self, identity)

    patch.setattr(SessionTier, "take", without_outputs)


def second_of_merged_sessions_lost(patch: pytest.MonkeyPatch) -> None:
    """An element that joins two sessions loses the content of the second one."""
    merge = SessionTier._merge

    def losing(self, kept, begin, stop, *others):
        for lost in kept[begin + 1 : stop]:
            lost.content = self.step.reduction.empty()
        merge(self, kept, begin, stop, *others)

    patch.setattr(SessionTier, "_merge", losing)


def squares_not_subtracted(patch: pytest.MonkeyPatch) -> None:
    """A variance subtracts a value, but not its square."""
    subtract = VarianceCombineFn.subtract_input

    def without_squares(self, accumulator, element):
        return *subtract(self, accumulator, element)[:-1], accumulator[-1]

    patch.setattr(VarianceCombineFn, "subtract_input", without_squares)


def sketch_that_claims_to_subtract(patch: pytest.MonkeyPatch) -> None:
    """A distinct count ignores retractions, though it says that it subtracts them."""

    def ignored(self, accumulator, element):
        return accumulator

    kind = ApproximateCountDistinctCombineFn
    patch.setattr(kind, "subtract_input", ignored, raising=False)
    patch.setattr(
        kind, "can_subtract", True
    )  # isinstance would remember it for the tests that follow


def evictor_keeps_what_came_last(patch: pytest.MonkeyPatch) -> None:
    """An evictor keeps the values that arrived last, not those with the latest timestamps."""
    patch.setattr(evictors, "_ORDER", lambda row: 0)


def restamped_in_the_old_windows(patch: pytest.MonkeyPatch) -> None:
    """An element with a new timestamp stays in its old windows."""
    restamped = outputs.restamped

    def in_old_windows(bundle, values, timestamps, window_fn):
        made = restamped(bundle, values, timestamps, window_fn)
        return attrs.evolve(made, windows=bundle.windows)

    patch.setattr(outputs, "restamped", in_old_windows)


def deferred_work_lost(patch: pytest.MonkeyPatch) -> None:
    """What a splittable DoFn defers is lost if a part of it was deferred before."""
    rest = restriction_keys._rest

    def once(live, call, now):
        return rest(live, call, now) if live.resumes_at == MIN_MICROS else None

    patch.setattr(restriction_keys, "_rest", once)


def restriction_without_hold(patch: pytest.MonkeyPatch) -> None:
    """The work that a splittable DoFn has left does not hold the output watermark."""
    moments = RestrictionKeys.moments

    def without_hold(self, state):
        found = moments(self, state)
        return found and found._replace(hold=NEVER)

    patch.setattr(RestrictionKeys, "moments", without_hold)


def elements_of_a_key_counted_once(patch: pytest.MonkeyPatch) -> None:
    """Values that are collected by window count as one element for each key."""
    columns = PlainPrecombiner.columns

    def of_one_each(self):
        return (each._replace(counts=[1] * len(each.keys)) for each in columns(self))

    patch.setattr(PlainPrecombiner, "columns", of_one_each)


def elements_beside_late_ones_lost(patch: pytest.MonkeyPatch) -> None:
    """If there is a late output, elements that arrive in one bundle with late ones are lost."""
    add = LateApart._add_elements

    def only_late(self: LateApart, bundle: Bundle) -> None:
        late = [self._late(windows) for windows in islice(bundle.windows, len(bundle))]
        if any(late):
            self.late.add(bundle.with_windows(late).where(late))
        else:
            add(self, bundle)

    patch.setattr(LateApart, "_add_elements", only_late)


def _set(laws: Iterable[str]) -> frozenset[str]:
    return frozenset(laws)


@attrs.frozen
class Bug:
    """A bug, the laws that it breaks, and the number of cases until it was found when this was written."""

    patch: Callable[[pytest.MonkeyPatch], None]
    laws: frozenset[str] = attrs.field(converter=_set)
    seen_after: int


BUGS = [
    Bug(missing_watermark_hold, [IN_TIME], 4),
    Bug(retraction_after_replacement, [TAKEN_BACK.sentence], 3),
    Bug(counts_of_merged_windows_not_added, [COUNTED.sentence], 92),
    Bug(indexes_continue_in_a_merged_window, [NUMBERED.sentence], 1),
    Bug(late_by_the_watermark, [EXPIRED_ONLY.sentence, LIKE_BATCH.sentence], 3),
    Bug(second_on_time_pane, [ONE_ON_TIME.sentence], 5),
    Bug(sessions_do_not_split, [LIKE_BATCH.sentence, UNTIL.sentence, STANDS.sentence], 71),
    Bug(timestamp_of_new_elements_only, [STAMPED.sentence], 1),
    Bug(expired_windows_forgotten, [APART.sentence, LIKE_BATCH.sentence, UNTIL.sentence], 37),
    Bug(dropped_elements_extend_windows, [LIKE_BATCH.sentence, UNTIL.sentence], 103),
    Bug(dropped_elements_forgotten, [DROPPED_TOGETHER.sentence], 229),
    Bug(earlier_trigger_state_kept, [COUNTED.sentence], 92),
    Bug(timer_without_hold, [IN_TIME], 16),
    Bug(timer_fires_twice, [LIKE_BATCH.sentence], 16),
    Bug(state_of_earlier_rounds_lost, [LIKE_BATCH.sentence], 16),
    Bug(side_window_ready_too_early, [SIDE_CONTENT.sentence], 17),
    Bug(waiting_element_without_hold, [IN_TIME, LIKE_ITS_BATCH, KEEPS_WINDOWS.sentence], 23),
    Bug(side_window_of_another_time, [SIDE_CONTENT.sentence], 57),
    Bug(timer_overtakes_waiting_element, [IN_TIME, LIKE_ITS_BATCH], 17),
    Bug(side_input_of_another_window, [SIDE_CONTENT.sentence], 23),
    Bug(first_pane_not_retracted, [TAKEN_BACK.sentence], 61),
    Bug(early_pane_not_retracted, [TAKEN_BACK.sentence], 61),
    Bug(counted_on_after_an_early_pane, [FIRED_BY_COUNT.sentence], 44),
    Bug(first_pane_of_session_not_retracted, [TAKEN_BACK.sentence], 28),
    Bug(second_of_merged_sessions_lost, [NOTHING_LOST.sentence], 77),
    Bug(squares_not_subtracted, [LIKE_BATCH.sentence, UNTIL.sentence], 105),
    Bug(sketch_that_claims_to_subtract, [LIKE_BATCH.sentence], 109),
    Bug(evictor_keeps_what_came_last, [LIKE_BATCH.sentence, UNTIL.sentence], 22),
    Bug(restamped_in_the_old_windows, [NEW_WINDOWS.sentence], 13),
    Bug(deferred_work_lost, [REPEATED_ONCE.sentence], 86),
    Bug(restriction_without_hold, [IN_TIME], 86),
    Bug(elements_of_a_key_counted_once, [COUNTED.sentence], 295),
    Bug(elements_beside_late_ones_lost, [UNWATCHED], 8),
]


@pytest.mark.parametrize(
    "bug",
    [pytest.param(b, id=b.patch.__name__, marks=in_turns(n)) for n, b in enumerate(BUGS)],
)
def test_a_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.patch(monkeypatch)
    report = check_runner(
        "local",
        CASES,
        batch=LIKE_ITS_BATCH in bug.laws,
        reference=None,
        pack=10,
        until_broken=True,
        shrinking=0,
    )
    after = {verdict.law: verdict.after for verdict in report.broken}
    print(
        f"{bug.patch.__name__}: found after {after} cases, {bug.seen_after} when this was written"
    )
    assert bug.laws & after.keys(), report


def test_the_documentation_has_the_numbers_of_cases() -> None:
    rows = re.findall(r"^\| .* \| (\d+) \| \d+ \|$", PAGE.read_text(), flags=re.MULTILINE)
    assert [int(row) for row in rows] == [bug.seen_after for bug in BUGS]


@pytest.mark.slow
def test_without_a_bug_no_law_is_broken() -> None:
    report = check_runner("local", cases=100, reference=None, pack=10)
    assert report.passed, report
