"""The strategy of changelogs: what it draws, and that all of its streams tell the same table."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import find, given

import headrace as hr
from headrace.testing import TestPipeline, capture
from headrace.testing.strategies import TableLog, changelogs


@pytest.mark.parametrize("kind", ["upserts", "diffs"])
@given(changelogs())
def test_a_stream_tells_the_table(kind: str, log: TableLog) -> None:
    read: Any = hr.FromUpserts() if kind == "upserts" else hr.FromChangelog()
    with TestPipeline() as p:
        found = capture(p | getattr(log, kind)() | read)
    net: Counter[Any] = Counter()
    for each in found.elements:
        net[each.value, each.timestamp] += each.diff
    rows = {((key, row.value), row.timestamp): 1 for key, row in log.table().items()}
    assert {row: n for row, n in net.items() if n} == rows


def late_deletion(log: TableLog) -> bool:
    """A row is deleted after the watermark has passed it."""
    row = log.table(1).get("a")
    passed = log.watermarks[:1] != (None,) and row is not None and log.watermarks[0] > row.timestamp
    return passed and log.table(2) == {}


@pytest.mark.parametrize(
    "interesting",
    [
        late_deletion,
        lambda log: len(log.table()) == 2,
        lambda log: len(log.writes) == 3 and len({key for key, _ in log.writes}) == 1,
    ],
)
def test_it_draws_what_is_of_interest(interesting: Any) -> None:
    assert interesting(find(changelogs(), interesting))
