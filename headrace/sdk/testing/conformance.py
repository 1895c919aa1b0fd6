"""The whole kit against a runner: random pipelines, held to all laws, and to what another runner says.

Many pipelines run side by side in one (see :mod:`headrace.sdk.testing.run_on_runner`), for a runner on
which each takes seconds. A counterexample is made smaller the same way: all that are a little smaller run
together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, pairwise
from random import Random
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.runner_lookup import DEFAULT_RUNNER, find_runner
from headrace.sdk.testing.batch_oracle import (
    RETRACTING,
    Part,
    end_result,
    meaning,
    shrinks,
    source_watermarks,
)
from headrace.sdk.testing.law import IN_ANY_ORDER, LIKE_ITS_BATCH, LawBroken
from headrace.sdk.testing.pane_laws import PANE_LAWS, tells_time
from headrace.sdk.testing.programs import program
from headrace.sdk.testing.property_testing import (
    HealthCheck,
    Phase,
    assume,
    given,
    seed,
    settings,
    st,
)
from headrace.sdk.testing.report import Report, Verdict
from headrace.sdk.testing.run_on_runner import Observation, OneOf, Pane, play, play_batch
from headrace.sdk.testing.runs import Run, can_be_built
from headrace.sdk.testing.script import ended, rows_of, with_rows
from headrace.sdk.testing.shrinking import smaller
from headrace.sdk.testing.strategies.pipelines import each_kind, keeps_time, order_free
from headrace.windowing.time import MIN_MICROS

Played: TypeAlias = Sequence[Sequence[Any]]
"""The panes of each grouping of a run; anything that has the attributes of a Pane."""

Reference: TypeAlias = Callable[[Sequence[Run]], Sequence[Played | None]]
"""What runs should say; None for one of which it knows nothing."""

Key: TypeAlias = tuple[str, str]
"""A law and a mode."""

Judgement: TypeAlias = dict[Key, LawBroken | None]
"""What each law that sees a run says of it: where it is broken, or None."""

AHEAD: Final = 300
"""So many cases are drawn at once."""

AT_LEAST: Final = 100
"""So many are drawn if fewer are wanted, which are then chosen from these."""

AT_ALL: Final = 3
"""A script of fewer elements brings next to nothing."""

FEW: Final = 30
"""One in this many may be such a run."""

RUNS: Final = "every pipeline runs"
AGREES: Final = "the panes are those of the reference"
IN_TIME: Final = "where every element comes in time nothing is dropped, however long panes wait"
HELD: Final = "nothing is dropped behind a grouping that retracts, if it allows as much lateness"


def check_runner(
    runner: OneOf,
    cases: int = 200,
    streaming: bool = True,
    batch: bool = True,
    reference: OneOf | Reference | None = DEFAULT_RUNNER,
    pack: int = 50,
    shrinking: int = 25,
    random_seed: int = 0,
    until_broken: bool = False,
    pipelines: st.SearchStrategy[Run] | None = None,
) -> Report:
    """Hold a runner to all laws, with random pipelines.

    Args:
        runner: its name, as ``--runner`` takes it, or an object with a method ``run``.
        cases: how many pipelines are drawn.
        streaming: whether they run as streams, from scripts.
        batch: whether they run over all elements at once.
        reference: the runner whose panes it is compared with, or a function that says them; None, or the
            runner itself, for laws alone.
        pack: how many pipelines run side by side in one.
        shrinking: how many packs may be spent on each law that is broken, to find a smaller run.
        random_seed: draws other pipelines.
        until_broken: whether to stop after the first pack that breaks a law.
        pipelines: what is drawn, for a runner that knows a part of the model; by default all that
            :mod:`headrace.testing.strategies` draws, and runs that certain laws see.

    Returns:
        The report. A test says ``assert report.passed, report``.

    >>> report = check_runner("local", cases=10)
    >>> report.passed
    True
    """
    name = runner if isinstance(runner, str) else type(runner).__name__
    kit = Kit(runner, streaming, batch, _reference(reference, runner))
    number_table = _Tally()
    kinds = each_kind() if pipelines is None else [pipelines]
    for runs in _packs(kinds, cases, pack, random_seed):
        number_table.add(runs, kit.judge(runs))
        if until_broken and number_table.broken:
            break
    for key in number_table.broken:
        number_table.broken[key] = kit.shrunk(key, number_table.broken[key], pack, shrinking)
    return Report(name, number_table.drawn, number_table.verdicts(kit.keys()))


def _packs(
    kinds: Sequence[st.SearchStrategy[Run]], cases: int, pack: int, random_seed: int
) -> Iterator[list[Run]]:
    """Yield random runs in packs; many are drawn ahead and mixed, for Hypothesis begins with small ones."""
    ahead = max(pack, AHEAD // pack * pack)
    for start in range(0, cases, ahead):
        count = min(ahead, cases - start)
        share = -(-max(count, AT_LEAST) // len(kinds))
        runs = [
            run for n, k in enumerate(kinds) for run in _drawn(k, share, random_seed + start + n)
        ]
        Random(random_seed + start).shuffle(runs)
        for first in range(0, count, pack):
            yield runs[first : min(first + pack, count)]


def _drawn(pipelines: st.SearchStrategy[Run], cases: int, random_seed: int) -> list[Run]:
    """Draw runs, the same for the same seed, and let each go on to the end of time.

    Those that bring next to nothing, which Hypothesis likes, come last.
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
            assume(len(small) * FEW <= cases)
        else:
            found.append(run)

    draw()
    few = cases // FEW
    return (small[:few] + found + small[few:])[:cases]


def _reference(reference: OneOf | Reference | None, runner: OneOf) -> Reference | None:
    if reference is None or reference is runner:
        return None
    if callable(reference):
        return reference
    if isinstance(runner, str) and find_runner(runner) is find_runner(reference):
        return None
    played = reference
    return lambda runs: [[heard.panes for heard in some] for some in play(runs, played)]


@attrs.define
class _Tally:
    """Counts cases by law, and keeps the first run that breaks each."""

    drawn: int = 0
    tried: Counter[Key] = attrs.field(factory=Counter)
    after: dict[Key, int] = attrs.field(factory=dict)
    broken: dict[Key, tuple[Run, LawBroken]] = attrs.field(factory=dict)

    def add(self, runs: Sequence[Run], judgements: Sequence[Judgement]) -> None:
        """Count a pack."""
        for run, judgement in zip(runs, judgements, strict=True):
            self.drawn += 1
            self.tried.update(judgement.keys())
            for key, broken in judgement.items():
                if broken is not None and key not in self.broken:
                    self.broken[key], self.after[key] = (run, broken), self.drawn

    def verdicts(self, keys: Sequence[Key]) -> tuple[Verdict, ...]:
        return tuple(map(self._verdict, keys))

    def _verdict(self, key: Key) -> Verdict:
        law, mode = key
        if key not in self.broken:
            return Verdict(law, mode, self.tried[key])
        run, broken = self.broken[key]
        return Verdict(law, mode, self.tried[key], broken, self.after[key], run)


@attrs.frozen
class Kit:
    """The laws, for one runner."""

    runner: OneOf
    streaming: bool
    batch: bool
    reference: Reference | None

    def keys(self) -> list[Key]:
        """All laws, in the order of the report."""
        modes = ["streaming"] * self.streaming + ["batch"] * self.batch
        keys = [(RUNS, mode) for mode in modes]
        keys += [(AGREES, "streaming")] * bool(self.reference and self.streaming)
        keys += [(law.says, "streaming") for law in PANE_LAWS if self.streaming]
        keys += [(law, "streaming") for law in (IN_TIME, HELD, IN_ANY_ORDER)] * self.streaming
        keys += [(LIKE_ITS_BATCH, "streaming")] * (self.streaming and self.batch)
        keys += [(law.says, "batch") for law in PANE_LAWS if self.batch and law.in_batch]
        return keys

    def judge(self, runs: Sequence[Run]) -> list[Judgement]:
        """Play runs in every way that a law asks for, and hold them to it."""
        found: list[Judgement] = [{} for _ in runs]
        streamed = self._played(runs, found, "streaming") if self.streaming else {}
        batched = self._played(runs, found, "batch") if self.batch else {}
        free = [n for n in streamed if order_free(runs[n])]
        other_way = [_the_other_way(runs[n]) for n in free]
        again = self._played(other_way, [{} for _ in free], "streaming") if free else {}
        for n, heard in streamed.items():
            found[n] |= self._of_panes(runs[n], heard, "streaming")
            found[n] |= _of_drops(runs[n], heard)
        for n, heard in batched.items():
            found[n] |= self._of_panes(runs[n], heard, "batch")
        for i, n in enumerate(free):
            if i in again:
                found[n] |= _same(
                    IN_ANY_ORDER, runs[n], streamed[n], again[i], "in the other order"
                )
            if n in batched:
                found[n] |= _same(LIKE_ITS_BATCH, runs[n], streamed[n], batched[n], "batch")
        if self.reference:
            known = [runs[n] for n in streamed]
            for n, says in zip(streamed, self.reference(known) if known else (), strict=True):
                found[n] |= _agreement(runs[n], streamed[n], says)
        return found

    def _played(
        self, runs: Sequence[Run], found: Sequence[Judgement], mode: str
    ) -> dict[int, list[Observation]]:
        """Play runs together; if that fails, look for one to blame, and leave out what runs with it."""
        played: dict[int, list[Observation]] = {}
        left = [range(len(runs))]
        failing_in = False
        while left:
            some = left.pop()
            try:
                heard = self._play([runs[n] for n in some], mode)
            except Exception as error:
                middle = len(some) // 2
                if middle and not failing_in:
                    left += [some[middle:], some[:middle]]
                elif not failing_in:
                    failing_in = True
                    found[some[0]][RUNS, mode] = _failure(runs[some[0]], error)
                continue
            played.update(zip(some, heard, strict=True))
            for n in some:
                found[n][RUNS, mode] = None
        return played

    def _play(self, runs: Sequence[Run], mode: str) -> list[list[Observation]]:
        if mode == "batch":
            return play_batch(runs, self.runner, watched=True)
        return play(runs, self.runner, watched=True)

    def _of_panes(self, run: Run, heard: Sequence[Observation], mode: str) -> Judgement:
        found: Judgement = {}
        for each in parts(run, heard, mode):
            for law in PANE_LAWS:
                if law.sees(each) and (law.in_batch or mode == "streaming"):
                    key = law.says, mode
                    found[key] = found.get(key) or _broken(law, each, run)
        return found

    def _seeing(self, key: Key) -> Kit:
        """Return what is needed of the kit to see a law."""
        law, mode = key
        both = law == LIKE_ITS_BATCH
        return attrs.evolve(
            self,
            streaming=both or mode == "streaming",
            batch=both or mode == "batch",
            reference=self.reference if law == AGREES else None,
        )

    def shrunk(
        self, key: Key, broken: tuple[Run, LawBroken], pack: int, packs: int
    ) -> tuple[Run, LawBroken]:
        """Return a smaller run that breaks a law, if there is one."""
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


def parts(run: Run, heard: Sequence[Observation], mode: str) -> Iterator[Part]:
    """Yield the groupings of a run that was played from outside, where no watermark is seen."""
    stream = mode == "streaming"
    known = source_watermarks(run.script)
    longer = max(map(len, run.scripts)) + 1
    complete = known + known[-1:] * (longer - len(known)) if stream else [MIN_MICROS] * longer
    for n, (step, each) in enumerate(zip(run.groupings, heard, strict=True)):
        yield Part(
            step,
            each,
            complete,
            changing=any(e.diff < 0 for _, e in each.inputs),
            ended=True,
            exact=stream and n in run.starts,
            timed=stream and not any(tells_time(s.windowing.trigger) for s in run.up_to(n)),
        )


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
        "run the program; the traceback says where it fails",
    )
    broken.__cause__ = error
    return broken


# Laws of whole runs


def _the_other_way(run: Run) -> Run:
    """Return a run to which the same elements come, the last one first."""
    script, other = (with_rows(each, rows_of(each)[::-1]) for each in (run.script, run.other))
    return attrs.evolve(run, script=script, other=other)


def _same(
    law: str, run: Run, one: Sequence[Observation], two: Sequence[Observation], name: str
) -> Judgement:
    """Compare what a run comes to in the end with what it comes to another way."""
    for step, here, there in zip(run.groupings, one, two, strict=True):
        found, expected = (meaning(step, end_result(step, heard.panes)) for heard in (here, there))
        if found != expected:
            sides = {"grouping": step, "the stream comes to": found, name: expected}
            remedy = "look at what is dropped, held back, or taken back"
            return {(law, "streaming"): LawBroken(law, program(run), sides, remedy)}
    return {(law, "streaming"): None}


def _of_drops(run: Run, heard: Sequence[Observation]) -> Judgement:
    """Say whether something was dropped where nothing may be."""
    found: Judgement = {}
    if keeps_time(run):
        remedy = "hold the output watermark at the timestamp of a pane until it has gone out"
        found[IN_TIME, "streaming"] = _dropping(IN_TIME, run, heard, remedy)
    if _retracts_in_front(run):
        remedy = "hold the output watermark as long as a pane that has gone out may be taken back"
        found[HELD, "streaming"] = _dropping(HELD, run, heard[1:], remedy)
    return found


def _dropping(law: str, run: Run, heard: Sequence[Observation], remedy: str) -> LawBroken | None:
    dropped = [max(each.dropped) for each in heard]
    late = [late for each in heard for _, late in each.late]
    sides = {"dropped by each grouping": dropped, "expected": 0, "of these were seen": late}
    return LawBroken(law, program(run), sides, remedy) if any(dropped) else None


def _retracts_in_front(run: Run) -> bool:
    """Tell whether groupings that retract stand in front of others that wait as long."""
    if len(run.steps) < 2 or not run.plain or any(map(shrinks, run.steps)):
        return False
    said = [step.windowing for step in run.steps]
    return (
        all(windowing.accumulation_mode is RETRACTING for windowing in said[:-1])
        and all(one.allowed_lateness <= two.allowed_lateness for one, two in pairwise(said))
        and not any(windowing.trigger.may_finish(windowing) for windowing in said)
    )


def _agreement(run: Run, heard: Sequence[Observation], says: Played | None) -> Judgement:
    """Compare panes with those of a reference, if that knows the run."""
    if says is None:
        return {}
    for step, one, panes in zip(run.groupings, heard, says, strict=True):
        found, expected = (sorted(map(_told, some), key=repr) for some in (one.panes, panes))
        if found != expected:
            sides = {
                "grouping": step,
                "only the runner says": _less(found, expected),
                "only the reference says": _less(expected, found),
            }
            broken = LawBroken(AGREES, program(run), sides, "run the program on both")
            return {(AGREES, "streaming"): broken}
    return {(AGREES, "streaming"): None}


def _less(some: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    left = Counter(map(repr, some)) - Counter(map(repr, others))
    return [each for each in some if left[repr(each)]]


def _told(pane: Pane) -> tuple[Any, ...]:
    """Return a pane as plain data, in an order that is good to read."""
    return (
        pane.event,
        pane.key,
        tuple(pane.window[:2]),
        pane.value,
        pane.diff,
        pane.timing,
        pane.timestamp,
        (pane.index, pane.nonspeculative, pane.first, pane.last),
    )
