"""A table of each format in a folder, to write to and to read back with the format's own library."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import attrs
import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError

import headrace as hr
from headrace.grouping.bundle import Bundle, Element
from headrace.sdk.io.lake.sink import LakeSink
from headrace.sdk.io.lake.write import WriteToLake
from headrace.sdk.sources.sink import Commit, SinkBatch, SinkPart
from headrace.windowing import IntervalWindow


@attrs.frozen
class Lake:
    """A table in a folder."""

    folder: Path

    def write(self, **arguments: Any) -> WriteToLake:
        raise NotImplementedError

    def arrow(self) -> pa.Table:
        """The table as its own library reads it."""
        raise NotImplementedError

    def live(self) -> list[str]:
        """The paths of the data files that the table has."""
        raise NotImplementedError

    def append(self, rows: pa.Table) -> None:
        """Append rows as another writer, with the format's own library."""
        raise NotImplementedError

    def rewrite(self) -> None:
        """Write all rows again into other files, as a compaction of others does."""
        raise NotImplementedError

    def set_property(self, number: int) -> None:
        """Change the table in another way."""
        raise NotImplementedError

    def sink(self, key: Any = None, **arguments: Any) -> LakeSink:
        sink = self.write(key=key, **arguments)._sink
        sink.open()
        return sink

    def rows(self) -> list[dict[str, Any]]:
        return sorted(self.arrow().to_pylist(), key=repr)

    def tuples(self) -> list[tuple[Any, ...]]:
        return sorted((tuple(row.values()) for row in self.arrow().to_pylist()), key=repr)

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """The answer of DuckDB over the Parquet files that the table has."""
        with duckdb.connect() as connection:
            files = ", ".join(f"'{path}'" for path in self.live())
            return connection.sql(
                text.format(f"read_parquet([{files}], union_by_name=true)")
            ).fetchall()

    def files(self) -> set[str]:
        """The paths of all Parquet files in the folder."""
        return {str(path) for path in self.folder.rglob("*.parquet")}


class Delta(Lake):
    @property
    def path(self) -> str:
        return str(self.folder / "t")

    def write(self, **arguments: Any) -> WriteToLake:
        return hr.io.WriteToDelta(self.path, **arguments)

    def table(self) -> DeltaTable:
        return DeltaTable(self.path)

    def append(self, rows: pa.Table) -> None:
        write_deltalake(self.path, rows, mode="append")

    def rewrite(self) -> None:
        self.table().optimize.compact()

    def set_property(self, number: int) -> None:
        self.table().alter.set_table_properties(
            {"delta.logRetentionDuration": f"interval {number} days"}
        )

    def arrow(self) -> pa.Table:
        if not DeltaTable.is_deltatable(self.path):
            return pa.table({})
        return self.table().to_pyarrow_table()

    def live(self) -> list[str]:
        return [uri.removeprefix("file://") for uri in self.table().file_uris()]

    def last(self, step: str = "step") -> int | None:
        return self.table().transaction_version(f"headrace/run/{step}")


class Iceberg(Lake):
    @property
    def properties(self) -> dict[str, str]:
        return {
            "type": "sql",
            "uri": f"sqlite:///{self.folder}/catalog.db",
            "warehouse": f"file://{self.folder}/warehouse",
        }

    def write(self, **arguments: Any) -> WriteToLake:
        return hr.io.WriteToIceberg("shop.t", catalog_properties=self.properties, **arguments)

    def table(self) -> Any:
        return load_catalog("default", **self.properties).load_table("shop.t")

    def append(self, rows: pa.Table) -> None:
        self.table().append(rows)

    def rewrite(self) -> None:
        table = self.table()
        table.overwrite(table.scan().to_arrow())

    def set_property(self, number: int) -> None:
        with self.table().transaction() as transaction:
            transaction.set_properties({"number": str(number)})

    def arrow(self) -> pa.Table:
        try:
            return self.table().scan().to_arrow()
        except NoSuchTableError:
            return pa.table({})

    def live(self) -> list[str]:
        tasks = self.table().scan().plan_files()
        return [task.file.file_path.removeprefix("file://") for task in tasks]

    def last(self, step: str = "step") -> int | None:
        found = self.table().properties.get(f"headrace/run/{step}")
        return None if found is None else int(found)


def lake(name: str, folder: Path) -> Any:
    os.makedirs(folder, exist_ok=True)
    return {"delta": Delta, "iceberg": Iceberg}[name](folder)


def bundle(*changes: tuple[int, Any]) -> Bundle:
    return Bundle.of(
        [Element(value, 0, (IntervalWindow(0, 60),), diff=diff) for diff, value in changes]
    )


def batch(
    number: int, *changes: tuple[int, Any], run: str = "run", step: str = "step"
) -> SinkBatch:
    """A batch of (diff, value) pairs."""
    return SinkBatch(number, 0, bundle(*changes), run, step, streaming=True)


def parts(
    sink: LakeSink, number: int, *contents: list[tuple[int, Any]], run: str = "run"
) -> Commit:
    """The parts of a batch, written as workers write them, to be committed."""
    written = [
        sink.write_part(SinkPart(number, 0, bundle(*content), run, "step", number=n))
        for n, content in enumerate(contents)
    ]
    return Commit(number, run, "step", written, streaming=True)
