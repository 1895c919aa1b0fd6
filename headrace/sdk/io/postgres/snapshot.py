"""The present rows of tables, as one transaction sees them, kept in a file until they have been read.

The transaction also tells its snapshot: which other transactions it sees. These are skipped where the slot
has them, so that at the seam no change is twice or missing, whenever the slot was created. The file makes the
rows the same if they are read again; it is of use as long as the slot is where it was.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, NamedTuple

import attrs

from headrace.sdk.io.postgres.slot import Slot, lsn_number, quoted

_XIDS: Final = 1 << 32


class Seen(NamedTuple):
    """Which transactions a snapshot sees.

    Attributes:
        xmin: all before this number.
        xmax: none from this number on.
        running: those between that it does not see.

    >>> seen = Seen.of("10:14:11,12")
    >>> [xid for xid in range(8, 16) if seen.sees(xid)]
    [8, 9, 10, 13]
    """

    xmin: int
    xmax: int
    running: frozenset[int]

    @classmethod
    def of(cls, text: str) -> Seen:
        """Return what PostgreSQL writes as ``xmin:xmax:running``."""
        xmin, xmax, running = text.split(":")
        return cls(int(xmin), int(xmax), frozenset(map(int, filter(None, running.split(",")))))

    def sees(self, xid: int) -> bool:
        """Return whether it sees a transaction, whose number is given modulo 2**32.

        >>> Seen.of(f"{2**32 + 5}:{2**32 + 5}:").sees(2**32 - 1)
        True
        """
        near = self.xmax - self.xmax % _XIDS + xid
        if near - self.xmax > _XIDS // 2:
            near -= _XIDS
        return near < self.xmin or (near < self.xmax and near not in self.running)


class SnapshotInfo(NamedTuple):
    """What is known of present rows.

    Attributes:
        confirmed: where the slot was.
        seen: which transactions the rows contain, as PostgreSQL writes it.
        lsn: a position in the log after all of these.
        time: when it was taken, in microseconds since 1970.
    """

    confirmed: int
    seen: str
    lsn: int
    time: int


class SnapshotPart(NamedTuple):
    """Some rows of a snapshot.

    Attributes:
        snapshot: what is known of it.
        rows: (table, row), in order.
        next: where the file goes on; None at its end.
    """

    snapshot: SnapshotInfo
    rows: list[tuple[str, dict[str, Any]]]
    next: int | None


@attrs.frozen
class SnapshotFile:
    """The file of a slot's snapshot.

    Args:
        folder: where it is; None for a folder of the system's for temporary files.
        server: the address of the database.
        slot: the slot.
    """

    folder: str | None
    server: str
    slot: Slot

    @property
    def path(self) -> str:
        """Where it is."""
        folder = self.folder or os.path.join(tempfile.gettempdir(), f"headrace-{os.getuid()}")
        known = f"{self.server} {self.slot!r}".encode()
        return os.path.join(folder, f"snapshot-{hashlib.sha256(known).hexdigest()[:24]}")

    def prepare(self, connection: Any) -> int:
        """Take a new snapshot, unless the slot is where it was; return where it is."""
        confirmed = self.slot.confirmed(connection)
        if self.confirmed() != confirmed:
            self._take(connection, confirmed)
        return confirmed

    def confirmed(self) -> int | None:
        """Return where the slot was; None if there is no file."""
        try:
            with open(self.path, "rb") as file:
                return SnapshotInfo(*pickle.load(file)).confirmed
        except FileNotFoundError:
            return None

    def read(self, place: int, limit: int) -> SnapshotPart:
        """Return some rows, from a place in the file on; 0 is the first row."""
        with open(self.path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            snapshot = SnapshotInfo(*pickle.load(file))
            file.seek(place or file.tell())
            rows: list[tuple[str, dict[str, Any]]] = []
            while len(rows) < limit and file.tell() < size:
                rows.append(pickle.load(file))
            return SnapshotPart(snapshot, rows, file.tell() if file.tell() < size else None)

    def remove(self) -> None:
        """Remove the file, if there is one."""
        with suppress(FileNotFoundError):
            os.remove(self.path)

    def _take(self, connection: Any, confirmed: int) -> None:
        folder = os.path.dirname(self.path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            for row in _taken(connection, self.slot, confirmed):
                pickle.dump(row, file)
        os.replace(file.name, self.path)


def _taken(connection: Any, slot: Slot, confirmed: int) -> Iterator[tuple[Any, ...]]:
    """Yield a snapshot, and its rows."""
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        seen, lsn, time = connection.execute(_SEEN).fetchone()
        yield (confirmed, seen, lsn_number(lsn), int(time))
        for table in slot.tables:
            yield from _rows_of(connection, table)


def _rows_of(connection: Any, table: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with connection.cursor("headrace_snapshot") as cursor:
        cursor.execute(f"select * from {quoted(table)}")
        names = [column.name for column in cursor.description]
        for row in cursor:
            yield table, dict(zip(names, row, strict=True))


_SEEN: Final = (
    "select pg_current_snapshot()::text, pg_current_wal_insert_lsn()::text, "
    "(extract(epoch from now()) * 1000000)::bigint"
)
