"""What was seen of a run: the totals that were looked at, and how many of them were wrong."""

from __future__ import annotations

from collections.abc import Mapping

import attrs

from benchmarks.bank.reader import Reader, Seen
from benchmarks.bank.transfers import Balances, Bank, balances


@attrs.frozen
class Outcome:
    """What was seen of a run.

    Attributes:
        transfers: number of transfers.
        seconds: the time of the run.
        after_batches: the totals that were seen after each batch.
        outside: the totals that another process saw meanwhile.
        corrections: number of retractions that a reader can see.
        differing: number of accounts (and days) whose last balance is not that of plain Python.
    """

    transfers: int
    seconds: float
    after_batches: Seen
    outside: Seen
    corrections: int
    differing: int

    @classmethod
    def of(
        cls,
        bank: Bank,
        by_day: bool,
        seconds: float,
        reader: Reader,
        outside: Mapping[str, Seen],
        corrections: int = 0,
    ) -> Outcome:
        """Return the outcome of a run that has ended."""
        differing = _differing(reader.balances(), balances(bank, by_day))
        after_batches, others = _added(reader.seen), _added(outside)
        return cls(bank.transfers, seconds, after_batches, others, corrections, differing)

    @property
    def is_consistent(self) -> bool:
        """Whether totals were seen, none was wrong, and the last balances are right."""
        wrong = self.after_batches.wrong + self.outside.wrong + self.differing
        return self.after_batches.moments > 0 and wrong == 0


def _added(seen: Mapping[str, Seen]) -> Seen:
    """Return what was seen of all tables."""
    return Seen(
        sum(each.moments for each in seen.values()),
        sum(each.wrong for each in seen.values()),
        max((each.furthest for each in seen.values()), key=abs, default=0),
    )


def _differing(found: Balances, expected: Balances) -> int:
    return sum(found.get(key) != expected.get(key) for key in found.keys() | expected.keys())
