"""What is remembered of a key: plain data that can be stored at any time, and nothing that is over."""

import pickle

import attrs
import pytest
from hypothesis import given, settings, strategies as st

from headrace.errors import HeadraceError
from headrace.grouping.state.key_state import KeyState, freeze, thaw
from headrace.runners.contents.reductions import reduction_of
from headrace.sdk.groups.combine_fn import combine_fn_of
from headrace.sdk.testing.strategies.arriving import scripts
from headrace.sdk.testing.strategies.windowing import wheres, windowings
from headrace.stored_formats import KEY_STATE, VERSION
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    Repeatedly,
    WindowingStrategy,
)
from headrace.triggers.trigger import NEVER
from headrace.windowing import FixedWindows, Sessions, TimestampCombiner
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from headrace.windowing.window import BoundedWindow, interval
from tests.unit.triggers.one_key import OneKey, same

COMBINES = {"list": None, "sum": sum, "largest": max}


@attrs.frozen
class Life:
    """A key's life: how it is grouped, what of it is kept, and what happens to it."""

    strategy: WindowingStrategy
    kind: str
    script: tuple
    changing: bool = False

    def lived(self, between=same):
        combine = COMBINES[self.kind]
        fn = combine and combine_fn_of(combine, (), {})
        reduction = reduction_of(fn, self.changing)
        return OneKey(self.strategy, reduction, between, self.changing).play(self.script)


def _rows(script):
    """The elements without their keys."""
    for kind, what in script:
        yield kind, [row[1:] for row in what] if kind == "elements" else what


@st.composite
def lives(draw, to_infinity=None):
    where = draw(wheres())
    strategy = draw(windowings(where, safe=False))
    changing = draw(st.booleans())
    script = draw(scripts(where.scale, "k", retractions=changing, to_infinity=to_infinity))
    return Life(strategy, draw(st.sampled_from(sorted(COMBINES))), tuple(_rows(script)), changing)


def stored(strategy, by=same):
    """Freezes the state of a key, and goes on with what thaws."""
    merging = strategy.window_fn.is_merging()
    return lambda key: thaw(by(freeze(key)), merging)


def pickled(frozen):
    return pickle.loads(pickle.dumps(frozen))


@given(lives())
def test_state_can_be_stored_between_any_two_events(life):
    said = life.lived().said
    assert life.lived(stored(life.strategy)).said == said
    assert life.lived(stored(life.strategy, by=pickled)).said == said


PLAIN = (tuple, list, dict, str, bytes, int, type(None))


def parts(thing):
    yield thing
    if isinstance(thing, dict):
        thing = [*thing.keys(), *thing.values()]
    if isinstance(thing, (list, tuple)):
        for part in thing:
            yield from parts(part)


@settings(max_examples=30)
@given(lives())
def test_frozen_state_is_plain_data_that_thaws_as_it_was(life):
    """Tuples of one's own are windows and panes; an int of its own is the timing of a pane."""
    key = life.lived().state
    assert all(isinstance(part, PLAIN) for part in parts(freeze(key)))
    assert stored(life.strategy)(key) == key


@settings(max_examples=30)
@given(lives(to_infinity=True))
def test_nothing_is_left_at_the_end_of_time(life):
    key = life.lived().state
    assert key.is_empty
    assert not any(timers.moments for timers in queues(key))


def queues(key):
    return key.event_timers, key.processing_timers, key.holds, key.retraction_holds


def test_windows_are_in_order_again_when_they_thaw():
    strategy = WindowingStrategy(Sessions(10))
    key = OneKey(strategy).play(("elements", [(1, second * SECOND)]) for second in (60, 0, 40, 20))
    again = stored(strategy)(key.state)
    assert [float(window.start) for window in again.order] == [0, 20, 40, 60]


def test_another_version_is_refused():
    _, *rest = freeze(KeyState())
    with pytest.raises(HeadraceError) as refusal:
        thaw((KEY_STATE + 1, *rest), merging=False)
    assert refusal.value.problem == (
        f"the stored state has format {KEY_STATE + 1}, but this version of Headrace "
        f"({VERSION}) reads format {KEY_STATE}"
    )
    assert "start with a new checkpoint" in refusal.value.remedy


def test_a_window_that_expired_is_forgotten_while_others_live():
    key = OneKey(WindowingStrategy(FixedWindows(10), allowed_lateness=5 * SECOND))
    key.arrive([(1, 1 * SECOND), (2, 12 * SECOND)])
    key.watermark(15 * SECOND)
    assert [window.start for window in key.state.windows] == [10]
    assert all(len(timers.moments) <= 1 for timers in queues(key.state))


def test_windows_that_merged_are_forgotten():
    key = OneKey(WindowingStrategy(Sessions(10)))
    for second in (0, 15, 30, 8, 22):
        key.arrive([(second, second * SECOND)])
    (window,) = key.state.windows
    assert (window.start, window.end) == (0, 40)  # type: ignore[comparison-overlap]
    assert key.state.order == [window]
    assert all(set(timers.moments) <= {window} for timers in queues(key.state))


MOVES = {
    "forward": range(2_000),
    "backward": range(2_000, 0, -1),
}


@pytest.mark.slow
@pytest.mark.parametrize("combiner", TimestampCombiner)
@pytest.mark.parametrize("way", MOVES)
def test_a_session_that_is_extended_without_end_stays_small(way, combiner):
    """Beside another one, in front of it, that stays as it is."""
    strategy = WindowingStrategy(
        Sessions(10),
        AfterWatermark(early=AfterCount(100)),
        AccumulationMode.RETRACTING,
        timestamp_combiner=combiner,
    )
    key = OneKey(strategy, reduction_of(combine_fn_of(sum, (), {}), changing=False))
    key.arrive([(1, -100 * SECOND)])
    for second in MOVES[way]:
        key.arrive([(1, second * SECOND)])
    assert len(key.state.windows) == len(key.state.order) == 2
    assert max(len(timers._heap) for timers in queues(key.state)) < 100


class Tagged(BoundedWindow):
    """A window with more to it than its bounds."""


def test_windows_can_be_of_ones_own():
    window = tuple.__new__(Tagged, (0, 10, "north"))
    key = KeyState()
    key.event_timers.set(window, MAX_MICROS)
    again = thaw(pickle.loads(pickle.dumps(freeze(key))), merging=False)
    (found,) = again.event_timers.moments
    assert (type(found), found) == (Tagged, window)


@pytest.mark.parametrize(("before", "recalled"), [(1, True), (0, False)])
def test_what_stands_before_the_end_of_its_window_may_be_taken_back_late(before, recalled):
    """A pane at the last instant is not: when the window is gone, nothing takes it back."""
    window, lateness = interval(0, 10 * SECOND), 5 * SECOND
    strategy = WindowingStrategy(
        FixedWindows(10),
        Repeatedly(AfterCount(1)),
        AccumulationMode.RETRACTING,
        lateness,
        TimestampCombiner.OUTPUT_AT_EARLIEST,
    )
    key, instant = OneKey(strategy), window.last - before
    key.arrive([("said", instant)])
    assert key.state.retraction_holds.get(window) == (instant + lateness if recalled else NEVER)
