"""Checks a runner with random pipelines: all laws, and comparison with a reference runner.

Many pipelines run side by side in one (see :mod:`headrace.sdk.testing.runs.run_on_runner`), for runners on
which each pipeline takes seconds. Counterexamples are shrunk in the same way: all slightly smaller runs are
tried together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from itertools import islice
from random import Random
from typing import Any, Final, TypeAlias

import attrs

from headrace.grouping.facts import Firing, Needs, facts_of
from headrace.sdk.pipelines.runner_lookup import DEFAULT_RUNNER, find_runner
from headrace.sdk.testing.conformance.report import Report, Verdict
from headrace.sdk.testing.laws.law import IN_ANY_ORDER, LIKE_ITS_BATCH, LawBroken
from headrace.sdk.testing.laws.pane_laws import PANE_LAWS, tells_time
from headrace.sdk.testing.laws.run_laws import (
    AGREES,
    HELD,
    IN_TIME,
    LIKE_ELEMENTS,
    UNWATCHED,
    Judgement,
    LawInMode,
    RunPanes,
    in_reverse,
    of_capturing,
    of_columns,
    of_drops,
    of_reference,
    of_results,
)
from headrace.sdk.testing.property_testing import (
    HealthCheck,
    Phase,
    assume,
    given,
    seed,
    settings,
    st,
)
from headrace.sdk.testing.runs.batch_oracle import (
    Part,
    source_watermarks,
)
from headrace.sdk.testing.runs.programs import program
from headrace.sdk.testing.runs.run import Run, can_be_built
from headrace.sdk.testing.runs.run_on_runner import (
    Observation,
    RunnerOrName,
    run_batch,
    run_streaming,
)
from headrace.sdk.testing.runs.shrinking import smaller
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.strategies.columns import on_columns
from headrace.sdk.testing.strategies.targeted_runs import each_kind, order_free
from headrace.sdk.testing.streams.script import ended, rows_of
from headrace.windowing.time.timestamps import MIN_MICROS

Reference: TypeAlias = Callable[[Sequence[Run]], Sequence[RunPanes | None]]
"""Returns the expected panes of runs; None for a run that it does not support."""

_Played: TypeAlias = dict[int, list[Observation]]
"""Observations by the number of the run."""

AHEAD: Final = 300
"""Number of cases that are drawn at once."""

AT_LEAST: Final = 100
"""Minimum number of cases that are drawn at once; fewer cases are chosen from these."""

AT_ALL: Final = 3
"""Runs with fewer elements are small."""

SMALL_RUNS: Final = 30
"""At most one run in this many is small."""

REMEMBERED_DRAWS: Final = 100
"""Number of draws of a kind of runs that are remembered."""

RUNS: Final = "every pipeline runs"


def check_runner(
    runner: RunnerOrName,
    cases: int = 200,
    streaming: bool = True,
    batch: bool = True,
    reference: RunnerOrName | Reference | None = DEFAULT_RUNNER,
    pack: int = 50,
    shrinking: int = 25,
    random_seed: int = 0,
    until_broken: bool = False,
    pipelines: st.SearchStrategy[Run] | None = None,
    columns: bool = False,
) -> Report:
    """Check a runner against all laws, with random pipelines.

    Args:
        runner: its name, as for ``--runner``, or an object with a method ``run``.
        cases: number of random pipelines.
        streaming: whether to run them as streams, from scripts.
        batch: whether to run them as batches of all elements.
        reference: the runner with which panes are compared, or a function that returns the expected
            panes. None, or the runner itself, to check only the laws.
        pack: number of pipelines that run side by side in one.
        shrinking: maximum number of packs to spend on shrinking the counterexample of each broken law.
        random_seed: seed of the random pipelines.
        until_broken: whether to stop after the first pack that breaks a law.
        pipelines: the strategy for pipelines, for a runner that supports a part of the model; by default
            everything that :mod:`headrace.testing.strategies` draws, and runs for certain laws.
        columns: whether the elements of sources are rows that reach the first steps as columns, if possible;
            panes are also compared with the panes of elements. Needs ``pip install 'headrace[columns]'``.

    Returns:
        The report; in a test, ``assert report.passed, report``.

    >>> report = check_runner("local", cases=10)
    >>> report.passed
    True
    """
    name = runner if isinstance(runner, str) else type(runner).__name__
    kit = Kit(runner, streaming, batch, _reference(reference, runner), columns)
    counter = _VerdictCounter()
    kinds = each_kind() if pipelines is None else (pipelines,)
    kinds = tuple(on_columns(kind, joins=True) for kind in kinds) if columns else kinds
    for runs in _packs(kinds, cases, pack, random_seed):
        counter.add(runs, kit.judge(runs))
        if until_broken and counter.broken:
            break
    for key in counter.broken:
        counter.broken[key] = kit.shrunk(key, counter.broken[key], pack, shrinking)
    return Report(name, counter.drawn, counter.verdicts(kit.keys()))


def _packs(
    kinds: Sequence[st.SearchStrategy[Run]], cases: int, pack: int, random_seed: int
) -> Iterator[list[Run]]:
    """Yield shuffled random runs in packs; many are drawn at once, as Hypothesis starts with small ones."""
    ahead = max(pack, AHEAD // pack * pack)
    for start in range(0, cases, ahead):
        count = min(ahead, cases - start)
        share = -(-max(count, AT_LEAST) // len(kinds))
        runs = [
            run for n, k in enumerate(kinds) for run in drawn(k, share, random_seed + start + n)
        ]
        Random(random_seed + start).shuffle(runs)
        for first in range(0, count, pack):
            yield runs[first : min(first + pack, count)]


@lru_cache(maxsize=REMEMBERED_DRAWS)
def drawn(pipelines: st.SearchStrategy[Run], cases: int, random_seed: int) -> tuple[Run, ...]:
    """Draw runs, always the same for a seed, and extend each to the end of time.

    Runs with few elements, which Hypothesis prefers, are limited in number. The latest are remembered, as
    drawing takes longer than a check of a few packs.
    """
    found: list[Run] = []
    small: list[Run] = []

    @seed(random_seed)
    @settings(
        max_examples=cases,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(pipelines)
    def draw(run: Run) -> None:
        other = ended(run.other) if run.has_other else run.other
        run = attrs.evolve(run, script=ended(run.script), other=other)
        if len(rows_of(run.script)) < AT_ALL:
            small.append(run)
            assume(len(small) * SMALL_RUNS <= cases)
        else:
            found.append(run)

    draw()
    few = cases // SMALL_RUNS
    return tuple((small[:few] + found + small[few:])[:cases])


def _reference(
    reference: RunnerOrName | Reference | None, runner: RunnerOrName
) -> Reference | None:
    if reference is None or reference is runner:
        return None
    if callable(reference):
        return reference
    if isinstance(runner, str) and find_runner(runner) is find_runner(reference):
        return None
    played = reference
    return lambda runs: [
        [observed.panes for observed in some] for some in run_streaming(runs, played)
    ]


@attrs.define
class _VerdictCounter:
    """Counts cases by law, and keeps the first run that breaks each law."""

    drawn: int = 0
    tried: Counter[LawInMode] = attrs.field(factory=Counter)
    after: dict[LawInMode, int] = attrs.field(factory=dict)
    broken: dict[LawInMode, tuple[Run, LawBroken]] = attrs.field(factory=dict)

    def add(self, runs: Sequence[Run], judgements: Sequence[Judgement]) -> None:
        """Add the judgements of a pack."""
        for run, judgement in zip(runs, judgements, strict=True):
            self.drawn += 1
            self.tried.update(judgement.keys())
            for key, broken in judgement.items():
                if broken is not None and key not in self.broken:
                    self.broken[key], self.after[key] = (run, broken), self.drawn

    def verdicts(self, keys: Sequence[LawInMode]) -> tuple[Verdict, ...]:
        return tuple(map(self._verdict, keys))

    def _verdict(self, key: LawInMode) -> Verdict:
        law, mode = key
        if key not in self.broken:
            return Verdict(law, mode, self.tried[key])
        run, broken = self.broken[key]
        return Verdict(law, mode, self.tried[key], broken, self.after[key], run)


@attrs.frozen
class Kit:
    """The checks of one runner."""

    runner: RunnerOrName
    streaming: bool
    batch: bool
    reference: Reference | None
    columns: bool = False

    def keys(self) -> list[LawInMode]:
        """Return all laws and modes, in the order of the report."""
        modes = ["streaming"] * self.streaming + ["batch"] * self.batch
        keys = [(RUNS, mode) for mode in modes]
        keys += [(AGREES, "streaming")] * bool(self.reference and self.streaming)
        keys += [(law.sentence, "streaming") for law in PANE_LAWS if self.streaming]
        of_runs = (IN_TIME, HELD, IN_ANY_ORDER, UNWATCHED)
        keys += [(law, "streaming") for law in of_runs if self.streaming]
        keys += [(LIKE_ITS_BATCH, "streaming")] * (self.streaming and self.batch)
        keys += [(LIKE_ELEMENTS, mode) for mode in modes if self.columns]
        keys += [(law.sentence, "batch") for law in PANE_LAWS if self.batch and law.in_batch]
        return keys

    def judge(self, runs: Sequence[Run]) -> list[Judgement]:
        """Run each run in all ways that the laws need, and check the laws."""
        found: list[Judgement] = [{} for _ in runs]
        streamed = self._played(runs, found, "streaming") if self.streaming else {}
        batched = self._played(runs, found, "batch") if self.batch else {}
        for n, observed in streamed.items():
            found[n] |= self._of_panes(runs[n], observed, "streaming")
            found[n] |= of_drops(runs[n], observed)
        for n, observed in batched.items():
            found[n] |= self._of_panes(runs[n], observed, "batch")
        self._judge_unwatched(runs, found, streamed)
        if self.columns:
            self._judge_columns(runs, found)
        self._judge_results(runs, found, streamed, batched)
        if self.reference:
            known = [runs[n] for n in streamed]
            for n, expected_panes in zip(
                streamed, self.reference(known) if known else (), strict=True
            ):
                found[n] |= of_reference(runs[n], streamed[n], expected_panes)
        return found

    def _judge_unwatched(
        self, runs: Sequence[Run], found: Sequence[Judgement], streamed: _Played
    ) -> None:
        """Run without captures what the engine can process with less state then."""
        usual = [n for n in streamed if any(map(_needs_little_state, runs[n].groupings))]
        some, their = [runs[n] for n in usual], [found[n] for n in usual]
        for i, observed in self._played(some, their, "streaming", watched=False).items():
            their[i] |= of_capturing(some[i], streamed[usual[i]], observed)

    def _judge_columns(self, runs: Sequence[Run], found: Sequence[Judgement]) -> None:
        """Run what has columns once with them and once with elements, without captures of late elements."""
        these = [n for n, run in enumerate(runs) if run.columns]
        some, their = [runs[n] for n in these], [found[n] for n in these]
        plain = [attrs.evolve(run, columns=False) for run in some]
        for mode in ["streaming"] * self.streaming + ["batch"] * self.batch:
            by_columns = self._played(some, their, mode, watched=False)
            by_elements = self._played(plain, their, mode, watched=False)
            for i in by_columns.keys() & by_elements.keys():
                their[i] |= of_columns(some[i], mode, by_columns[i], by_elements[i])

    def _judge_results(
        self,
        runs: Sequence[Run],
        found: Sequence[Judgement],
        streamed: _Played,
        batched: _Played,
    ) -> None:
        """Compare a stream with the stream in reverse order and with the batch, where they must agree."""
        free = [n for n in streamed if order_free(runs[n])]
        again = self._played([in_reverse(runs[n]) for n in free], [{} for _ in free], "streaming")
        for i, n in enumerate(free):
            run, observed = runs[n], streamed[n]
            if i in again:
                found[n] |= of_results(IN_ANY_ORDER, run, observed, again[i], "in reverse order")
            if n in batched:
                found[n] |= of_results(LIKE_ITS_BATCH, run, observed, batched[n], "batch")

    def _played(
        self, runs: Sequence[Run], found: Sequence[Judgement], mode: str, watched: bool = True
    ) -> _Played:
        """Run runs together; if that fails, find one that fails, and skip the others of its pack."""
        played: _Played = {}
        left = [range(len(runs))] if runs else []
        found_failing = False
        while left:
            some = left.pop()
            try:
                observed = self._play([runs[n] for n in some], mode, watched)
            except Exception as error:
                middle = len(some) // 2
                if middle and not found_failing:
                    left += [some[middle:], some[:middle]]
                elif not found_failing:
                    found_failing = True
                    found[some[0]][RUNS, mode] = _failure(runs[some[0]], error)
                continue
            played.update(zip(some, observed, strict=True))
            for n in some:
                found[n][RUNS, mode] = None
        return played

    def _play(self, runs: Sequence[Run], mode: str, watched: bool) -> list[list[Observation]]:
        play = run_batch if mode == "batch" else run_streaming
        return play(runs, self.runner, watched)

    def _of_panes(self, run: Run, observed: Sequence[Observation], mode: str) -> Judgement:
        found: Judgement = {}
        for each in parts(run, observed, mode):
            for law in PANE_LAWS:
                if law.sees(each) and (law.in_batch or mode == "streaming"):
                    key = law.sentence, mode
                    found[key] = found.get(key) or _broken(law, each, run)
        return found

    def _seeing(self, key: LawInMode) -> Kit:
        """Return the part of the kit that is needed to check a law."""
        law, mode = key
        both = law == LIKE_ITS_BATCH
        return attrs.evolve(
            self,
            streaming=both or mode == "streaming",
            batch=both or mode == "batch",
            reference=self.reference if law == AGREES else None,
        )

    def shrunk(
        self, key: LawInMode, broken: tuple[Run, LawBroken], pack: int, packs: int
    ) -> tuple[Run, LawBroken]:
        """Return a smaller run that breaks a law, if one is found."""
        narrow = self._seeing(key)
        left, tried = packs, 0
        while left > 0:
            candidates = list(islice(filter(can_be_built, smaller(broken[0])), tried, tried + pack))
            if not candidates:
                break
            left -= 1
            judged = zip(candidates, narrow.judge(candidates), strict=True)
            less = next(((run, j[key]) for run, j in judged if j.get(key)), None)
            broken, tried = (less, 0) if less else (broken, tried + pack)  # type: ignore[assignment]
        return broken


def parts(run: Run, observed: Sequence[Observation], mode: str) -> Iterator[Part]:
    """Yield the groupings of a run; their output watermarks are not known."""
    stream = mode == "streaming"
    known = source_watermarks(run.script)
    longer = max(*map(len, run.scripts), *map(_events, observed)) + 1
    complete = known + known[-1:] * (longer - len(known)) if stream else [MIN_MICROS] * longer
    for n, (step, each) in enumerate(zip(run.groupings, observed, strict=True)):
        yield Part(
            step,
            each,
            complete,
            changing=any(e.diff < 0 for _, e in each.inputs),
            ended=True,
            exact=stream and n in run.starts,
            events_known=stream and not any(map(_has_own_rounds, run.up_to(n))),
        )


def _has_own_rounds(step: Step) -> bool:
    """Return whether a step has panes in rounds that are not events: at a time, or as its input goes on."""
    return tells_time(step.windowing.trigger) or step.pauses is not None


def _events(observed: Observation) -> int:
    """Return the number of events; a splittable DoFn goes on after the last event of the script."""
    return 1 + max((event for event, _ in observed.inputs), default=0)


def _needs_little_state(step: Step) -> bool:
    """Return whether the engine can keep windows of a step without full states, unless it is watched."""
    facts = facts_of(step.windowing)
    light = {Firing.ONE, Firing.FIRST_AT_END, Firing.AFTER_COUNT}
    return facts.needs is Needs.VALUES and facts.panes in light


def _broken(law: Any, each: Part, run: Run) -> LawBroken | None:
    try:
        law.check(each, partial(program, run))
    except LawBroken as broken:
        return broken
    return None


def _failure(run: Run, error: Exception) -> LawBroken:
    broken = LawBroken(
        RUNS,
        program(run),
        {"raised": error},
        "run the program; the traceback shows the failing line",
    )
    broken.__cause__ = error
    return broken
