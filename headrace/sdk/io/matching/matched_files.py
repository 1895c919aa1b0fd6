"""An unbounded source that lists the files matching a pattern at every poll.

Listing the files and returning them are separate batches: a listing returns no records, but its offset has
the files found so far. So the same offset always gives the same records, whatever files are added later.

The offset stays small. Files are ordered by modification time, then by path. The offset names the last 1,000
files that were returned, so a file that appears slightly out of order is still returned; files that are
older than all of these count as returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import attrs

from headrace.errors import FileError
from headrace.sdk.io.files.file_operations import matched
from headrace.sdk.io.files.file_systems import FileMetadata
from headrace.sdk.io.matching.matching_files import EmptyMatchTreatment, refuse_empty
from headrace.sdk.sources.source import Batch, ReadsClock, UnboundedSource
from headrace.windowing.time.timestamps import MAX_MICROS, Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

RETURNED_FILES: Final = 1_000
"""Number of files that were returned and that the offset names."""

LISTED_FILES: Final = 1_000
"""Maximum number of new files that one listing adds to the offset."""

SizedFile = tuple[float, str, int]
"""A file: its modification time in seconds, its path, and its size."""


class Matches(NamedTuple):
    """The files found and returned so far: plain data, the offset of :class:`MatchedFiles`.

    Attributes:
        start: the time of the first poll, in microseconds.
        polls: number of polls that are done.
        time: the time of the last poll.
        ahead: the files to return next, in order.
        before: this file and all earlier files count as returned.
        returned: the files after it that have been returned, in order.
        cursor: with a cursor the watermark, in microseconds.

    >>> Matches(0).after([(7.0, "a.txt", 3)], cursor=False).returned
    ((7.0, 'a.txt', 3),)
    """

    start: int
    polls: int = 0
    time: int = 0
    ahead: tuple[SizedFile, ...] = ()
    before: tuple[float, str, int] | tuple[()] = ()
    returned: tuple[SizedFile, ...] = ()
    cursor: int = 0

    def after(self, files: Iterable[SizedFile], cursor: bool) -> Matches:
        """Return the position after some files.

        Args:
            files: the files.
            cursor: whether to remember only the newest modification time.
        """
        known = sorted([*self.returned, *files])
        if cursor and known:
            newest = known[-1][0]
            same = tuple(file for file in known if file[0] == newest)
            watermark = min(Timestamp.of(newest).micros, self.time)
            return self._replace(
                before=(newest, "", 0), returned=same, cursor=max(self.cursor, watermark)
            )
        # A file without a modification time is never older than others.
        dated = [file for file in known if file[0]]
        forgotten = dated[: max(0, len(known) - RETURNED_FILES)]
        before = max(self.before, forgotten[-1]) if forgotten else self.before
        return self._replace(before=before, returned=tuple(f for f in known if f not in forgotten))


@attrs.frozen(eq=False)
class MatchedFiles(UnboundedSource[FileMetadata], ReadsClock):
    """The files that match a pattern, which is matched at regular times.

    Args:
        pattern: a path, URL or pattern, as for ``FileSystems.match``.
        interval: microseconds between two polls.
        start: the time of the first poll, in microseconds; None for the beginning of the run.
        stop: the end, in microseconds; no poll has this time or a later one.
        deduplicates: whether each file is returned once; otherwise by each poll.
        updated: whether a file is returned again when it was changed.
        cursor: whether only files are returned that are as new as the newest one so far, with their
            modification time as the timestamp.
        empty: what a pattern that matches no file means.
        once: whether the source ends when a poll finds nothing new.

    >>> source = MatchedFiles("nowhere/*", 1_000_000, start=0)
    >>> Matches(*source.read_until(None, None, 10, now=0).next_offset)
    Matches(start=0, polls=0, time=0, ahead=(), before=(), returned=(), cursor=0)
    """

    pattern: str
    interval: int
    start: int | None = None
    stop: int = MAX_MICROS
    deduplicates: bool = True
    updated: bool = False
    cursor: bool = False
    empty: str = EmptyMatchTreatment.ALLOW
    once: bool = False

    @property
    def dataset(self) -> str:  # type: ignore[override]
        """The pattern."""
        return self.pattern

    def available_now(self) -> MatchedFiles:
        """Return a source that ends when a poll finds nothing new."""
        return attrs.evolve(self, once=True)

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[FileMetadata]:
        return self.read_until(partition, offset, limit, Timestamp.now().micros)

    def read_until(
        self, partition: object, offset: Any, limit: int, now: int
    ) -> Batch[FileMetadata]:
        if offset is None:
            return self._batch([], Matches(now if self.start is None else self.start))
        at = Matches(*offset)
        if at.ahead:
            return self._return(at, limit)
        if at.polls < self._number_of_polls(at.start) and self._due(at) <= now:
            polled = self._poll(at, now)
            return self._batch([], polled, finished=self.once and not polled.ahead)
        return self._batch([], at, finished=self.once)

    def _return(self, at: Matches, limit: int) -> Batch[FileMetadata]:
        files, rest = at.ahead[:limit], at.ahead[limit:]
        records = [
            TimestampedValue(FileMetadata(path, size, changed), self._timestamp(at, changed))
            for changed, path, size in files
        ]
        following = at.after(files, self.cursor) if self.deduplicates else at
        # Without deduplication every poll finds files, so that the first one is the last.
        finished = self.once and not self.deduplicates
        return self._batch(records, following._replace(ahead=rest), finished)

    def _timestamp(self, at: Matches, changed: float) -> Timestamp:
        return Timestamp.of(changed) if self.cursor else Timestamp(micros=at.time)

    def _poll(self, at: Matches, now: int) -> Matches:
        """List the files, and return the position with those to return."""
        files = matched(self.pattern)
        if not files:
            refuse_empty(self.pattern, self.empty)
        found = sorted(_with_time(file, self.updated) for file in files)
        new = self._new(at, found) if self.deduplicates else found
        more = self.deduplicates and len(new) > LISTED_FILES
        polls = at.polls if more else at.polls + 1
        if self.deduplicates and not new:  # what was missed while nothing ran is found by one poll
            polls = max(
                polls, min((now - at.start) // self.interval + 1, self._number_of_polls(at.start))
            )
        ahead = tuple(new[:LISTED_FILES] if self.deduplicates else new)
        time = self._due(at)
        # Files that are found later can be as old as the newest one, unless there are no new ones.
        watermark = at.cursor if new else max(at.cursor, time)
        return at._replace(polls=polls, time=time, ahead=ahead, cursor=watermark)

    def _new(self, at: Matches, found: list[SizedFile]) -> list[SizedFile]:
        if self.updated:
            known: set[object] = {(changed, path) for changed, path, _ in at.returned}
            return [file for file in found if file > at.before and file[:2] not in known]
        known = {path for _, path, _ in at.returned}
        return [file for file in found if file > at.before and file[1] not in known]

    def _due(self, at: Matches) -> int:
        """Return the time of the next poll."""
        return min(at.start + at.polls * self.interval, MAX_MICROS)

    def _number_of_polls(self, start: int) -> int:
        return max(0, -((start - self.stop) // self.interval))

    def _batch(
        self, records: list[Any], at: Matches, finished: bool = False
    ) -> Batch[FileMetadata]:
        done = at.polls >= self._number_of_polls(at.start)
        ended = not at.ahead and (done or finished)
        return Batch(records, tuple(at), Timestamp(micros=self._watermark(at)), ended)

    def _watermark(self, at: Matches) -> int:
        """Return the time of the poll whose files are returned, or of the next poll."""
        if self.cursor:
            return at.cursor
        return at.time if at.ahead else self._due(at)


def _with_time(file: FileMetadata, needed: bool) -> SizedFile:
    changed = file.last_updated_in_seconds
    if needed and not changed:
        raise FileError(
            f"the file system does not tell when {file.path!r} was changed",
            remedy="match it without match_updated_files and timestamp_cursor",
        )
    return changed, file.path, file.size_in_bytes
