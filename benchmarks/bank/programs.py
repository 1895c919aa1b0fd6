"""The programs of the bank: balances at present, changes of each day, and balances by discarding panes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import attrs

import headrace as hr
from benchmarks.bank.transfers import DAY, DISORDER, Bank, Transfers
from headrace.triggers import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    OnTimeBehavior,
    Repeatedly,
)

RETRACTING: Final[dict[str, Any]] = {
    "accumulation_mode": AccumulationMode.RETRACTING,
    "on_time_behavior": OnTimeBehavior.FIRE_IF_NON_EMPTY,
    "allowed_lateness": hr.window.FOREVER,
}

Program = Callable[[Any, Any], Any]
"""Takes a module, Headrace's or Beam's, and the transfers; returns pairs of an account and its balance."""


def at_present(b: Any, transfers: Any) -> Any:
    """The balances after each batch; a balance that has changed is retracted."""
    windows = b.WindowInto(
        b.window.GlobalWindows(), trigger=Repeatedly(AfterCount(1)), **RETRACTING
    )
    return _joined(b, transfers | "At present" >> windows)


def by_day(b: Any, transfers: Any) -> Any:
    """What each day changes in the balances, after each batch; late transfers correct complete days."""
    trigger = AfterWatermark(early=AfterCount(1), late=AfterCount(1))
    windows = b.WindowInto(b.window.FixedWindows(DAY), trigger=trigger, **RETRACTING)
    return _joined(b, transfers | "Days" >> windows)


def by_discarding_panes(b: Any, transfers: Any) -> Any:
    """The balances after each bundle without retractions, as Beam can express it.

    Credits, debits and their join emit what is new, and a last grouping adds it up.
    """

    def panes(mode: str) -> Any:
        return b.WindowInto(
            b.window.GlobalWindows(),
            trigger=b.trigger.Repeatedly(b.trigger.AfterCount(1)),
            accumulation_mode=getattr(b.trigger.AccumulationMode, mode),
        )

    news = _joined(b, transfers | "News" >> panes("DISCARDING"))
    return news | "So far" >> panes("ACCUMULATING") | "Add up" >> b.CombinePerKey(sum)


def _joined(b: Any, transfers: Any) -> Any:
    credits = (
        transfers
        | "Credit" >> b.Map(lambda each: (each[1], each[2]))
        | "Credits" >> b.CombinePerKey(sum)
    )
    debits = (
        transfers
        | "Debit" >> b.Map(lambda each: (each[0], each[2]))
        | "Debits" >> b.CombinePerKey(sum)
    )
    both = (credits, debits) | "Join" >> b.CoGroupByKey()
    return both | "Balance" >> b.MapTuple(lambda account, sides: (account, _balance(*sides)))


def _balance(credits: Iterable[int], debits: Iterable[int]) -> int:
    return sum(credits) - sum(debits)


@attrs.frozen
class Written:
    """A program, and what its tables have.

    Attributes:
        program: the program.
        windows: whether rows have the bounds of a window.
        retracts: whether there are corrections to write.
    """

    program: Program
    windows: bool
    retracts: bool


PROGRAMS: Final[dict[str, Written]] = {
    "at-present": Written(at_present, windows=False, retracts=True),
    "by-day": Written(by_day, windows=True, retracts=True),
    "discarding": Written(by_discarding_panes, windows=False, retracts=False),
}


def build(p: hr.Pipeline, written: Written, bank: Bank, url: str) -> None:
    """Build a pipeline that writes balances, their total, and each correction into tables.

    Args:
        p: the pipeline.
        written: the program.
        bank: the transfers.
        url: URL of the database.
    """
    transfers = p | hr.Read(Transfers(bank), hr.BoundedOutOfOrderness(DISORDER))
    balances = written.program(hr, transfers)

    def table(name: str, key: Any, columns: list[str]) -> Any:
        types = dict.fromkeys(columns, int)
        return hr.io.WriteToTable(
            url, name, key=key, columns=columns, types=types, windows=written.windows
        )

    _ = balances | "Balances" >> table("balances", "account", ["account", "balance"])
    if written.retracts:
        total = balances | hr.Values() | "Total" >> hr.CombineGlobally(sum).without_defaults()
        _ = (
            total
            | hr.Map(lambda n: (0, n))
            | "Totals" >> table("totals", "bank", ["bank", "total"])
        )
        changes = balances | hr.ToChangelog() | hr.MapTuple(_change)
        _ = changes | "Changes" >> table("changes", None, ["diff", "account", "balance"])


def _change(diff: int, pair: tuple[int, int]) -> tuple[int, int, int]:
    return diff, *pair
