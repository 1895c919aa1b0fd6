"""Laws of a transform: streaming is batch, order means nothing, and the same input gives the same output."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.test_stream import TestStream
from headrace.sdk.pvalue import PCollection
from headrace.sdk.reading import Create
from headrace.sdk.testing.batch_oracle import united
from headrace.sdk.testing.capturing import Captured, capture
from headrace.sdk.testing.law import IN_ANY_ORDER, LIKE_ITS_BATCH, LawBroken
from headrace.sdk.testing.law_runner import Drawn, drawn_from, try_each
from headrace.sdk.testing.property_testing import assume, st
from headrace.sdk.testing.run_on_runner import OneOf
from headrace.sdk.testing.runs import ordered
from headrace.sdk.testing.script import Script, punctual, rows_of, stream, with_rows
from headrace.sdk.testing.strategies.arriving import Scale, timelines
from headrace.sdk.testing.test_pipeline import TestPipeline
from headrace.sdk.transform import PTransform
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.window import BoundedWindow

Transform: TypeAlias = PTransform[Any, Any] | Callable[[], PTransform[Any, Any]]
"""A transform of a collection into another one, or a function that makes one."""

AddUp: TypeAlias = Callable[[list[Any]], Any]
"""Makes one value of those of several panes."""

Content: TypeAlias = Counter[str]
"""What a collection comes to: values with their windows, spelt, and how often each is there."""


def check_streaming_equals_batch(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    add_up: AddUp | None = None,
    runner: OneOf = "local",
    cases: int = 100,
) -> None:
    """Check that a transform comes to the same on a stream as on a batch of the same elements.

    Elements are drawn with timestamps and in any order of arrival, between steps of the watermark and the
    clock. What comes out is read as its accumulation mode wants it read: values less their retractions,
    the last pane of each key and window, or panes that add up. Only values and windows count.

    Args:
        transform: a transform of one collection into another, or a function without arguments that
            makes one.
        elements: some elements, or a Hypothesis strategy that draws one.
        lateness: how far elements may lie behind the watermark; seconds, timedelta or Duration. No more
            than the transform allows: nothing may be dropped.
        unit: timestamps are small whole numbers of these; seconds, timedelta or Duration. About a tenth of
            the length of a window is good.
        origin: where event time starts; seconds, datetime or Timestamp.
        add_up: makes one value of those of the panes of a key and window, for a transform that ends in
            discarding mode and fires more than once; of pairs it gets the second parts.
        runner: name of the runner, or the runner.
        cases: how many streams are tried.

    Raises:
        LawBroken: the law does not hold; with the smallest stream that was found.
        PipelineError: the transform has not one output, or ``add_up`` is missing.

    >>> from headrace.sdk.combine import CombinePerKey
    >>> check_streaming_equals_batch(CombinePerKey(sum), [("a", 1), ("b", 2)], cases=20)
    """
    bench = _Bench(transform, runner, add_up)

    def law(script: Script) -> None:
        streamed = bench.run(stream(script))
        bench.refuse_drops(streamed, script)
        batched = bench.run(Create(rows_of(script)))
        bench.compare(
            LIKE_ITS_BATCH,
            script,
            {"stream": streamed, "batch": batched},
            "let the transform depend on elements and event time alone, not on the clock, on panes or "
            "on what came before; group panes again only in RETRACTING mode",
        )

    try_each(_scripts(elements, lateness, unit, origin), law, cases)


def check_order_independence(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    add_up: AddUp | None = None,
    runner: OneOf = "local",
    cases: int = 100,
) -> None:
    """Check that it does not matter to the end result of a transform in which order elements come.

    Each stream is played again with its elements in another order, and with a watermark that waits for
    them. Arguments and errors are those of :func:`check_streaming_equals_batch`.

    >>> from headrace.sdk.combine import CombinePerKey
    >>> check_order_independence(CombinePerKey(max), [("a", 1), ("b", 2)], cases=20)
    """
    bench = _Bench(transform, runner, add_up)
    late = duration_micros(lateness)
    scripts = _scripts(elements, lateness, unit, origin)

    def law(drawn: tuple[Script, Any]) -> None:
        script, order = drawn
        rows = rows_of(script)
        assume(len(rows) > 1)
        order.shuffle(rows)
        other = punctual(with_rows(script, rows), late)
        one, two = bench.run(stream(script)), bench.run(stream(other))
        for outcome, played in ((one, script), (two, other)):
            bench.refuse_drops(outcome, played)
        bench.compare(
            IN_ANY_ORDER,
            script,
            {"stream": one, "in the other order": two},
            "let the transform not look at what came before; CombineFns have to be commutative",
            also={"the other order": laid_out(stream(other))},
        )

    try_each(st.tuples(scripts, st.randoms(use_true_random=False)), law, cases)


def check_deterministic(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    runner: OneOf = "local",
    cases: int = 50,
) -> None:
    """Check that a transform gives the same output for the same stream again.

    All of it: values, timestamps, windows, panes and retractions. A transform that sees retractions has
    to be deterministic, or what it gives out for a retraction takes back something else; and so has one
    that may run again after a failure. Arguments and errors are those of
    :func:`check_streaming_equals_batch`.

    >>> from headrace.sdk.pardo import Map
    >>> check_deterministic(Map(abs), [1, -1], cases=10)
    """
    bench = _Bench(transform, runner, None)

    def law(script: Script) -> None:
        one, two = (
            Counter(map(repr, map(_all_of, bench.run(stream(script)).elements))) for _ in "12"
        )
        if one != two:
            raise LawBroken(
                "the same stream gives the same output again",
                laid_out(stream(script)),
                {"only at first": sorted(one - two), "only again": sorted(two - one)},
                "leave out random numbers, the wall clock, and what is kept from run to run",
            )

    try_each(_scripts(elements, lateness, unit, origin), law, cases)


def laid_out(script: TestStream) -> str:
    """Return a test stream as code, an event a line."""
    return "\n".join(["TestStream()", *script.calls])


def _scripts(
    elements: Drawn, lateness: DurationTypes, unit: DurationTypes, origin: TimestampTypes
) -> st.SearchStrategy[Any]:
    scale = Scale(Timestamp.of(origin).micros, duration_micros(unit))
    return timelines(drawn_from(elements), duration_micros(lateness), scale)


def _all_of(element: Captured) -> tuple[Any, ...]:
    return (ordered(element.value), *element[1:])


@attrs.frozen
class Outcome:
    """What came out of a transform.

    Attributes:
        elements: all of it.
        windowing: how it is to be read.
        dropped: how many elements were too late for some grouping in it.
    """

    elements: list[Captured]
    windowing: WindowingStrategy
    dropped: int


@attrs.frozen
class _Bench:
    """A transform, and how it is run."""

    transform: Transform
    runner: OneOf
    add_up: AddUp | None

    @property
    def made(self) -> PTransform[Any, Any]:
        """The transform itself."""
        return self.transform if isinstance(self.transform, PTransform) else self.transform()

    def run(self, source: PTransform[Any, Any]) -> Outcome:
        """Run the transform behind a source."""
        with TestPipeline(self.runner) as p:
            out = p | "what comes" >> source | "transform" >> self.made
            if not isinstance(out, PCollection):
                raise PipelineError(
                    f"the transform gives {out!r}, and a law is about one collection",
                    remedy="wrap it in a PTransform that returns one of its outputs",
                )
            captured = capture(out)
        steps = p.result.metrics().steps if p.result else {}
        dropped = sum(step.late_dropped for step in steps.values())
        return Outcome(captured.elements, out.windowing, dropped)

    def refuse_drops(self, outcome: Outcome, script: Script) -> None:
        """Say so if elements were dropped; then nothing can be compared."""
        if outcome.dropped:
            raise LawBroken(
                "nothing is dropped of a stream that is no later than was said",
                laid_out(stream(script)),
                {"dropped": outcome.dropped, "expected": 0},
                "allow at least as much lateness in the transform (WindowInto(…, allowed_lateness=…)) "
                "as the law is told with lateness=…",
            )

    def compare(
        self,
        law: str,
        script: Script,
        outcomes: dict[str, Outcome],
        remedy: str,
        also: dict[str, str] | None = None,
    ) -> None:
        """Compare what two outcomes come to."""
        (one, first), (two, second) = outcomes.items()
        found, expected = (content(outcome, self.add_up) for outcome in (first, second))
        if found != expected:
            sides = {
                f"only in the {one}": _listed(found - expected),
                f"only in the {two}": _listed(expected - found),
                **(also or {}),
            }
            raise LawBroken(law, laid_out(stream(script)), sides, remedy)


def _listed(content: Content) -> list[Any]:
    return [_Spelt(text) for text in sorted(content.elements())]


class _Spelt(str):
    """Text that is shown without quotes."""

    __repr__ = str.__str__


def content(outcome: Outcome, add_up: AddUp | None) -> Content:
    """Return what an output comes to, read as its accumulation mode wants it read.

    Raises:
        PipelineError: it discards and has fired more than once, so it must be said how panes add up.
    """
    mode = outcome.windowing.accumulation_mode
    if mode is AccumulationMode.RETRACTING:
        return _net(outcome.elements)
    places = _by_place(outcome)
    if mode is AccumulationMode.ACCUMULATING:
        return _net(e for found in places.values() for e in _last_pane(found))
    if add_up is not None:
        return Counter(_added(place, found, add_up) for place, found in places.items())
    if any(e.pane.index > 0 for e in outcome.elements):
        raise PipelineError(
            "the transform ends in DISCARDING mode and has fired more than once in a window, so each of "
            "its panes is only a part",
            remedy="say how panes add up, with add_up=sum for sums; or group in RETRACTING mode",
        )
    return _net(outcome.elements)


def _net(elements: Iterable[Captured]) -> Content:
    """Return values less their retractions."""
    left: Content = Counter()
    for e in elements:
        for window in e.windows:
            left[_spelling(ordered(e.value), window)] += e.diff
    return +left


def _spelling(value: Any, window: BoundedWindow) -> str:
    return f"{value!r} in {window!r}"


Place: TypeAlias = tuple[Any, BoundedWindow]


def _by_place(outcome: Outcome) -> dict[Place, list[Captured]]:
    """Return elements by key and by what their window has become."""
    rows = [(_key(e.value), w, e) for e in outcome.elements for w in e.windows]
    windows: dict[str, set[BoundedWindow]] = defaultdict(set)
    for key, window, _ in rows:
        windows[key].add(window)
    become = {key: united(outcome.windowing.window_fn, found) for key, found in windows.items()}
    places: dict[Place, list[Captured]] = defaultdict(list)
    for key, window, e in rows:
        target = become[key][window]
        places[key, target].append(e._replace(windows=(target,)))
    return places


def _key(value: Any) -> str:
    """Return the key of a pair, spelt; all else is of one key."""
    return repr(value[0]) if _is_pair(value) else ""


def _is_pair(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _last_pane(found: Sequence[Captured]) -> list[Captured]:
    last = found[-1]
    return [e for e in found if e.pane == last.pane]


def _added(place: Place, found: Sequence[Captured], add_up: AddUp) -> str:
    values = [e.value for e in found if e.diff > 0]
    if all(map(_is_pair, values)):
        total: Any = (values[0][0], add_up([value for _, value in values]))
    else:
        total = add_up(values)
    return _spelling(ordered(total), place[1])
