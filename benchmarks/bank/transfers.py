"""Transfers between accounts, out of order: the same ones for each system, made where they are read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

import headrace as hr

PARTITIONS: Final = 4
DAY: Final = 24 * 60 * 60
DAYS: Final = 10
"""The days of event time, whatever the number of transfers."""

FIRST: Final = 20_000 * DAY
"""The time of the first transfer, in seconds since 1970."""

DISORDER: Final = 60
"""How many seconds most transfers are out of order."""

LATE_SHARE: Final = 0.02
LATEST: Final = 2 * DAY
"""How late the share of late transfers is at most, in seconds."""

BLOCK: Final = 1_000

Day: TypeAlias = int
"""The start of a day, in seconds since 1970; or 0, if days do not matter."""

Balances: TypeAlias = dict[tuple[Day, int], int]
"""The balance of each account, by day and account."""


class Transfer(NamedTuple):
    """A transfer of an amount from an account to another one, at a time in seconds."""

    payer: int
    payee: int
    amount: int
    at: float


@attrs.frozen
class Bank:
    """All transfers, which are divided over some partitions.

    Attributes:
        transfers: number of transfers, a multiple of the number of partitions.
        accounts: number of accounts.
    """

    transfers: int
    accounts: int = 1_000

    @property
    def per_partition(self) -> int:
        """The number of transfers of a partition."""
        return self.transfers // PARTITIONS

    def read(self, partition: int, start: int, end: int) -> list[Transfer]:
        """Return some transfers of a partition, in the order of their arrival."""
        end = min(end, self.per_partition)
        blocks = range(start // BLOCK, -(-end // BLOCK))
        found = [each for number in blocks for each in _block(self, partition, number)]
        skipped = start % BLOCK
        return found[skipped : skipped + end - start]

    def all(self) -> Iterator[Transfer]:
        """Yield all transfers."""
        for partition in range(PARTITIONS):
            for start in range(0, self.per_partition, BLOCK):
                yield from self.read(partition, start, start + BLOCK)


@lru_cache(maxsize=8)
def _block(bank: Bank, partition: int, number: int) -> list[Transfer]:
    random = Random(f"{partition} {number}").random
    step = DAYS * DAY / bank.per_partition
    found = []
    for n in range(number * BLOCK, (number + 1) * BLOCK):
        payer = int(random() * bank.accounts)
        payee = (payer + 1 + int(random() * (bank.accounts - 1))) % bank.accounts
        delay = random() * (LATEST if random() < LATE_SHARE else DISORDER)
        found.append(Transfer(payer, payee, 1 + int(random() * 99), FIRST + n * step - delay))
    return found


def balances(bank: Bank, by_day: bool) -> Balances:
    """Return the balances of all accounts with a transfer, by plain Python."""
    found: Counter[tuple[Day, int]] = Counter()
    for payer, payee, amount, at in bank.all():
        day = int(at // DAY) * DAY if by_day else 0
        found[day, payee] += amount
        found[day, payer] -= amount
    return dict(found)


@attrs.frozen
class Transfers(hr.io.UnboundedSource[Transfer]):
    """The transfers as a source; the offset is the number of transfers that a partition has read."""

    bank: Bank

    reports_watermarks = False

    def partitions(self) -> list[int]:
        return list(range(PARTITIONS))

    def latest_offset(self, partition: Any, start: Any, limit: int) -> hr.io.LatestOffset:
        start = start or 0
        end = min(start + limit, self.bank.per_partition)
        return hr.io.LatestOffset(end, end - start, finished=end == self.bank.per_partition)

    def read(self, partition: Any, offset: Any, limit: int) -> hr.io.Batch[Transfer]:
        start = offset or 0
        found = self.bank.read(partition, start, start + limit)
        end = start + len(found)
        records = [hr.TimestampedValue(each, each.at) for each in found]
        return hr.io.Batch(records, end, finished=end == self.bank.per_partition)
