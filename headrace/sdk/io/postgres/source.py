"""The source: the present rows of tables, then their changes, each with its place in the log.

A position is plain data: a place in the snapshot's file, or the commit of a transaction and the number of a
change in the one after it. What is before a position is confirmed to the server, which then forgets it, only
when the runner says that its results have been written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.postgres.pgoutput import SlotChange, SlotTransaction
from headrace.sdk.io.postgres.server import Server
from headrace.sdk.io.postgres.slot import Peeked, Slot
from headrace.sdk.io.postgres.snapshot import Seen, SnapshotFile
from headrace.sdk.sources.source import Batch, UnboundedSource
from headrace.windowing.time.timestamps import Timestamp
from headrace.windowing.timestamped_value import TimestampedValue

_DISORDER: Final = 5_000_000
"""By how much a commit can be older than one before it in the log, in microseconds."""


class PositionedChange(NamedTuple):
    """A change of a row, with its place.

    Attributes:
        op: as in :class:`~headrace.sdk.io.postgres.pgoutput.SlotChange`, and ``"r"`` for a present row.
        table: the table, with its schema.
        old_key: the key of the row before, if the server tells it.
        key: the key of the row from now on; None if it is deleted.
        row: the row from now on; None if it is deleted.
        position: the commit of its transaction, and its number there; (0, 0) of a present row.
    """

    op: str
    table: str
    old_key: tuple[Any, ...] | None
    key: tuple[Any, ...] | None
    row: dict[str, Any] | None
    position: tuple[int, int]


KeyColumns: TypeAlias = "dict[str, tuple[str, ...]]"
"""The columns of the key of each table."""


class StreamPosition(NamedTuple):
    """A position after the snapshot.

    Attributes:
        commit: the commit of the last transaction that was read to its end.
        end: where the log goes on after it; what is before it can be confirmed.
        changes: how many changes of the next transaction were read.
        seen: the transactions of the snapshot, while the slot can have some of them; else empty.
        seen_until: a position in the log after all of these.
    """

    commit: int
    end: int
    changes: int
    seen: str
    seen_until: int

    def after(self, transaction: SlotTransaction) -> StreamPosition:
        """Return the position after a transaction."""
        seen = self.seen if transaction.commit < self.seen_until else ""
        return StreamPosition(transaction.commit, transaction.end, 0, seen, self.seen_until)

    def skips(self, transaction: SlotTransaction) -> bool:
        """Return whether the rows of the snapshot have the changes of a transaction."""
        has_seen = bool(self.seen) and transaction.commit < self.seen_until
        return has_seen and Seen.of(self.seen).sees(transaction.xid)


@attrs.frozen(eq=False)
class PostgresSource(UnboundedSource[PositionedChange]):
    """The rows and the changes of tables, as :class:`PositionedChange` values.

    Args:
        server: the database.
        slot: the slot and its tables.
        folder: the folder of the snapshot's file.
    """

    server: Server
    slot: Slot
    folder: str | None = None

    @property
    def dataset(self) -> str:  # type: ignore[override]  # it is only read
        """Where it reads, without secrets."""
        return f"{self.server.address}?tables={','.join(self.slot.tables)}"

    def read(self, partition: Any, offset: Any, limit: int) -> Batch[PositionedChange]:
        if offset is None or offset[0] == "snapshot":
            return self.server.run(lambda c: self._snapshot(c, offset, limit))
        return self.server.run(lambda c: self._stream(c, StreamPosition(*offset[1:]), limit))

    def committed(self, offsets: Sequence[tuple[Any, Any]]) -> None:
        """Let the server forget what was processed, and remove the file of present rows after them."""
        for _, offset in offsets:
            if offset is not None and offset[0] == "stream":
                self._file().remove()
                end = StreamPosition(*offset[1:]).end
                self.server.run(partial(self.slot.confirm, lsn=end))

    def _file(self) -> SnapshotFile:
        return SnapshotFile(self.folder, self.server.address, self.slot)

    def _snapshot(self, connection: Any, offset: Any, limit: int) -> Batch[PositionedChange]:
        """Read present rows."""
        file = self._file()
        if offset is None:
            self.slot.create(connection)
            offset = ["snapshot", file.prepare(connection), 0]
        _, confirmed, place = offset
        self._check(file, confirmed)
        known, rows, following = file.read(place, limit)
        keys, time = self.slot.keys(connection), Timestamp(micros=known.time)
        records = [
            TimestampedValue(_change(SlotChange("r", table, None, row), (0, 0), keys), time)
            for table, row in rows
        ]
        if following is not None:
            return Batch(records, ["snapshot", confirmed, following])
        return Batch(records, ["stream", *StreamPosition(0, confirmed, 0, known.seen, known.lsn)])

    def _check(self, file: SnapshotFile, confirmed: int) -> None:
        if file.confirmed() != confirmed:
            raise PipelineError(
                f"the present rows of {self.dataset} are gone, of which a part has been read",
                remedy="restore their file, or start from a new checkpoint; with snapshot_dir it is in a "
                "folder of yours, which a driver on another machine reads too",
            )

    def _stream(
        self, connection: Any, start: StreamPosition, limit: int
    ) -> Batch[PositionedChange]:
        """Read changes."""
        # A cut transaction is peeked again as a whole, so the limit counts from its beginning.
        keys = self.slot.keys(connection)
        number = partial(_number, start, keys)
        peeked = self.slot.peek(connection, start.commit, start.changes + limit, number)
        if not peeked.transactions:
            if peeked.until is not None:  # the log up to there has nothing for this slot
                self.slot.confirm(connection, peeked.until)
            return Batch([], ["stream", *start], _watermark(peeked.now))
        records, end = self._records(peeked.transactions, start, limit, keys)
        return Batch(records, ["stream", *end], _watermark(self._reached(peeked, end)))

    def _reached(self, peeked: Peeked, end: StreamPosition) -> int:
        """Return the time up to which all is read, in microseconds."""
        rest = [each.time for each in peeked.transactions if each.commit > end.commit]
        last = peeked.transactions[-1].time if peeked.until is None else peeked.now
        return min([*rest, last])

    def _records(
        self, found: list[SlotTransaction], start: StreamPosition, limit: int, keys: KeyColumns
    ) -> tuple[list[TimestampedValue[PositionedChange]], StreamPosition]:
        records: list[TimestampedValue[PositionedChange]] = []
        position = start
        for transaction in found:
            skips = position.skips(transaction)
            own = [] if skips else list(_positioned(transaction, keys))[position.changes :]
            room = limit - len(records)
            records += own[:room]
            if len(own) > room:
                return records, position._replace(changes=position.changes + room)
            position = position.after(transaction)
        return records, position


def _number(start: StreamPosition, keys: KeyColumns, transaction: SlotTransaction) -> int:
    """Return how many records a transaction is."""
    own = sum(change.table in keys for change in transaction.changes)
    return 0 if start.skips(transaction) else own


def _positioned(
    transaction: SlotTransaction, keys: KeyColumns
) -> Iterator[TimestampedValue[PositionedChange]]:
    """Yield the changes of a transaction that concern the tables."""
    time = Timestamp(micros=transaction.time)
    for number, change in enumerate(transaction.changes):
        if change.table in keys:
            yield TimestampedValue(_change(change, (transaction.commit, number), keys), time)


def _change(change: SlotChange, position: tuple[int, int], keys: KeyColumns) -> PositionedChange:
    op, table, before, after = change
    old, new = (_key(row, keys[table]) for row in (before, after))
    return PositionedChange(op, table, old, new, after, position)


def _key(row: Mapping[str, Any] | None, columns: tuple[str, ...]) -> tuple[Any, ...] | None:
    return None if row is None else tuple(row[name] for name in columns)


def _watermark(time: int) -> Timestamp:
    return Timestamp(micros=time - _DISORDER)
