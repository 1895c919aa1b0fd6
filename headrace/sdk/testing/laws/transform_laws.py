"""Laws of a transform: streaming equals batch, results do not depend on order, output is deterministic."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import attrs

from headrace.errors import MutationError, PipelineError
from headrace.sdk.pipelines.pvalue import PCollection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.reading import Create
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.testing.assertions.capturing import Captured, capture
from headrace.sdk.testing.laws.law import (
    IN_ANY_ORDER,
    LIKE_ITS_BATCH,
    VALUES_UNCHANGED,
    LawBroken,
    Unquoted,
    part,
)
from headrace.sdk.testing.laws.law_runner import Drawn, check_law, drawn_from
from headrace.sdk.testing.property_testing import st
from headrace.sdk.testing.runs.batch_oracle import KeyWindow, merged_windows
from headrace.sdk.testing.runs.run import ordered
from headrace.sdk.testing.runs.run_on_runner import RunnerOrName
from headrace.sdk.testing.runs.shrinking import smaller_scripts
from headrace.sdk.testing.strategies.arriving import Scale, timelines
from headrace.sdk.testing.streams.pipelines import TestPipeline
from headrace.sdk.testing.streams.script import Script, punctual, rows_of, stream, with_rows
from headrace.triggers.refinement import AccumulationMode
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import (
    DurationTypes,
    Timestamp,
    TimestampTypes,
    duration_micros,
)
from headrace.windowing.timestamped_value import TimestampedValue
from headrace.windowing.window import BoundedWindow

Transform: TypeAlias = PTransform[Any, Any] | Callable[[], PTransform[Any, Any]]
"""A transform with one input and one output, or a function that returns one."""

AddUp: TypeAlias = Callable[[list[Any]], Any]
"""Combines the values of several panes."""

ElementCounts: TypeAlias = Counter[str]
"""The content of a collection: values with their windows, as text, and their counts."""


def check_streaming_equals_batch(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    add_up: AddUp | None = None,
    runner: RunnerOrName = "local",
    cases: int = 100,
) -> None:
    """Check that a transform has the same result for a stream as for a batch of the same elements.

    Elements have random timestamps and arrive in random order, between steps of the watermark and of
    processing time. The output is interpreted by its accumulation mode: values minus retractions, the
    last pane of each key and window, or panes that add up. Only values and windows are compared.

    Args:
        transform: a transform with one input and one output, or a function without arguments that returns
            one.
        elements: some elements, or a Hypothesis strategy.
        lateness: how far elements may lie behind the watermark; seconds, timedelta or Duration. It must not
            exceed the allowed lateness of the transform, so that nothing is dropped.
        unit: timestamps are small multiples of this; seconds, timedelta or Duration. A tenth of the
            length of a window is a good value.
        origin: the start of event time; seconds, datetime or Timestamp.
        add_up: combines the values of the panes of a key and window, for a transform whose output is in
            discarding mode and fires more than once; for pairs it gets the second items.
        runner: name of the runner, or the runner.
        cases: number of streams.

    Raises:
        LawBroken: the law does not hold, or a function changes its input; reports the smallest stream that
            was found. An error of the transform is raised with such a stream as a note.
        PipelineError: the transform does not have one output, or ``add_up`` is missing.

    >>> from headrace.sdk.combiners.combine import CombinePerKey
    >>> check_streaming_equals_batch(CombinePerKey(sum), [("a", 1), ("b", 2)], cases=20)
    """
    checker = _Checker(transform, runner, add_up)

    def law(script: Script) -> None:
        streamed = checker.run(stream(script), script)
        checker.refuse_drops(streamed, script)
        batched = checker.run(Create(rows_of(script)), script)
        checker.compare(
            LIKE_ITS_BATCH,
            script,
            {"stream": streamed, "batch": batched},
            "make the transform depend only on elements and event time, not on processing time, panes or "
            "earlier elements; group panes again only in RETRACTING mode",
        )

    check_law(_scripts(elements, lateness, unit, origin), law, cases, smaller=smaller_scripts)


def check_order_independence(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    add_up: AddUp | None = None,
    runner: RunnerOrName = "local",
    cases: int = 100,
) -> None:
    """Check that the final result of a transform does not depend on the order of arrival.

    Each stream runs again with its elements in another order, and with a watermark that is delayed for them.
    Arguments and errors are the same as in :func:`check_streaming_equals_batch`.

    >>> from headrace.sdk.combiners.combine import CombinePerKey
    >>> check_order_independence(CombinePerKey(max), [("a", 1), ("b", 2)], cases=20)
    """
    checker = _Checker(transform, runner, add_up)
    late = duration_micros(lateness)
    ranked = st.tuples(drawn_from(elements), st.integers(0, 15))
    scripts = _scripts(ranked, lateness, unit, origin).filter(_has_several)

    def law(ranked: Script) -> None:
        script, reordered = _reordered(ranked)
        other = punctual(reordered, late)
        one, two = (checker.run(stream(events), events) for events in (script, other))
        for outcome, played in ((one, script), (two, other)):
            checker.refuse_drops(outcome, played)
        checker.compare(
            IN_ANY_ORDER,
            script,
            {"stream": one, "reordered stream": two},
            "make the transform independent of earlier elements; CombineFns must be commutative",
            also={"the reordered stream": Unquoted(source_code(stream(other)))},
        )

    check_law(scripts, law, cases, smaller=smaller_scripts)


def check_deterministic(
    transform: Transform,
    elements: Drawn,
    lateness: DurationTypes = 0,
    unit: DurationTypes = 1,
    origin: TimestampTypes = 0,
    runner: RunnerOrName = "local",
    cases: int = 50,
) -> None:
    """Check that a transform has the same output each time for the same stream.

    Values, timestamps, windows, panes and retractions are compared. A transform that processes
    retractions must be deterministic, otherwise its output for a retraction does not match its output for
    the original value. A transform that can run again after a failure must be deterministic, too.
    Arguments and errors are the same as in :func:`check_streaming_equals_batch`.

    >>> from headrace.sdk.pardo.transforms import Map
    >>> check_deterministic(Map(abs), [1, -1], cases=10)
    """
    checker = _Checker(transform, runner, None)

    def law(script: Script) -> None:
        outcomes = (checker.run(stream(script), script) for _ in "12")
        one, two = (Counter(map(repr, map(_comparable, out.elements))) for out in outcomes)
        if one != two:
            raise LawBroken(
                "the same stream always has the same output",
                source_code(stream(script)),
                {
                    "only in the first run": sorted(one - two),
                    "only in the second run": sorted(two - one),
                },
                "do not use random numbers, the wall clock, or state that is kept between runs",
            )

    check_law(_scripts(elements, lateness, unit, origin), law, cases, smaller=smaller_scripts)


def source_code(script: TestStream) -> str:
    """Return a test stream as source code, one event per line."""
    return "\n".join(["TestStream()", *script.calls])


def _scripts(
    elements: Drawn, lateness: DurationTypes, unit: DurationTypes, origin: TimestampTypes
) -> st.SearchStrategy[Any]:
    scale = Scale(Timestamp.of(origin).micros, duration_micros(unit))
    return timelines(drawn_from(elements), duration_micros(lateness), scale)


def _has_several(script: Script) -> bool:
    return len(rows_of(script)) > 1


def _reordered(ranked: Script) -> tuple[Script, Script]:
    """Return a script of (element, rank) pairs without ranks, and with its elements sorted by rank.

    Ranks shrink better than a permutation: they do not change when an element is removed.
    """
    pairs = rows_of(ranked)
    rows = [TimestampedValue(pair.value[0], pair.timestamp) for pair in pairs]
    order = sorted(range(len(rows)), key=lambda n: pairs[n].value[1])
    return with_rows(ranked, rows), with_rows(ranked, [rows[n] for n in order])


def _comparable(element: Captured) -> tuple[object, ...]:
    return (ordered(element.value), *element[1:])


@attrs.frozen
class Outcome:
    """The output of a transform.

    Attributes:
        elements: all captured elements.
        windowing: the windowing of the output.
        dropped: number of elements that its groupings dropped as late.
    """

    elements: list[Captured]
    windowing: WindowingStrategy
    dropped: int


@attrs.frozen
class _Checker:
    """A transform, and the runner that runs it."""

    transform: Transform
    runner: RunnerOrName
    add_up: AddUp | None

    @property
    def made(self) -> PTransform[Any, Any]:
        """The transform."""
        return self.transform if isinstance(self.transform, PTransform) else self.transform()

    def run(self, source: PTransform[Any, Any], script: Script) -> Outcome:
        """Apply the transform to the elements of a script, and run the pipeline."""
        with _showing(script), TestPipeline(self.runner) as p:
            out = p | "source" >> source | "transform" >> self.made
            if not isinstance(out, PCollection):
                raise PipelineError(
                    f"the transform returned {out!r}, which is not a single collection",
                    remedy="wrap it in a PTransform that returns one of its outputs",
                )
            captured = capture(out)
        steps = p.result.metrics().steps if p.result else {}
        dropped = sum(step.late_dropped for step in steps.values())
        return Outcome(captured.elements, out.windowing, dropped)

    def refuse_drops(self, outcome: Outcome, script: Script) -> None:
        """Raise an error if elements were dropped, because results are then not comparable."""
        if outcome.dropped:
            raise LawBroken(
                "nothing is dropped if elements are at most as late as specified",
                source_code(stream(script)),
                {"dropped": outcome.dropped, "expected": 0},
                "allow at least as much lateness in the transform (WindowInto(…, allowed_lateness=…)) "
                "as lateness=… specifies",
            )

    def compare(
        self,
        law: str,
        script: Script,
        outcomes: dict[str, Outcome],
        remedy: str,
        also: dict[str, str] | None = None,
    ) -> None:
        """Compare two outcomes."""
        (one, first), (two, second) = outcomes.items()
        found, expected = (content(outcome, self.add_up) for outcome in (first, second))
        if found != expected:
            sides = {
                f"only in the {one}": _listed(found - expected),
                f"only in the {two}": _listed(expected - found),
                **(also or {}),
            }
            raise LawBroken(law, source_code(stream(script)), sides, remedy)


@contextmanager
def _showing(script: Script) -> Iterator[None]:
    """Add the script to errors of the transform; a function that changes its input breaks a law.

    Raises:
        LawBroken: a function changes its input.
    """
    code = source_code(stream(script))  # before a function changes it
    try:
        yield
    except MutationError as error:
        sides = {"step": Unquoted(error.where), "error": Unquoted(error.problem)}
        raise LawBroken(VALUES_UNCHANGED, code, sides, error.remedy) from error
    except Exception as error:
        error.add_note(part("for", code).strip())
        raise


def _listed(content: ElementCounts) -> list[object]:
    return [Unquoted(text) for text in sorted(content.elements())]


def content(outcome: Outcome, add_up: AddUp | None) -> ElementCounts:
    """Return the result of an output, interpreted by its accumulation mode.

    Raises:
        PipelineError: the output is in discarding mode and fired more than once, and ``add_up`` is missing.
    """
    mode = outcome.windowing.accumulation_mode
    if mode is AccumulationMode.RETRACTING:
        return _net(outcome.elements)
    by_window = _by_window(outcome)
    if mode is AccumulationMode.ACCUMULATING:
        return _net(e for found in by_window.values() for e in _last_pane(found))
    if add_up is not None:
        return Counter(_added(key_window, found, add_up) for key_window, found in by_window.items())
    if any(e.pane.index > 0 for e in outcome.elements):
        raise PipelineError(
            "the transform ends in DISCARDING mode and fired more than once in a window, so each pane is "
            "only a part of the result",
            remedy="set add_up to combine panes, such as add_up=sum; or group in RETRACTING mode",
        )
    return _net(outcome.elements)


def _net(elements: Iterable[Captured]) -> ElementCounts:
    """Return values minus their retractions."""
    left: ElementCounts = Counter()
    for e in elements:
        for window in e.windows:
            left[_spelling(ordered(e.value), window)] += e.diff
    return +left


def _spelling(value: object, window: BoundedWindow) -> str:
    return f"{value!r} in {window!r}"


def _by_window(outcome: Outcome) -> dict[KeyWindow, list[Captured]]:
    """Return elements by key and merged window."""
    rows = [(_key(e.value), w, e) for e in outcome.elements for w in e.windows]
    windows: dict[str, set[BoundedWindow]] = defaultdict(set)
    for key, window, _ in rows:
        windows[key].add(window)
    targets = {
        key: merged_windows(outcome.windowing.window_fn, found) for key, found in windows.items()
    }
    by_window: dict[KeyWindow, list[Captured]] = defaultdict(list)
    for key, window, e in rows:
        target = targets[key][window]
        by_window[key, target].append(e._replace(windows=(target,)))
    return by_window


def _key(value: Any) -> str:
    """Return the key of a pair as text; other values have the same key."""
    return repr(value[0]) if _is_pair(value) else ""


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2


def _last_pane(found: Sequence[Captured]) -> list[Captured]:
    last = found[-1]
    return [e for e in found if e.pane == last.pane]


def _added(key_window: KeyWindow, found: Sequence[Captured], add_up: AddUp) -> str:
    values = [e.value for e in found if e.diff > 0]
    if all(map(_is_pair, values)):
        total: Any = (values[0][0], add_up([value for _, value in values]))
    else:
        total = add_up(values)
    return _spelling(ordered(total), key_window[1])
