"""The report of :func:`~headrace.beam.check_runner`: a verdict for each law, and programs to paste."""

from __future__ import annotations

import attrs

BATCH_ONLY = "only batches: the runner does not run a TestStream ({why})"


@attrs.frozen
class BeamVerdict:
    """The verdict on one law.

    Attributes:
        law: the law, as a sentence.
        mode: "streaming" or "batch".
        cases: number of pipelines that it was checked on.
        broken: number of these that break it.
        program: the smallest one that was found, as a program of apache_beam alone; None if the law holds.
        found: what the program shows: the two sides that differ, or the error.

    >>> print(BeamVerdict("nothing is lost", "batch", 5, 2))
    batch          5  BROKEN by 2  nothing is lost
    """

    law: str
    mode: str
    cases: int
    broken: int = 0
    program: str | None = None
    found: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Show the verdict as a line of the report's table."""
        result = f"BROKEN by {self.broken}" if self.broken else "holds"
        return f"{self.mode:<10}{self.cases:>6}  {result:<12} {self.law}"


@attrs.frozen
class BeamReport:
    """The verdicts on all laws; prints as a table and a program for each broken law.

    Attributes:
        runner: name of the runner.
        cases: number of random pipelines.
        verdicts: one verdict for each law and mode.
        no_streaming: the error with which the runner refused a TestStream; None if it has it.

    >>> print(BeamReport("Mine", 5, (BeamVerdict("nothing is lost", "batch", 5),)))
    Mine: 5 cases, all laws hold
      mode       cases  result       law
      batch          5  holds        nothing is lost
    """

    runner: str
    cases: int
    verdicts: tuple[BeamVerdict, ...]
    no_streaming: str | None = None

    @property
    def passed(self) -> bool:
        """Whether all laws hold."""
        return not self.broken

    @property
    def broken(self) -> tuple[BeamVerdict, ...]:
        """The laws that do not hold."""
        return tuple(verdict for verdict in self.verdicts if verdict.broken)

    def __str__(self) -> str:
        """Show the table, and the broken laws with their programs."""
        count = len(self.broken)
        result = f"{count} of {len(self.verdicts)} laws broken" if count else "all laws hold"
        lines = [f"{self.runner}: {self.cases} cases, {result}"]
        lines += [BATCH_ONLY.format(why=self.no_streaming)] * bool(self.no_streaming)
        lines += [f"  {'mode':<10}{'cases':>6}  {'result':<12} law"]
        lines += [f"  {verdict}" for verdict in self.verdicts]
        for verdict in self.broken:
            lines += ["", f"# {verdict.mode}: {verdict.law}", f"{verdict.program}"]
            lines += [f"# {line}" for line in verdict.found]
        return "\n".join(lines)
