"""The windows of the queries, and how they correct their results.

A window has its first result when the watermark passes its end, and a corrected one for each late event: the
result before is retracted. Windows accept events that are late by up to ``LATENESS``, which is more than the
longest delay; so no event is dropped, and the corrected results of a stream equal the batch.
"""

from __future__ import annotations

from typing import Any

import headrace as hr
from headrace.transforms.trigger import (
    AccumulationMode,
    AfterCount,
    AfterWatermark,
    OnTimeBehavior,
    Repeatedly,
)
from headrace.transforms.window import GlobalWindows, IntervalWindow, WindowFn

from .events import Auction
from .generator import LONGEST_AUCTION

OUT_OF_ORDERNESS = 2
"""Seconds by which the watermark trails the newest event: most events are in time, and some are late."""

LATENESS = 30
WINDOW = 10
PERIOD = 5
GAP = 2
DAY = 24 * 60 * 60
"""Seconds: the allowed lateness, the size and period of windows, the gap between sessions, and a day."""

ALL_OF_TIME = GlobalWindows()


def corrected(window_fn: WindowFn) -> hr.WindowInto:
    """Return windows whose results are complete at their ends, and are corrected by late events."""
    return hr.WindowInto(
        window_fn,
        trigger=AfterWatermark(late=AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=LATENESS,
        on_time_behavior=OnTimeBehavior.FIRE_IF_NON_EMPTY,
    )


def always_current(window_fn: WindowFn = ALL_OF_TIME) -> hr.WindowInto:
    """Return windows, by default one for all of time, whose results are corrected by each change."""
    return hr.WindowInto(
        window_fn,
        trigger=Repeatedly(AfterCount(1)),
        accumulation_mode=AccumulationMode.RETRACTING,
        allowed_lateness=LATENESS,
    )


def start_of(window: Any) -> int:
    """Return the start of a window in milliseconds since 1970."""
    return int(window.start.micros // 1000)


def day_of(window: Any) -> str:
    """Return the day at the start of a window, such as 2026-01-31."""
    return f"{window.start.to_utc_datetime():%Y-%m-%d}"


class AuctionOrBid(IntervalWindow):
    """The window of an auction, in which it takes bids; or the instant of a bid."""

    def __init__(self, start: hr.Timestamp, end: hr.Timestamp, is_auction: bool) -> None:
        super().__init__(start, end)
        self.is_auction = is_auction


class AuctionWindows(WindowFn):
    """Windows of auctions, with their bids: the key is the number of the auction.

    The bids while an auction is open merge into its window. Other bids remain alone.
    """

    def assign(self, context: WindowFn.AssignContext) -> list[AuctionOrBid]:
        """Return the time in which an auction is open, or the instant of a bid."""
        _, event = context.element
        if isinstance(event, Auction):
            end = hr.Timestamp(micros=event.expires * 1000)
            return [AuctionOrBid(context.timestamp, end, is_auction=True)]
        return [AuctionOrBid(context.timestamp, context.timestamp.successor(), is_auction=False)]

    def merge(self, merge_context: WindowFn.MergeContext) -> None:
        """Merge the bids of an auction with it."""
        windows = [w for w in merge_context.windows if isinstance(w, AuctionOrBid)]
        for auction in (window for window in windows if window.is_auction):
            bids = [
                w for w in windows if not w.is_auction and auction.start <= w.start < auction.end
            ]
            merge_context.merge([auction, *bids], auction)

    def reach(self) -> float:
        """Return the longest time for which an auction is open: its window can join its first bids."""
        return LONGEST_AUCTION / 1000
