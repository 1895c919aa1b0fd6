"""The oracle against the published figures: values, order, pane info and processing times."""

from collections import Counter

import pytest

from tests.laws.oracle import triggers, windows
from tests.laws.oracle.contents import Sum
from tests.laws.oracle.replay import GroupingResult, Script, Stage, Strategy, replay
from tests.laws.oracle.window_history import GLOBAL, MAX, Element, Pane
from tests.model.figures import END, KEY, SECOND, Case, Expected, cases

VOCABULARY = {
    "global": windows.Global(),
    "fixed": lambda size: windows.fixed(size * SECOND),
    "sessions": lambda gap: windows.Sessions(gap * SECOND),
    "validity": windows.Validity(),
    "default": triggers.Default(),
    "at_watermark": triggers.AfterWatermark(),
    "after_watermark": triggers.AfterWatermark,
    "after_count": triggers.AfterCount,
    "after_processing_time": lambda delay: triggers.AfterProcessingTime(delay * SECOND),
    "at_period": lambda period: triggers.AtPeriod(period * SECOND),
    "repeatedly": triggers.Repeatedly,
    "repeat_until": lambda t, until: triggers.OrFinally(triggers.Repeatedly(t), until),
    "sequence": lambda *ts: triggers.AfterEach(ts),
}


def run_case(case: Case) -> GroupingResult:
    strategy = Strategy(
        windows=case.windows(VOCABULARY),
        trigger=case.trigger(VOCABULARY),
        mode=case.mode,
        lateness=case.lateness,
        on_time=case.on_time == "FIRE_ALWAYS",
    )
    return replay(script_of(case), [Stage(strategy, Sum())])[0]


def script_of(case: Case) -> Script:
    return [
        (
            kind,
            [Element(KEY, *e) for e in what]
            if kind == "elements"
            else MAX
            if what == END
            else what,
        )
        for kind, what in case.script
    ]


def window_of(expected: Expected) -> tuple[int, int]:
    if expected.window == "global":
        return GLOBAL
    assert not isinstance(expected.window, str)
    start, end = expected.window
    return int(start), GLOBAL[1] if end == "global" else int(end)


def details_of(pane: Pane) -> dict[str, object]:
    return {
        "timing": pane.timing,
        "index": pane.index,
        "non_speculative": pane.nonspeculative,
        "first": pane.first,
        "last": pane.last,
    }


def comparable(case: Case, pane: Pane, expected: Expected) -> Expected:
    """A pane, reduced to what the figure specifies."""
    details = {name: details_of(pane)[name] for name in expected.details}
    moment = None if expected.moment is None else case.events[pane.event][0]
    window = expected.window if pane.window == window_of(expected) else pane.window
    return Expected(window, pane.value, pane.diff, moment, details)


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_oracle_reproduces_each_figure(case: Case) -> None:
    panes = run_case(case).panes
    expected = list(case.panes)
    if not case.in_order:  # order within a window is binding, order across windows is not
        panes, expected = sorted(panes, key=lambda p: p.window), sorted(expected, key=window_of)
    assert len(panes) == len(expected)
    assert [comparable(case, p, e) for p, e in zip(panes, expected, strict=True)] == expected


def test_only_the_late_nine_is_dropped() -> None:
    dropped = {str(case): [e.value for e, _ in run_case(case).dropped] for case in cases()}
    assert Counter(map(len, dropped.values())) == {0: len(dropped) - 1, 1: 1}
    assert dropped["streaming_systems: 2-10 right"] == [9]
