"""Laws of splittable DoFns: a stream with any stops and restarts does what a batch does, once.

Then bugs are seeded, and a law finds each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

import attrs
import pytest
from hypothesis import find, given, settings, strategies as st

import headrace as hr
from headrace.io.restriction_trackers import OffsetRange
from headrace.runners.splittable import restriction_keys
from headrace.runners.splittable.restriction_keys import LiveRestriction, RestrictionKeys
from headrace.sdk.pardo.splittable.safe_trackers import ThreadsafeRestrictionTracker
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers.trigger import NEVER
from headrace.windowing.time.timestamps import MAX_MICROS
from headrace.windowing.time.units import SECOND
from tests.faults.days import in_turns
from tests.laws.holds import forget_hold
from tests.laws.splittable_programs import (
    BoundedReader,
    Parts,
    Play,
    Reader,
    Reading,
    Round,
    play,
    readings,
    rounds,
)
from tests.laws.test_stateful import SAME, drawn

Law: TypeAlias = Callable[[list[Round], int | None], None]

scripts = st.lists(rounds, min_size=1, max_size=6)
limits = st.one_of(st.none(), st.integers(1, 5))


def elements_of(script: list[Round]) -> list[Reading]:
    return [element for each in script for element in each.elements]


def check_each_position_once(script: list[Round], claims: int | None) -> None:
    expected = [output for each in elements_of(script) for output in each.outputs]
    assert Counter(play(script, claims).values) == Counter(expected)


def check_nothing_is_behind_the_watermark(script: list[Round], claims: int | None) -> None:
    played = play(script, claims)
    for before, outputs in zip(played.watermarks, played.outputs[1:], strict=False):
        assert all(timestamp >= before for _, timestamp in outputs)
    assert played.watermarks == sorted(played.watermarks)
    assert played.watermarks[-1] == MAX_MICROS


def check_limit(script: list[Round], claims: int | None) -> None:
    """A part gives as many outputs in a round as its claims, at most."""
    parts = sum(-(-(len(each.outputs)) // each.part) for each in elements_of(script))
    for outputs in play(script, claims).outputs:
        assert claims is None or len(outputs) <= claims * parts


def check_delays(script: list[Round], claims: int | None) -> None:
    """Until the next restriction is due, a round in which nothing arrives has no outputs."""
    run = Play(claims)
    known: dict[Any, int] = {}
    for each in script:
        before = run.live()
        run.round(each.elements, 0, each.passed)
        due = min((known[live.element, live.restriction] for live in before), default=NEVER)
        assert each.elements or run.now >= due or not run.played.outputs[-1]
        for live in run.live():
            known.setdefault((live.element, live.restriction), wanted(live, run.now))


def wanted(live: LiveRestriction, now: int) -> int:
    """When a restriction goes on, by what its element says; at once, if it was stopped by the limit."""
    stops = dict(live.element.stops)
    by_itself = live.restriction.start in stops and live.restriction.start > live.element.start
    return now + int(stops[live.restriction.start] * SECOND) if by_itself else now


def check_drain(script: list[Round], claims: int | None) -> None:
    """A run that is drained reads half of each part that is left, since its provider says so, and ends."""
    run = Play(claims)
    for each in script:
        run.round(each.elements, 0, each.passed)
    left = [live.restriction.size() // 2 for live in run.live()]
    run.keys.draining, before = True, len(run.played.values)
    run.finish(restarts=any(each.restarts for each in script))
    assert len(run.played.values) - before == sum(left)


LAWS = [
    check_each_position_once,
    check_nothing_is_behind_the_watermark,
    check_limit,
    check_drain,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@settings(max_examples=40)
@given(script=scripts, claims=limits)
def test_law(law: Law, script: list[Round], claims: int | None) -> None:
    law(script, claims)


@settings(max_examples=40)
@given(script=scripts)
def test_a_delay_is_waited_for(script: list[Round]) -> None:
    check_delays(script, None)


# ------------------------------------------------------------------------------------------ whole pipelines


def with_window(pair: Any, window: Any = hr.DoFn.WindowParam) -> Any:
    """Add the start of its window to a pair, in seconds."""
    return (*pair, int(window.start))


def sums(elements: Any, reader: hr.DoFn) -> Any:
    """The sums of positions by name and window of five seconds, with the windows."""
    return (
        elements
        | hr.ParDo(reader)
        | hr.WindowInto(hr.window.FixedWindows(5))
        | hr.CombinePerKey(sum)
        | hr.Map(with_window)
    )


def expected_sums(elements: list[Reading]) -> list[tuple[str, int, int]]:
    """The same, computed from the elements."""
    found: dict[tuple[str, int], int] = {}
    for name, position in (output for element in elements for output in element.outputs):
        key = name, position // 5 * 5
        found[key] = found.get(key, 0) + position
    return sorted((name, total, start) for (name, start), total in found.items())


@settings(max_examples=20)
@given(elements=st.lists(readings(), max_size=4))
def test_windows_of_a_stream_have_what_those_of_a_batch_have(elements: list[Reading]) -> None:
    script = TestStream().add_elements(elements, event_timestamp=0).advance_watermark_to_infinity()
    for source, reader in ((script, Reader()), (hr.Create(elements), BoundedReader())):
        with TestPipeline() as p:
            found = capture(sums(p | source, reader))
        assert sorted(found.values) == expected_sums(elements)


SIDE_BY_SIDE = 10


def sooner(element: Reading) -> Reading:
    """Return an element with shorter delays, for runs by the wall clock."""
    return element._replace(stops=tuple((stop, delay / 100) for stop, delay in element.stops))


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "streaming"])
def test_on_spark(small_spark: Any, streaming: bool) -> None:
    cases = drawn(st.lists(readings(), max_size=4), SIDE_BY_SIDE)
    reader = Reader() if streaming else BoundedReader()
    with TestPipeline(small_spark) as p:
        found = []
        for number, elements in enumerate(cases):
            read = p | f"Create {number}" >> hr.Create(map(sooner, elements))
            summed = read | f"Sums {number}" >> hr.ptransform_fn(sums)(reader)
            found.append(capture(summed, f"capture {number}"))
    for elements, each in zip(cases, found, strict=True):
        assert sorted(each.values) == expected_sums(elements)


# ------------------------------------------------------------------------------------------ seeded bugs


def forgotten_hold(patch: pytest.MonkeyPatch) -> None:
    """Restrictions do not hold the output watermark."""
    forget_hold(patch, RestrictionKeys)


def hold_of_one(patch: pytest.MonkeyPatch) -> None:
    """Only the first restriction of a key holds the output watermark."""
    moments = RestrictionKeys.moments

    def of_the_first(self: Any, state: Any) -> Any:
        found = moments(self, state)
        return found and found._replace(hold=state[0].hold)

    patch.setattr(RestrictionKeys, "moments", of_the_first)


def rest_is_lost(patch: pytest.MonkeyPatch) -> None:
    """A deferred rest without a delay is forgotten."""
    rest = restriction_keys._rest

    def unless_at_once(live: Any, call: Any, now: int) -> Any:
        found = rest(live, call, now)
        return None if found is not None and found.resumes_at == now else found

    patch.setattr(restriction_keys, "_rest", unless_at_once)


def starts_again(patch: pytest.MonkeyPatch) -> None:
    """A restriction goes on from its beginning."""
    rest = restriction_keys._rest

    def whole(live: Any, call: Any, now: int) -> Any:
        found = rest(live, call, now)
        first = live.restriction.start
        again = found and OffsetRange(
            max(first, found.restriction.start - 1), found.restriction.stop
        )
        return found and attrs.evolve(found, restriction=again)

    patch.setattr(restriction_keys, "_rest", whole)


def estimator_starts_again(patch: pytest.MonkeyPatch) -> None:
    """The state of the watermark estimator is not kept."""
    rest = restriction_keys._rest

    def without_state(live: Any, call: Any, now: int) -> Any:
        found = rest(live, call, now)
        return found and attrs.evolve(found, estimator=("none", None), hold=found.hold + SECOND)

    patch.setattr(restriction_keys, "_rest", without_state)


def one_is_stored(patch: pytest.MonkeyPatch) -> None:
    """Of the restrictions with the same key one is stored."""
    freeze = RestrictionKeys.freeze
    patch.setattr(RestrictionKeys, "freeze", lambda self, state: freeze(self, state[:1]))


def delay_is_forgotten(patch: pytest.MonkeyPatch) -> None:
    """What is deferred goes on at once."""
    patch.setattr(restriction_keys, "_moment", lambda resume, now: now)


def no_limit(patch: pytest.MonkeyPatch) -> None:
    """The limit of claims is not kept."""
    patch.setattr(ThreadsafeRestrictionTracker, "checkpoint", lambda self: False)


def drained_without_truncation(patch: pytest.MonkeyPatch) -> None:
    """A drained run processes all work."""
    patch.setattr(Parts, "truncate", lambda self, element, restriction: restriction)


def truncated_again(patch: pytest.MonkeyPatch) -> None:
    """A drained run truncates a restriction in each round."""
    truncated = RestrictionKeys._truncated

    def unmarked(self: Any, live: Any) -> Any:
        found = truncated(self, live)
        return found and attrs.evolve(found, truncated=False)

    patch.setattr(RestrictionKeys, "_truncated", unmarked)


BUGS = [
    truncated_again,
    forgotten_hold,
    hold_of_one,
    rest_is_lost,
    starts_again,
    estimator_starts_again,
    one_is_stored,
    delay_is_forgotten,
    no_limit,
    drained_without_truncation,
]


@pytest.mark.parametrize(
    "bug", [pytest.param(b, id=b.__name__, marks=in_turns(n)) for n, b in enumerate(BUGS)]
)
def test_a_bug_is_found(
    bug: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    bug(monkeypatch)
    assert find(
        st.tuples(scripts, limits),
        lambda case: any(is_broken(law, *case) for law in (*LAWS, check_delays)),
        settings=settings(SAME, max_examples=2_000),
    )


def is_broken(law: Law, script: list[Round], claims: int | None) -> bool:
    try:
        law(script, claims)
    except (AssertionError, ValueError):  # the tracker raises a ValueError for work that is left
        return True
    return False
