"""The report of :func:`~headrace.testing.laws.check_runner`: a verdict for each law."""

from __future__ import annotations

import attrs

from headrace.sdk.testing.laws.law import LawBroken
from headrace.sdk.testing.runs.programs import program
from headrace.sdk.testing.runs.run import Run


@attrs.frozen
class Verdict:
    """The verdict on one law.

    Attributes:
        law: the law, as a sentence.
        mode: "streaming" or "batch".
        cases: number of runs that it was checked on.
        broken: the error for the smallest run that breaks it; None if it holds.
        after: number of the first run that broke it, counted from 1.
        run: the smallest run that breaks it.
    """

    law: str
    mode: str
    cases: int
    broken: LawBroken | None = None
    after: int | None = None
    run: Run | None = None

    @property
    def counterexample(self) -> str | None:
        """The smallest run that breaks the law, as a program that can be pasted and run."""
        return None if self.run is None else program(self.run)

    def __str__(self) -> str:
        """Show the verdict as a line of the report's table."""
        result = "holds" if self.broken is None else f"BROKEN by case {self.after}"
        return f"{self.mode:<10}{self.cases:>6}  {result:<18} {self.law}"


@attrs.frozen
class Report:
    """The verdicts on all laws; prints as a table and a program for each broken law.

    Attributes:
        runner: name of the runner.
        cases: number of random pipelines.
        verdicts: one verdict for each law and mode.

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
        """Show the table and the broken laws."""
        count = len(self.broken)
        result = f"{count} of {len(self.verdicts)} laws broken" if count else "all laws hold"
        lines = [f"{self.runner}: {self.cases} cases, {result}"]
        lines += [f"  {'mode':<10}{'cases':>6}  {'result':<18} law"]
        lines += [f"  {verdict}" for verdict in self.verdicts]
        for verdict in self.broken:
            lines += ["", f"{verdict.mode}: {verdict.broken}"]
        return "\n".join(lines)
