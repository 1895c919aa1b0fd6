"""The versions of a Delta table, and its change data feed, through the package deltalake."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from headrace.errors import PipelineError, require_extra
from headrace.sdk.io.files.file_source import selected
from headrace.sdk.io.lake.delta import without_secrets
from headrace.sdk.io.lake.table_versions import RowDiff, net_changes
from headrace.sdk.io.secret import Secret, resolved

_DIFFS: Final = {"insert": 1, "update_postimage": 1, "delete": -1, "update_preimage": -1}
_CHANGE, _VERSION, _TIME = "_change_type", "_commit_version", "_commit_timestamp"


@attrs.frozen
class DeltaVersions:
    """A Delta table as its versions.

    Args:
        uri: a path or URL.
        columns: the columns to read; None for all.
        options: options of the storage, which can hold credentials.
    """

    uri: str = attrs.field(repr=False)
    columns: tuple[str, ...] | None = None
    options: Mapping[str, str | Secret] = attrs.field(factory=dict, repr=False)

    @property
    def dataset(self) -> str:
        """The path or URL, without secrets."""
        return without_secrets(self.uri)

    def current(self) -> int:
        """Return the last version."""
        return int(self._table().version())

    def following(self, version: int | None) -> int | None:
        """Return the version after another."""
        following = 0 if version is None else version + 1
        return following if following <= self.current() else None

    def time(self, version: int) -> int:
        """Return when a version was committed, in microseconds since 1970."""
        table = self._table()
        commits = table.history(table.version() - version + 1)
        found = [commit for commit in commits if commit["version"] == version]
        return int(found[0]["timestamp"]) * 1000

    def parts(self, version: int) -> int:
        """Return the number of data files."""
        return len(self._fragments(version))

    def batches(self, version: int, part: int, fields: Sequence[str] = ()) -> Iterator[Any]:
        """Yield the rows of a data file."""
        dataset = self._table(version).to_pyarrow_dataset()
        fragment = sorted(dataset.get_fragments(), key=lambda each: each.path)[part]
        names = dataset.schema.names if self.columns is None else self.columns
        columns = list(selected(names, fields))
        yield from fragment.to_batches(schema=dataset.schema, columns=columns)

    def changes(self, version: int) -> list[RowDiff]:
        """Return what a version has changed.

        Raises:
            PipelineError: the table keeps no changes of this version.
        """
        pyarrow = require_extra("pyarrow", "delta", "Delta tables are read with pyarrow")
        table = self._table()
        columns = None if self.columns is None else [*self.columns, _CHANGE]
        try:
            found = pyarrow.table(table.load_cdf(version, version, columns=columns))
        except Exception as error:  # the package raises several kinds
            raise PipelineError(
                f"the changes of version {version} of {self.dataset} cannot be read: {error}",
                remedy="set the property delta.enableChangeDataFeed=true of the table before it changes, and "
                "do not vacuum versions that are still to be read",
            ) from error
        changes = [_change(row) for row in found.to_pylist()]
        new, gone = ([row for d, row in changes if d == diff] for diff in (1, -1))
        return net_changes(new, gone)

    def _table(self, version: int | None = None) -> Any:
        deltalake = require_extra("deltalake", "delta", "Delta tables are read with deltalake")
        try:
            return deltalake.DeltaTable(self.uri, version, storage_options=resolved(self.options))
        except deltalake.exceptions.TableNotFoundError:
            raise PipelineError(
                f"there is no Delta table at {self.dataset}", remedy="check the path"
            ) from None

    def _fragments(self, version: int) -> list[Any]:
        return list(self._table(version).to_pyarrow_dataset().get_fragments())


def _change(row: dict[str, Any]) -> RowDiff:
    kind = row.pop(_CHANGE)
    row.pop(_VERSION, None)
    row.pop(_TIME, None)
    return _DIFFS[kind], row
