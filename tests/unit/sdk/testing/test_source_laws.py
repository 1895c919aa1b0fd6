"""check_source passes sources that can be read again, and names the law that another one breaks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest

from headrace.io import Batch, LatestOffset, TextFiles, UnboundedSource, WatchedFiles
from headrace.sdk.io.files.file_partitions import FilePartitions
from headrace.sdk.polling.periodic_source import PeriodicSource, Times
from headrace.testing.laws import LawBroken, check_source


@attrs.frozen
class Log(UnboundedSource[int]):
    """The numbers up to 20, with the errors of its arguments.

    Attributes:
        ahead: how much further the told offset is.
        more: how many records more are told.
        excess: how many records a read returns beyond the limit.
        splits: whether splits are told.
        lost: how many records the splits miss.
    """

    ahead: int = 0
    more: int = 0
    excess: int = 0
    splits: bool = False
    lost: int = 0

    def latest_offset(self, partition: Any, start: Any, limit: int) -> LatestOffset:
        start = start or 0
        end = min(20, start + limit)
        each = [
            (start, (end - start) // 2),
            ((start + end) // 2, (end - start + 1) // 2 - self.lost),
        ]
        return LatestOffset(
            end + self.ahead, end - start + self.more, splits=each if self.splits else ()
        )

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[int]:
        start = offset or 0
        end = min(20, start + limit + self.excess)
        return Batch(range(start, end), end)


class Forgetful(UnboundedSource[int]):
    """Returns each record once."""

    def __init__(self) -> None:
        self.records = list(range(20))

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[int]:
        found, self.records = self.records[:limit], self.records[limit:]
        return Batch(found, None)


def test_sources_that_can_be_read_again(tmp_path: Path) -> None:
    check_source(Log())
    check_source(Log(splits=True))
    check_source(PeriodicSource((Times(0, 30_000_000, 1),)), now=12)
    for name in "ab":
        (tmp_path / name).write_text("1\n2\n3\n4\n5\n")
    check_source(WatchedFiles(TextFiles(tmp_path)))
    check_source(FilePartitions(TextFiles(tmp_path)))


@pytest.mark.parametrize(
    ("source", "law"),
    [
        (Log(ahead=1), "latest_offset agrees with read"),
        (Log(ahead=-1), "latest_offset agrees with read"),
        (Log(more=1), "latest_offset agrees with read"),
        (Log(splits=True, lost=1), "latest_offset agrees with read"),
        (Log(excess=1), "a read returns at most as many records as its limit"),
        (Forgetful(), "a read from the same offset returns the same records"),
    ],
)
def test_the_law_that_a_source_breaks(source: Any, law: str) -> None:
    with pytest.raises(LawBroken) as raised:
        check_source(source)
    assert raised.value.law == law
