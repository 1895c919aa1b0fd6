"""The check of a Beam runner: each drawn pipeline is run in each mode, and held to the laws."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

import attrs

from headrace.sdk.beam.judge.beam_programs import beam_program
from headrace.sdk.beam.judge.judge_report import BeamReport, BeamVerdict
from headrace.sdk.beam.judge.playing import RunsPanes
from headrace.sdk.beam.judge.runner_cases import for_beam, is_expressible, simpler
from headrace.sdk.beam.judge.runner_laws import RUNNER_LAWS, agrees_in_batch, runner_parts
from headrace.sdk.beam.judge.worker import NotEndedError, RunFailedError
from headrace.sdk.testing.laws.law import LIKE_ITS_BATCH, LawBroken, formatted
from headrace.sdk.testing.laws.run_laws import Judgement, LawInMode
from headrace.sdk.testing.runs.batch_oracle import end_result, without_empty
from headrace.sdk.testing.runs.run import Run
from headrace.sdk.testing.runs.shrinking import smaller
from headrace.sdk.testing.runs.steps import Step
from headrace.sdk.testing.streams.script import rows_of
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import MAX_MICROS

Play: TypeAlias = Callable[[Run, bool], RunsPanes]
"""Runs a pipeline as a stream or as a batch."""

_Case: TypeAlias = tuple[Run, LawBroken]

NO_ERROR: Final = "the pipeline runs without an error"
TERMINATES: Final = "the pipeline ends"

PLAYED_AS: Final = {"streaming": True, "batch": False}

FEW_WAITS: Final = 4
"""Number of smaller pipelines that are tried if each takes all of its time."""

SMALLEST_RUN: Final = Run(
    (("elements", (("a", 1, 0, 1),)), ("watermark", MAX_MICROS)),
    (Step(WindowingStrategy(), "list"),),
)


@attrs.frozen
class BeamJudge:
    """Holds pipelines on a Beam runner to the laws.

    Attributes:
        name: the name of the runner, for programs.
        play: runs a pipeline.
        modes: "streaming", "batch", or both.
        options: the options of pipelines, for programs.
    """

    name: str
    play: Play
    modes: Sequence[str] = tuple(PLAYED_AS)
    options: Sequence[str] = ()

    def laws(self) -> list[LawInMode]:
        """Return all laws and modes, in the order of the report."""
        found = [(law, mode) for mode in self.modes for law in (NO_ERROR, TERMINATES)]
        for mode in self.modes:
            found += [(law.sentence, mode) for law in RUNNER_LAWS if _applies(law, mode)]
        return found + [(LIKE_ITS_BATCH, "streaming")] * (len(self.modes) == len(PLAYED_AS))

    def program(self, run: Run, mode: str) -> str:
        """Return a pipeline as a program."""
        return beam_program(run, self.name, PLAYED_AS[mode], self.options)

    def judge(self, run: Run) -> Judgement:
        """Run a pipeline in each mode, and check the laws."""
        judgement: Judgement = {}
        played = {mode: self._played(run, mode, judgement) for mode in self.modes}
        for mode, panes in played.items():
            if panes is not None:
                judgement |= self._of_panes(run, mode, panes)
        streamed, batched = played.get("streaming"), played.get("batch")
        if streamed is not None and batched is not None and agrees_in_batch(run):
            judgement[LIKE_ITS_BATCH, "streaming"] = self._compared(run, streamed, batched)
        return judgement

    def _played(self, run: Run, mode: str, judgement: Judgement) -> RunsPanes | None:
        for law in (NO_ERROR, TERMINATES):
            judgement[law, mode] = None
        try:
            return self.play(run, PLAYED_AS[mode])
        except (RunFailedError, NotEndedError) as error:
            law = TERMINATES if isinstance(error, NotEndedError) else NO_ERROR
            seen = {"error": str(error).partition("\n")[0]}
            judgement[law, mode] = LawBroken(law, self.program(run, mode), seen, "run it")
        return None

    def _of_panes(self, run: Run, mode: str, panes: RunsPanes) -> Judgement:
        found: Judgement = {}
        for part in runner_parts(run, panes, PLAYED_AS[mode]):
            for law in RUNNER_LAWS:
                if _applies(law, mode) and law.sees(part):
                    key = law.sentence, mode
                    found[key] = found.get(key) or self._broken(law, part, run, mode)
        return found

    def _broken(self, law: Any, part: Any, run: Run, mode: str) -> LawBroken | None:
        try:
            law.check(part, lambda: self.program(run, mode))
        except LawBroken as broken:
            return broken
        return None

    def _compared(self, run: Run, streamed: RunsPanes, batched: RunsPanes) -> LawBroken | None:
        last = run.steps[-1]
        one, two = (
            without_empty(last, end_result(last, panes[-1])) for panes in (streamed, batched)
        )
        if one == two:
            return None
        sides = {"the stream": one, "a batch of the same elements": two}
        return LawBroken(LIKE_ITS_BATCH, self.program(run, "streaming"), sides, "run it")

    def shrunk(self, key: LawInMode, run: Run, broken: LawBroken, tries: int) -> LawBroken:
        """Return the violation of a smaller pipeline, if one is found."""
        law, mode = key
        narrow = self if law == LIKE_ITS_BATCH else attrs.evolve(self, modes=[mode])
        left = min(tries, FEW_WAITS) if law == TERMINATES else tries
        again = True
        while again and left > 0:
            again = False
            for less in _smaller(run):
                left -= 1
                found = narrow.judge(less).get(key)
                if found is not None and kind_of_error(found) == kind_of_error(broken):
                    run, broken, again = less, found, True
                    break
                if left <= 0:
                    break
        return broken


def _applies(law: Any, mode: str) -> bool:
    return bool(law.in_batch or mode == "streaming")


def _smaller(run: Run) -> Iterator[Run]:
    """Yield smaller pipelines that Beam can express."""
    for less in chain(smaller(run), simpler(run)):
        less = for_beam(less)
        if is_expressible(less) and less != run and rows_of(less.script):
            yield less


def judged(
    judge: BeamJudge, runs: Sequence[Run], tries: int, no_streaming: str | None = None
) -> BeamReport:
    """Judge pipelines, and return the report.

    Args:
        judge: the judge of a runner.
        runs: the pipelines.
        tries: maximum number of smaller pipelines that are tried for each broken law.
        no_streaming: the error with which the runner refused a TestStream.
    """
    tried: Counter[LawInMode] = Counter()
    broken: dict[LawInMode, list[_Case]] = {}
    for run in runs:
        judgement = judge.judge(run)
        tried.update(judgement.keys())
        for key, violation in judgement.items():
            if violation is not None:
                broken.setdefault(key, []).append((run, violation))
    verdicts = (
        verdict
        for key in judge.laws()
        for verdict in _verdicts(judge, key, tried[key], broken.get(key, []), tries)
    )
    return BeamReport(judge.name, len(runs), tuple(verdicts), no_streaming)


def _verdicts(
    judge: BeamJudge, key: LawInMode, tried: int, cases: Sequence[_Case], tries: int
) -> Iterator[BeamVerdict]:
    """Yield the verdict on a law; of a runner that stops with several errors, one for each."""
    law, mode = key
    if not cases:
        yield BeamVerdict(law, mode, tried)
    by_error: dict[str, list[_Case]] = {}
    for case in cases:
        by_error.setdefault(kind_of_error(case[1]), []).append(case)
    for some in by_error.values():
        run, violation = min(some, key=lambda case: len(rows_of(case[0].script)))
        violation = judge.shrunk(key, run, violation, tries)
        yield BeamVerdict(law, mode, tried, len(some), violation.given, tuple(_shown(violation)))


def kind_of_error(violation: LawBroken) -> str:
    """Return the error with which a runner stopped, without numbers and places; empty for other violations.

    >>> kind_of_error(LawBroken(NO_ERROR, "", {"error": "job-12 failed [while running 'a']"}, ""))
    'job- failed '
    """
    return re.sub(r"\[while running .*|\d", "", violation.sides.get("error", ""))


def _shown(violation: LawBroken) -> Iterator[str]:
    """Yield what a program shows; the grouping is in the program."""
    for name, side in violation.sides.items():
        if name != "grouping":
            yield f"{name}: {side if isinstance(side, str) else formatted(side)}"


def refusal(play: Play) -> str | None:
    """Return the error with which a runner refuses a TestStream, or None if it runs one."""
    try:
        (panes,) = play(SMALLEST_RUN, True)
    except (RunFailedError, NotEndedError) as error:
        return str(error).partition("\n")[0]
    return None if panes else "it ends without a pane"
