"""MaterializedView: the latest panes of a grouping as a table that can be queried while the pipeline runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike, fspath
from typing import Any, ClassVar, Final

import attrs

from headrace.errors import PipelineError
from headrace.sdk.io.table.arguments import check_names, names_of_key, pattern_of
from headrace.sdk.io.table.rows import WINDOW_COLUMNS
from headrace.sdk.io.table.sink import TableSink, check_database
from headrace.sdk.pipelines.pvalue import PCollection, PDone, require_collection
from headrace.sdk.pipelines.transform import PTransform
from headrace.sdk.sources.delivery import Delivery
from headrace.sdk.sources.sink import SinkBatch
from headrace.sdk.sources.writing import Write
from headrace.triggers.strategy import WindowingStrategy
from headrace.windowing.time.timestamps import (
    END_OF_TIME_MICROS,
    DurationTypes,
    Timestamp,
    duration_micros,
)
from headrace.windowing.windows import GlobalWindows

FIRST_INSTANT: Final = -62_135_596_800_000_000
"""The first time of a database, the start of the year 1, in microseconds since 1970."""


@attrs.define(eq=False)
class ViewSink(TableSink):
    """Applies batches to the table of a view, and deletes rows whose windows have expired.

    Args:
        keep: how long after the end of its window a row stays, in microseconds; None for ever.
    """

    keep: int | None = attrs.field(default=None, kw_only=True)
    horizon: int | None = attrs.field(default=None, init=False)

    wants_watermarks: ClassVar[bool] = True
    deliveries: ClassVar[tuple[Delivery, ...]] = (Delivery.EXACTLY_ONCE,)

    @property
    def indexed(self) -> str | None:
        return WINDOW_COLUMNS[1] if self.windows else None

    def open(self) -> None:
        super().open()
        if self.database is not None:
            self.database.let_readers_in()

    def write(self, batch: SinkBatch) -> None:
        changes = self.changes_of(batch)
        horizon = self._horizon_at(batch.watermark)
        if self.database is not None and (len(changes) or horizon != self.horizon):
            expired = None if horizon is None else Timestamp(micros=horizon).to_utc_datetime(True)
            self.database.apply(attrs.evolve(changes, expired=expired), batch)
        self.horizon = horizon

    def _horizon_at(self, watermark: int | None) -> int | None:
        """Return the end of the last window that has expired, or what it was at the end of the input."""
        if self.keep is None or watermark is None:
            return None
        if watermark >= END_OF_TIME_MICROS:
            return self.horizon
        horizon = watermark - self.keep
        return horizon if horizon > FIRST_INSTANT else None

    def first_rows(self, limit: int) -> Sequence[Mapping[str, Any]] | None:
        from headrace.sdk.io.table.database import first_rows

        return first_rows(self.url, self.table, limit)


class MaterializedView(PTransform[PCollection[Any], PDone]):
    """Keeps the latest panes of a grouping as a table of a SQL database, to be queried while it runs.

    A pane replaces the row of its key and window, and a retraction deletes it. When the watermark passes the
    end of a window by the allowed lateness, or by ``keep``, its rows are deleted. At the end of the input
    nothing more expires, so the view of a batch has all its windows. Each batch is one transaction and is
    written once, as with :class:`WriteToTable`: a reader never sees a half of it. An SQLite file is put in
    WAL mode, so readers and the pipeline do not wait for each other. :func:`headrace.query` queries it.

    Args:
        url: path of an SQLite file, or URL of a database, as in :class:`WriteToTable`.
        name: name of the table, or ``schema.table``; it is created if it does not exist.
        key: the column or columns that identify a row; windows are added as the columns ``window_start`` and
            ``window_end``, in UTC.
        columns: the columns, as in :class:`WriteToTable`.
        types: Python or SQLAlchemy types of columns, as in :class:`WriteToTable`.
        keep: how long a row stays after the end of its window, in seconds of event time; by default the
            allowed lateness of the windows.

    Raises:
        PipelineError: rows would expire before anyone can see them; sessions can merge without retracting
            the panes of their parts; or the arguments contradict each other.

    >>> import tempfile
    >>> file = tempfile.mkdtemp() + "/view.db"
    >>> view = MaterializedView(file, "totals", key="place", columns=["place", "total"], keep=3600)
    >>> with Pipeline() as p:
    ...     sales = p | Create(
    ...         [TimestampedValue(("quay", 5), 10), TimestampedValue(("quay", 3), 50)]
    ...     )
    ...     _ = sales | WindowInto(FixedWindows(60)) | CombinePerKey(sum) | view
    >>> hr.query(view, "select place, total from totals").rows()
    [Row(place='quay', total=8)]
    """

    def __init__(
        self,
        url: str | PathLike[str],
        name: str,
        *,
        key: str | Iterable[str],
        columns: Iterable[Any] | None = None,
        types: Mapping[str, Any] | None = None,
        keep: DurationTypes | None = None,
    ) -> None:
        super().__init__()
        self.url = fspath(url)
        self.name = name
        self._key = names_of_key(key)
        self._pattern = None if columns is None else pattern_of(columns)
        self._types = dict(types or {})
        self._keep = None if keep is None else duration_micros(keep)
        check_names(tuple(k for k in self._key if k not in WINDOW_COLUMNS), self._pattern, False)
        check_database(self.url, self._types)

    def default_label(self) -> str:
        return f"MaterializedView({self.name})"

    def expand(self, pcoll: PCollection[object]) -> PDone:
        require_collection(pcoll)
        strategy = pcoll.windowing
        windowed = not isinstance(strategy.window_fn, GlobalWindows)
        key = self._key
        if windowed:
            self._check_windows(strategy, pcoll.collection.changing)
            key += tuple(name for name in WINDOW_COLUMNS if name not in key)
        elif self._keep is not None:
            raise PipelineError(
                "rows of the global window do not expire",
                remedy="remove keep, or window the collection with hr.WindowInto",
            )
        sink = ViewSink(
            self.url,
            self.name,
            key,
            self._pattern,
            self._types,
            windowed,
            keep=self._kept(strategy) if windowed else None,
        )
        return Write(sink).expand(pcoll)

    def _kept(self, strategy: WindowingStrategy) -> int:
        return strategy.allowed_lateness if self._keep is None else self._keep

    def _check_windows(self, strategy: WindowingStrategy, changing: bool) -> None:
        at_end = strategy.trigger.fires_only_at_end
        if self._kept(strategy) == 0 and at_end:
            raise PipelineError(
                "a row would be written and expire at once: its window fires at its end, and has no allowed "
                "lateness",
                remedy="pass keep=3600 to keep rows for an hour of event time, or use early panes",
            )
        refined = strategy.allowed_lateness > 0 or not at_end
        if strategy.window_fn.is_merging() and refined and not changing:
            raise PipelineError(
                f"windows of {strategy.window_fn!r} merge, but the rows of the parts would stay",
                remedy="use AccumulationMode.RETRACTING",
            )
