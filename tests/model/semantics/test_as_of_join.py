"""As-of joins: what is emitted, and corrected, compared with a join in plain Python."""

from bisect import bisect_right
from collections import Counter
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings, strategies as st

import headrace as hr
from headrace.sdk.joins import as_of_dofn
from headrace.sdk.joins.as_of_dofn import JoinAsOf, Timeline
from headrace.testing import TestPipeline, TestStream, capture
from headrace.triggers import AfterCount, AfterWatermark
from headrace.windowing import FixedWindows, IntervalWindow, TimestampCombiner
from headrace.windowing.time.timestamps import MAX_MICROS, MIN_MICROS, MIN_TIMESTAMP
from tests.model.semantics.scenarios import RETRACTING

pytestmark = pytest.mark.mode("streaming")

EVENTS, VERSIONS = "events", "versions"

Step = tuple[str, str, int, Any]
"""Side, kind ("add" or "watermark"), time, and the (key, value) that is added."""

Change = tuple[int, Any, int]
"""1 or -1, the result that is emitted or retracted, and its timestamp in seconds."""


def scripted(steps, open_end=False) -> TestStream:
    """A test stream of steps."""
    stream = TestStream(stays_open=open_end, output_tags=[EVENTS, VERSIONS])
    for side, kind, time, value in steps:
        if kind == "add":
            stream = stream.add_elements([hr.TimestampedValue(value, time)], tag=side)
        else:
            stream = stream.advance_watermark_to(time, tag=side)
    return stream


def changelog(runner, steps, open_end=False, **how) -> list[Change]:
    """The changes that an as-of join emits."""
    with TestPipeline(runner=runner) as p:
        sides = p | scripted(steps, open_end)
        joined = (sides[EVENTS], sides[VERSIONS]) | hr.AsOfJoin(**how)
        found = capture(joined)
    return [(e.diff, e.value, e.timestamp.micros // 1_000_000) for e in found.elements]


def oracle(steps, open_end, lateness=0, tolerance=None, left=False) -> list[Change]:
    """The same in plain Python: the join of all that was not late, again after each step."""
    marks = {EVENTS: MIN_MICROS, VERSIONS: MIN_MICROS}
    added: dict[str, list[Any]] = {EVENTS: [], VERSIONS: []}
    results: dict[int, Any] = {}
    changes: list[Change] = []
    for side, kind, time, value in [*steps, *([] if open_end else [("", "end", 0, None)])]:
        watermark = min(marks.values())
        if kind == "end":
            marks = dict.fromkeys(marks, MAX_MICROS)
        elif kind == "watermark":
            marks[side] = time
        elif time + lateness >= watermark:
            added[side].append((time, value))
        now = min(marks.values())
        for number, (at, (key, event)) in enumerate(added[EVENTS]):
            valid = [(t, v) for t, (k, v) in added[VERSIONS] if k == key and t <= at]
            if tolerance is not None:
                valid = [(t, v) for t, v in valid if at - t <= tolerance]
            version = max(valid)[1] if valid else None
            result = (key, (event, version)) if at < now and (valid or left) else None
            before = results.get(number)
            if before != result:
                changes += [(-1, before, at)] if before else []
                changes += [(1, result, at)] if result else []
                results[number] = result
    return changes


def add(side, time, value, key="k") -> Step:
    return side, "add", time, (key, value)


def advance(time, *sides) -> list[Step]:
    return [(side, "watermark", time, None) for side in sides or (EVENTS, VERSIONS)]


PAYMENTS = [
    add(VERSIONS, 0, 90),
    add(VERSIONS, 30, 70),
    add(EVENTS, 20, "a"),
    add(EVENTS, 40, "b"),
    *advance(25),
]


def test_an_event_gets_the_version_that_is_valid_at_its_time(runner):
    found = changelog(runner, PAYMENTS)
    assert found == [(1, ("k", ("a", 90)), 20), (1, ("k", ("b", 70)), 40)]


def test_an_event_waits_for_the_watermark_of_both_sides(runner):
    waiting = [add(VERSIONS, 0, 90), add(EVENTS, 20, "a")]
    assert changelog(runner, [*waiting, *advance(25, EVENTS)], open_end=True) == []
    assert changelog(runner, [*waiting, *advance(20)], open_end=True) == []
    assert changelog(runner, [*waiting, *advance(21)], open_end=True) != []


def test_a_late_version_corrects_the_results_after_it(runner):
    late = [*PAYMENTS, add(EVENTS, 8, "c"), add(VERSIONS, 10, 80)]
    assert changelog(runner, late, allowed_lateness=20) == [
        (1, ("k", ("a", 90)), 20),
        (1, ("k", ("c", 90)), 8),
        (-1, ("k", ("a", 90)), 20),
        (1, ("k", ("a", 80)), 20),
        (1, ("k", ("b", 70)), 40),
    ]


def test_a_version_that_changes_no_result_emits_nothing(runner):
    same = [*PAYMENTS, add(VERSIONS, 10, 90), add(VERSIONS, 22, 80)]
    found = changelog(runner, same, allowed_lateness=20)
    assert found == [(1, ("k", ("a", 90)), 20), (1, ("k", ("b", 70)), 40)]


def test_elements_later_than_the_allowed_lateness_are_dropped_and_counted():
    late = [*PAYMENTS, add(VERSIONS, 10, 80), add(EVENTS, 4, "c")]
    with TestPipeline() as p:
        sides = p | scripted(late)
        found = capture((sides[EVENTS], sides[VERSIONS]) | hr.AsOfJoin(allowed_lateness=14))
    assert [e.value[1] for e in found.elements] == [("a", 90), ("b", 70)]
    assert p.result is not None
    (counter,) = p.result.metrics().query()["counters"]
    assert (counter.key.metric.name, counter.result) == ("late_dropped", 2)


def test_left_keeps_events_without_a_version_until_there_is_one(runner):
    steps = [add(EVENTS, 20, "a"), *advance(25), add(VERSIONS, 10, 80)]
    assert changelog(runner, steps, how="left", allowed_lateness=20) == [
        (1, ("k", ("a", None)), 20),
        (-1, ("k", ("a", None)), 20),
        (1, ("k", ("a", 80)), 20),
    ]
    assert changelog(runner, steps, allowed_lateness=20) == [(1, ("k", ("a", 80)), 20)]


def test_a_version_is_valid_for_the_tolerance(runner):
    steps = [add(VERSIONS, 0, 90), add(EVENTS, 10, "a"), add(EVENTS, 11, "b")]
    assert changelog(runner, steps, tolerance=10) == [(1, ("k", ("a", 90)), 10)]


def test_the_revision_decides_between_versions_with_the_same_timestamp(runner):
    steps = [add(VERSIONS, 0, (2, "new")), add(VERSIONS, 0, (10, "newer")), add(EVENTS, 1, "a")]
    found = changelog(runner, steps, revision=lambda version: version[0])
    assert found == [(1, ("k", ("a", (10, "newer"))), 1)]


def test_the_results_are_in_the_windows_of_the_events(runner):
    steps = [add(VERSIONS, 0, 1), add(EVENTS, 3, 10), add(EVENTS, 12, 20), *advance(11)]
    with TestPipeline(runner=runner) as p:
        sides = p | scripted(steps)
        events = sides[EVENTS] | hr.WindowInto(FixedWindows(10))
        sums = (events, sides[VERSIONS]) | hr.AsOfJoin() | hr.MapTuple(_product)
        found = capture(sums | hr.CombinePerKey(sum))
    assert [(e.value, e.window) for e in found.elements] == [
        (("k", 10), IntervalWindow(0, 10)),
        (("k", 20), IntervalWindow(10, 20)),
    ]


def _product(key, pair):
    return key, pair[0] * pair[1]


def corrected_rates(windows):
    """Rates whose last value per minute wins, in retracting mode."""
    return windows | "Last of window" >> hr.CombinePerKey(max)


def retracting(lateness=20, **more):
    return hr.WindowInto(
        FixedWindows(10),
        trigger=AfterWatermark(late=AfterCount(1)),
        accumulation_mode=RETRACTING,
        allowed_lateness=lateness,
        **more,
    )


def test_a_version_that_is_retracted_and_replaced_corrects_the_results(runner):
    steps = [add(VERSIONS, 1, 80), add(EVENTS, 12, "a"), *advance(15), add(VERSIONS, 2, 90)]
    with TestPipeline(runner=runner) as p:
        sides = p | scripted(steps)
        rates = sides[VERSIONS] | retracting() | hr.CombinePerKey(max)
        found = capture((sides[EVENTS], rates) | hr.AsOfJoin(allowed_lateness=20))
    assert [(e.diff, e.value[1]) for e in found.elements] == [
        (1, ("a", 80)),
        (-1, ("a", 80)),
        (1, ("a", 90)),
    ]


def test_an_event_that_is_retracted_takes_its_result_along(runner):
    steps = [
        add(VERSIONS, 1, "x"),
        add(EVENTS, 2, 1),
        *advance(15),
        add(EVENTS, 3, 5),
        *advance(18),
    ]
    with TestPipeline(runner=runner) as p:
        sides = p | scripted(steps)
        sums = sides[EVENTS] | retracting() | hr.CombinePerKey(sum)
        found = capture((sums, sides[VERSIONS]) | hr.AsOfJoin())
    assert [(e.diff, e.value[1]) for e in found.elements] == [
        (1, (1, "x")),
        (-1, (1, "x")),
        (1, (6, "x")),
    ]


@pytest.mark.mode("batch")
def test_a_batch_has_the_results_of_the_stream(runner):
    steps = [*PAYMENTS, add(VERSIONS, 10, 80), add(EVENTS, 15, "c")]
    net: Counter[Any] = Counter()
    for diff, value, _ in changelog(runner, steps, allowed_lateness=20):
        net[value] += diff
    with TestPipeline(runner=runner) as p:
        sides = [
            p
            | side
            >> hr.Create(
                [hr.TimestampedValue(v, t) for s, k, t, v in steps if (s, k) == (side, "add")]
            )
            for side in (EVENTS, VERSIONS)
        ]
        found = capture(tuple(sides) | hr.AsOfJoin(allowed_lateness=20))
    assert sorted(+net) == sorted(e.value for e in found.elements)
    assert all(e.diff == 1 for e in found.elements)


# Random streams

values = st.integers(0, 3)


BOTH = (EVENTS, VERSIONS)


@st.composite
def random_steps(draw) -> list[Step]:
    """Steps whose watermarks advance; elements are around the watermark: many of them are late.

    Uniform choices, unlike those of Hypothesis, have many late versions that change results.
    """
    choice = Random(draw(st.integers(0, 1 << 32)))
    reached = dict.fromkeys(BOTH, 3)
    steps = []
    for _ in range(draw(st.integers(10, 18))):
        side = choice.choice(BOTH)
        if choice.random() < 0.7:
            time = max(0, min(reached.values()) + choice.randint(-4, 3))
            steps.append(add(side, time, choice.randint(0, 3), choice.choice("kkkl")))
            continue
        for advanced in choice.choice([BOTH, (side,)]):
            reached[advanced] += choice.randint(1, 4)
            steps += advance(reached[advanced], advanced)
    return steps


hows = st.fixed_dictionaries(
    {
        "how": st.sampled_from(["inner", "left"]),
        "allowed_lateness": st.sampled_from([4, 8, 1, 0]),
        "tolerance": st.none() | st.integers(1, 6),
    }
)


def check(runner, steps, open_end, how):
    expected = oracle(
        steps, open_end, how["allowed_lateness"], how["tolerance"], how["how"] == "left"
    )
    assert Counter(changelog(runner, steps, open_end, **how)) == Counter(expected)


def check_locally(steps, open_end, how):
    check("local", steps, open_end, how)


@given(random_steps(), st.booleans(), hows)
def test_random_streams_emit_the_changes_of_the_join_in_plain_python(steps, open_end, how):
    check_locally(steps, open_end, how)


def forgets_the_valid_version(patch):
    patch.setattr(JoinAsOf, "_forget_versions", _forget_all)


def never_corrects(patch):
    patch.setattr(JoinAsOf, "_correct", lambda *_: ())


def corrects_without_retracting(patch):
    change = JoinAsOf._change
    patch.setattr(JoinAsOf, "_change", lambda self, diff, *row: change(self, 1, *row))


def takes_the_next_version(patch):
    patch.setattr(
        as_of_dofn, "bisect_right", lambda times, time: min(len(times), 1 + _at(times, time))
    )


def _at(times, time):
    return bisect_right(times, time)


def ignores_the_tolerance(patch):
    at = Timeline.at
    patch.setattr(Timeline, "at", lambda self, time, tolerance: at(self, time, 1 << 62))


def _forget_all(self, versions, line, horizon):
    versions.clear_range(MIN_TIMESTAMP, hr.Timestamp(micros=horizon))


@pytest.mark.slow
@pytest.mark.parametrize(
    "bug",
    [
        forgets_the_valid_version,
        never_corrects,
        corrects_without_retracting,
        takes_the_next_version,
        ignores_the_tolerance,
    ],
)
def test_random_streams_find_a_seeded_bug(bug, monkeypatch):
    bug(monkeypatch)
    search = settings(
        max_examples=300,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    with pytest.raises(AssertionError):
        search(given(random_steps(), st.booleans(), hows)(check_locally))()


RATES_AND_PAYMENTS = [
    add(side, (7 * n) % 12, n % 4, key)
    for n, (side, key) in enumerate(
        zip(["events", "versions", "events"] * 8, "kklml" * 5, strict=False)
    )
]


@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_long_stream_emits_the_changes_of_the_join_in_plain_python(runner, how):
    marks = iter([advance(t, side) for t in (2, 5, 6, 9) for side in (EVENTS, VERSIONS)])
    steps = [
        step
        for n, own in enumerate(RATES_AND_PAYMENTS)
        for step in (own, *(next(marks, []) if n % 3 == 2 else []))
    ]
    check(runner, steps, False, {"how": how, "allowed_lateness": 3, "tolerance": 8})


# Refusals


def sides_of(p, *steps):
    stream = TestStream().add_elements([hr.TimestampedValue(("k", 1), 1)])
    pcoll: Any = p | "Read" >> stream
    for step in steps:
        pcoll |= step
    return pcoll, p | "Other" >> hr.Create([("k", 2)])


@pytest.mark.parametrize(
    ("steps", "join", "problem"),
    [
        ([], {"how": "outer"}, "has how='outer'"),
        ([], {"tolerance": -1}, "the tolerance of AsOfJoin is -1"),
        ([], {"allowed_lateness": -1}, "the allowed_lateness of AsOfJoin is -1"),
        (
            [retracting(20), hr.CombinePerKey(sum)],
            {"allowed_lateness": 10},
            "allows a lateness of 10 s, but retractions",
        ),
        (
            [
                retracting(timestamp_combiner=TimestampCombiner.OUTPUT_AT_LATEST),
                hr.CombinePerKey(sum),
            ],
            {},
            "have the timestamps of their elements",
        ),
        ([hr.Map(str)], {}, "are of type str"),
    ],
)
def test_what_cannot_be_joined_is_refused(steps, join, problem):
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match=problem):
        sides_of(p, *steps) | "Join" >> hr.AsOfJoin(**join)


def test_it_needs_two_collections():
    p = hr.Pipeline()
    with pytest.raises(hr.PipelineError, match="apply it to a tuple of two collections"):
        p | hr.Create([("k", 1)]) | hr.AsOfJoin()  # type: ignore[operator]  # refused by mypy too
