"""Bounded sources in streaming mode: workers read files of lines; rows of Arrow are sent as tables."""

import gzip
import os
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import ElementError
from headrace.runners.plan.planning import Plan, plan
from headrace.runners.spark.sources.worker_reads import (
    observed_labels,
    sent_as_tables,
    with_streams,
    worker_reads,
)
from headrace.sdk.testing.assertions.capturing import capture
from headrace.windowing import BoundedOutOfOrderness

VALUES: dict[str, list[Any]] = {
    "number": [1, None, 2**62, 4, 5],
    "rate": [0.5, float("inf"), None, -0.0, 1.0],
    "name": ["a", "ß", None, "", "日本"],
    "price": [Decimal("1.50"), None, Decimal("-2.00"), Decimal("0.00"), Decimal("9.99")],
    "day": [date(2026, 1, 2), None, date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1)],
    "at": [datetime(2026, 1, n, tzinfo=UTC) for n in (5, 3, 4, 1, 2)],
    "tags": [["x"], [], None, [None], ["y", "z"]],
    "place": [{"x": 1, "y": None}, None, {"x": 2, "y": "b"}, {"x": None, "y": ""}, None],
    "blob": [b"", b"\0", None, b"a", b"b"],
}


class Named(NamedTuple):
    number: int | None


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pq.write_table(pa.table(VALUES), tmp_path / "values.parquet", row_group_size=2)
    return tmp_path / "values.parquet"


def sent(read: Any) -> bool:
    """Return whether what is read is sent as tables to steps that take elements."""
    p = hr.Pipeline()
    _ = p | "Read" >> read | hr.Map(str)
    return "Read" in sent_as_tables(plan(p.graph))


def test_sources_that_are_arrow_are_sent_as_tables(path: Path, tmp_path: Path) -> None:
    csv = tmp_path / "values.csv"
    csv.write_text("number\n1\n")
    assert sent(hr.io.ReadFromParquet(path))
    assert sent(hr.io.ReadFromParquet(path, as_rows=True, timestamp="at"))
    assert not sent(hr.io.ReadFromParquet(path, timestamp=lambda record: record["number"]))
    assert not sent(hr.io.ReadFromParquet(path, schema=Named))
    assert not sent(hr.io.ReadFromCsv(csv, schema={"number": int}))
    assert not sent(hr.io.ReadFromParquetBatched(path))
    assert not sent(hr.Create([1, 2]))


def by_workers(planned: Plan) -> frozenset[str]:
    """Return the labels of the sources of a new run that the workers read."""
    streams = with_streams(planned, ())
    return worker_reads(streams, observed_labels(streams)).labels


def test_files_in_which_places_are_found_are_read_by_the_workers(
    path: Path, tmp_path: Path
) -> None:
    for name in ("a.txt", "a.json"):
        (tmp_path / name).write_text('{"n": 1}\n')
    for name in ("b.txt.gz", "b.json.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b'{"n": 1}\n'))
    p = hr.Pipeline()
    reads: dict[str, Any] = {
        "text": hr.io.ReadFromText(f"{tmp_path}/a.txt"),
        "some text": hr.io.ReadFromText(f"{tmp_path}/*.txt*"),
        "json": hr.io.ReadFromJson(f"{tmp_path}/a.json", watermark=hr.Monotonic()),
        "compressed text": hr.io.ReadFromText(f"{tmp_path}/*.gz"),
        "compressed json": hr.io.ReadFromJson(f"{tmp_path}/*.json.gz"),
        "parquet": hr.io.ReadFromParquet(path),
        "values": hr.Create([1, 2]),
    }
    for label, read in reads.items():
        _ = p | label >> read | f"Map {label}" >> hr.Map(str)
    assert by_workers(plan(p.graph)) == {"text", "some text", "json"}


class Noting(NamedTuple):
    """Functions of the records of a file that note by which processes they are called."""

    home: Path

    def time(self, record: Any) -> int:
        self.note("times")
        return int(record.n)

    def pair(self, record: Any) -> tuple[str, int]:
        self.note("pairs")
        return record.name, record.n

    def note(self, name: str) -> None:
        (self.home / name).mkdir(parents=True, exist_ok=True)
        (self.home / name / str(os.getpid())).touch()

    def processes(self, name: str) -> set[str]:
        return {path.name for path in (self.home / name).iterdir()}


def elements(runner: str, path: Path) -> list[list[str]]:
    """Return what a stream of small batches emits: dictionaries, rows, and panes of rows."""
    lines, noting = path.with_suffix(".csv"), Noting(path.parent / runner)
    lines.write_text("n,name\n" + "".join(f'{n},"a\n{n % 2}"\n' for n in range(9)))
    with hr.Pipeline(runner, argv=["--streaming", "--max-records-per-batch=2"]) as p:
        dictionaries = p | "Dictionaries" >> hr.io.ReadFromParquet(path, watermark=None)
        rows = p | "Rows" >> hr.io.ReadFromParquet(
            path,
            as_rows=True,
            timestamp="at",
            watermark=BoundedOutOfOrderness(86_400),
        )
        counts = (
            rows
            | "Keys" >> hr.Map(lambda row: (row.name, row.tags))
            | hr.WindowInto(hr.window.FixedWindows(86_400 * 2))
            | hr.GroupByKey()
        )
        pairs = (
            p
            | "Lines"
            >> hr.io.ReadFromCsv(lines, timestamp=noting.time, watermark=BoundedOutOfOrderness(2))
            | "Pairs" >> hr.Map(noting.pair)
            | "Windows" >> hr.WindowInto(hr.window.FixedWindows(4))
            | "Sums" >> hr.CombinePerKey(sum)
        )
        outputs = (dictionaries, rows, counts, pairs)
        found = [capture(each, f"Found {n}") for n, each in enumerate(outputs)]
    assert noting.processes("times") <= noting.processes("pairs")
    return [
        sorted(repr((e.value, e.timestamp, e.windows, e.pane)) for e in each.elements)
        for each in found
    ]


def test_elements_and_panes_are_those_of_the_local_runner(path: Path) -> None:
    assert elements("spark", path) == elements("local", path)


def test_a_value_that_is_no_python_object_is_an_error_of_the_read(tmp_path: Path) -> None:
    far = pa.array([0, 10**18], pa.timestamp("us"))
    pq.write_table(pa.table({"n": [1, 2], "at": far}), tmp_path / "far.parquet")
    p = hr.Pipeline("spark", argv=["--streaming"])
    _ = p | "Read" >> hr.io.ReadFromParquet(tmp_path / "far.parquet") | hr.Map(str)
    with pytest.raises(
        ElementError, match=r"the column 'at', of the type timestamp\[us\]"
    ) as found:
        p.run()
    assert "in Read" in found.value.__notes__
