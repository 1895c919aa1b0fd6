"""What became of the laws that a runner was held to, to be read by people."""

from __future__ import annotations

import attrs

from headrace.sdk.testing.law import LawBroken
from headrace.sdk.testing.programs import program
from headrace.sdk.testing.runs import Run


@attrs.frozen
class Verdict:
    """What became of one law.

    Attributes:
        law: the law, as a sentence.
        mode: "streaming" or "batch".
        cases: how many runs it was tried on.
        broken: how it is broken, for the smallest run that was found; None if it holds.
        after: the number of the run, from 1, that broke it first.
        run: that smallest run.
    """

    law: str
    mode: str
    cases: int
    broken: LawBroken | None = None
    after: int | None = None
    run: Run | None = None

    @property
    def counterexample(self) -> str | None:
        """That smallest run as a program, which can be pasted and run."""
        return None if self.run is None else program(self.run)

    def __str__(self) -> str:
        """Show a line of the table of a report."""
        result = "holds" if self.broken is None else f"BROKEN by case {self.after}"
        return f"{self.mode:<10}{self.cases:>6}  {result:<18} {self.law}"


@attrs.frozen
class Report:
    """What became of all laws; printed, it is a table, and a program for each law that is broken.

    Attributes:
        runner: name of the runner.
        cases: how many pipelines were drawn.
        verdicts: one for each law and mode.

    >>> print(Report("mine", 5, (Verdict("nothing is lost", "batch", 5),)))
    mine: 5 cases, all laws hold
      mode       cases  result             law
      batch          5  holds              nothing is lost
    """

    runner: str
    cases: int
    verdicts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        """Whether all laws hold."""
        return not self.broken

    @property
    def broken(self) -> tuple[Verdict, ...]:
        """The laws that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.broken)

    def __str__(self) -> str:
        """Show the table, and what is broken."""
        count = len(self.broken)
        said = f"{count} of {len(self.verdicts)} laws broken" if count else "all laws hold"
        lines = [f"{self.runner}: {self.cases} cases, {said}"]
        lines += [f"  {'mode':<10}{'cases':>6}  {'result':<18} law"]
        lines += [f"  {verdict}" for verdict in self.verdicts]
        for verdict in self.broken:
            lines += ["", f"{verdict.mode}: {verdict.broken}"]
        return "\n".join(lines)
