"""File names of a file sink, determined by batch, shard and possibly window."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Final

import attrs

from headrace.errors import PipelineError
from headrace.windowing.window import GLOBAL_WINDOW, BoundedWindow

SHARDED: Final = "-SSSSS-of-NNNNN"
"""Beam's default template: the shard number and the number of shards."""

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_LETTERS: Final = re.compile(r"S+|N+")


def _known_letters(naming: object, attribute: object, template: str) -> None:
    if "/" in template or bool(re.search("S", template)) != bool(re.search("N", template)):
        raise PipelineError(
            f"the shard_name_template {template!r} is not valid",
            remedy=f"use both S and N and no slash, such as {SHARDED!r}; or '' for one file",
        )


@attrs.frozen
class FileNaming:
    """The names of a sink's files.

    Args:
        prefix: the beginning of the paths.
        suffix: the end of the paths.
        template: the part in between; a run of S is replaced by the shard number, a run of N by the
            number of shards.

    >>> naming = FileNaming("out/day", ".csv")
    >>> naming.path("", "", 0, 2), naming.path("19700101T000000Z-19700102T000000Z", "b000007", 1, 2)
    ('out/day-00000-of-00002.csv', 'out/day-19700101T000000Z-19700102T000000Z-b000007-00001-of-00002.csv')
    """

    prefix: str
    suffix: str = ""
    template: str = attrs.field(default=SHARDED, validator=_known_letters)

    @property
    def end(self) -> str:
        """The end of the paths, whose extension tells the compression."""
        return self.suffix if self.suffix or self.template else self.prefix

    @property
    def pattern(self) -> str:
        """The names, with formats for the numbers of the shard and of the shards.

        >>> FileNaming("out", ".csv").pattern
        'out-%(shard_num)05d-of-%(num_shards)05d.csv'
        """
        names = {"S": "shard_num", "N": "num_shards"}
        between = _LETTERS.sub(lambda run: f"%({names[run[0][0]]})0{len(run[0])}d", self.template)
        return f"{self.prefix}{between}{self.suffix}"

    def path(self, window: str, batch: str, shard: int, shards: int) -> str:
        """Return the path of a file.

        Args:
            window: label of its window; empty for the global window, or for elements of all windows.
            batch: label of its batch; empty in batch mode.
            shard: number of the shard among the files of this window and batch.
            shards: number of these shards.
        """
        numbers = {"S": shard, "N": shards}
        labels = "".join(f"-{label}" for label in (window, batch) if label)
        between = _LETTERS.sub(lambda run: f"{numbers[run[0][0]]:0{len(run[0])}}", self.template)
        return f"{self.prefix}{labels}{between}{self.suffix}"


@lru_cache(maxsize=4096)
def window_label(window: BoundedWindow) -> str:
    """Return a window's label in file names: its bounds in basic ISO 8601 form; empty if global.

    >>> from headrace.windowing import IntervalWindow
    >>> window_label(IntervalWindow(0, 60.5)), window_label(GLOBAL_WINDOW)
    ('19700101T000000Z-19700101T000100.500000Z', '')
    """
    if window == GLOBAL_WINDOW:
        return ""
    return f"{_instant(window[0])}-{_instant(window[1])}"


def _instant(micros: int) -> str:
    """Return an instant without colons; in microseconds if it is outside the calendar."""
    try:
        moment = _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        return f"{micros}us"
    return moment.replace(tzinfo=None).isoformat().replace("-", "").replace(":", "") + "Z"


def batch_label(streaming: bool, run: str, batch: int) -> str:
    """Return a batch's label in file names; empty in batch mode.

    >>> batch_label(False, "", 0), batch_label(True, "", 3), batch_label(True, "a run", 3)
    ('', 'b000003', 'a_run-b000003')
    """
    if not streaming:
        return ""
    return f"{plain(run)}-b{batch:06}" if run else f"b{batch:06}"


def plain(text: str) -> str:
    """Return text with only the characters that every file system allows in a name.

    >>> plain("Write/out (1)")
    'Write_out__1_'
    """
    return re.sub(r"[^A-Za-z0-9_.]", "_", text)
