"""A sink that keeps batches, and can fail after one of them, and checks of the panes that it has kept."""

from __future__ import annotations

import attrs

import headrace as hr
from headrace.io import SinkBatch
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark

EARLY_AND_LATE = hr.WindowInto(
    hr.window.FixedWindows(10),
    trigger=AfterWatermark(early=AfterCount(2), late=AfterCount(1)),
    accumulation_mode=AccumulationMode.RETRACTING,
    allowed_lateness=15,
)
"""Windows with early and late panes, each of which retracts the one before."""


@attrs.define(eq=False)
class KeptBatches(hr.io.Sink):
    """Keeps batches, and fails at one of them after it has kept it.

    Attributes:
        fails: the batch; None for none.
    """

    accepts_retractions = True

    fails: int | None = None
    batches: dict[int, list[str]] = attrs.field(factory=dict)

    def write(self, batch: SinkBatch) -> None:
        rows = batch.bundle.rows()
        self.batches[batch.id] = sorted(
            repr((row.value, row.timestamp, row.windows, row.pane, row.diff)) for row in rows
        )
        if batch.id == self.fails:
            raise OSError("the disk is full")


def panes(*sinks: KeptBatches) -> list[str]:
    """All rows, in order; a batch that was written again counts once."""
    batches = {number: rows for sink in sinks for number, rows in sink.batches.items()}
    return sorted(row for rows in batches.values() for row in rows)


def require_all_timings(found: list[str]) -> None:
    """Check that there are early, late and other panes, and retractions."""
    for timing in ("EARLY", "ON_TIME", "LATE"):
        assert any(f"PaneInfoTiming.{timing}" in row for row in found), timing
    assert any(row.endswith("-1)") for row in found)
