"""Bugs put into the engine: the kit finds each, by the law that it breaks, within 300 cases."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from headrace.sdk.testing.conformance import IN_TIME, check_runner
from headrace.sdk.testing.pane_laws import (
    APART,
    COUNTED,
    EXPIRED_ONLY,
    LIKE_BATCH,
    NUMBERED,
    ONE_ON_TIME,
    STAMPED,
    STANDS,
    TAKEN_BACK,
    UNTIL,
)
from headrace.triggers import emission, grouping, window_merging, window_splitting
from headrace.triggers.admission import Admission
from headrace.triggers.bundle import RETRACT
from headrace.triggers.data_triggers import AfterCount
from headrace.triggers.emission import PaneEmitter
from headrace.triggers.grouping import Grouping
from headrace.triggers.key_state import Output
from headrace.triggers.output_times import OutputTimes
from headrace.triggers.pane import PaneInfoTiming
from headrace.triggers.strategy import WindowingStrategy
from headrace.triggers.trigger import FINISHED
from headrace.triggers.window_merging import Merging
from headrace.triggers.window_splitting import OfSessions

CASES = 300

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "testing.md"


def hold_forgotten(patch: pytest.MonkeyPatch) -> None:
    """The output watermark does not wait for a pane to come."""
    patch.setattr(OutputTimes, "_hold", lambda self, key, arrival, watermark: None)


def retraction_last(patch: pytest.MonkeyPatch) -> None:
    """The new value goes out before the old one is taken back."""

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
    """A trigger that counts goes on with the larger of the counts."""

    def on_merge(self, states, last, clock):
        return FINISHED if FINISHED in states else max(states)

    patch.setattr(AfterCount, "on_merge", on_merge)


def numbers_go_on_in_a_merged_window(patch: pytest.MonkeyPatch) -> None:
    """A window that has become another goes on with the numbers of its panes."""
    unite = Merging._unite

    def and_go_on(self, key, target, sources, clock):
        unite(self, key, target, sources, clock)
        state = key.windows[target]
        state.index = max(source.state.index for source in sources)

    patch.setattr(Merging, "_unite", and_go_on)


def late_by_the_watermark(patch: pytest.MonkeyPatch) -> None:
    """Elements behind the watermark are dropped, though their window lives."""
    take = Grouping._take

    def if_not_late(self, key, arrival, clock, out):
        if arrival.latest < clock.watermark:
            out.dropped.append(arrival)
            return False
        return take(self, key, arrival, clock, out)

    patch.setattr(Grouping, "_take", if_not_late)


def on_time_twice(patch: pytest.MonkeyPatch) -> None:
    """A pane behind the ON_TIME one is called ON_TIME, too."""

    def timing(state, last, watermark):
        return PaneInfoTiming.EARLY if watermark <= last else PaneInfoTiming.ON_TIME

    patch.setattr(emission, "_timing", timing)


def sessions_do_not_split(patch: pytest.MonkeyPatch) -> None:
    """A session from which an element is taken back stays as long as it is."""
    patch.setattr(OfSessions, "_pieces", lambda self, key, gone: {})


def stamped_by_news(patch: pytest.MonkeyPatch) -> None:
    """A pane has the timestamp of what is new in it, not of all that it holds."""
    patch.setattr(grouping, "stamping", lambda strategy, reduction, changing: None)


def expired_windows_not_kept(patch: pytest.MonkeyPatch) -> None:
    """A session that has expired is forgotten, and an element in time that overlaps it starts another."""
    patch.setattr(WindowingStrategy, "gone", WindowingStrategy.expiry)


def dropped_elements_stretch(patch: pytest.MonkeyPatch) -> None:
    """An element that is dropped, as its window is closed, has made that window longer."""
    patch.setattr(Admission, "_closed", lambda self, key, plan, clock: set())


def earlier_trigger_state_kept(patch: pytest.MonkeyPatch) -> None:
    """When windows merge, the trigger goes on as in the earlier one."""
    united_state = window_merging.united_state

    def of_the_earlier(strategy, target, sources, clock):
        state = united_state(strategy, target, sources, clock)
        return attrs.evolve(state, trigger=sources[0].state.trigger) if sources else state

    for module in (window_merging, window_splitting):
        patch.setattr(module, "united_state", of_the_earlier)


@attrs.frozen
class Bug:
    """A bug, the laws that it breaks, and after how many cases that was seen when this was written."""

    patch: Callable[[pytest.MonkeyPatch], None]
    laws: frozenset[str] = attrs.field(converter=frozenset)
    seen_after: int


BUGS = [
    Bug(hold_forgotten, [IN_TIME], 7),
    Bug(retraction_last, [TAKEN_BACK.says], 1),
    Bug(counts_of_merged_windows_not_added, [COUNTED.says], 19),
    Bug(numbers_go_on_in_a_merged_window, [NUMBERED.says], 1),
    Bug(late_by_the_watermark, [EXPIRED_ONLY.says, LIKE_BATCH.says], 1),
    Bug(on_time_twice, [ONE_ON_TIME.says], 1),
    Bug(sessions_do_not_split, [LIKE_BATCH.says, UNTIL.says, STANDS.says], 15),
    Bug(stamped_by_news, [STAMPED.says], 2),
    Bug(expired_windows_not_kept, [APART.says, LIKE_BATCH.says, UNTIL.says], 25),
    Bug(dropped_elements_stretch, [LIKE_BATCH.says, UNTIL.says], 23),
    Bug(earlier_trigger_state_kept, [COUNTED.says], 19),
]


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.patch.__name__)
def test_a_bug_is_found(bug: Bug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.patch(monkeypatch)
    report = check_runner("local", CASES, reference=None, until_broken=True, shrinking=0)
    after = {verdict.law: verdict.after for verdict in report.broken}
    print(f"{bug.patch.__name__}: seen after {after} cases, {bug.seen_after} when this was written")
    assert bug.laws & after.keys(), report


def test_the_documentation_says_after_how_many_cases() -> None:
    rows = re.findall(r"^\| .* \| (\d+) \| \d+ \|$", PAGE.read_text(), flags=re.MULTILINE)
    assert [int(row) for row in rows] == [bug.seen_after for bug in BUGS]


def test_without_a_bug_nothing_is_found() -> None:
    report = check_runner("local", cases=100, reference=None)
    assert report.passed, report
