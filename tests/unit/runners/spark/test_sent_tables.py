"""Records of Arrow sources that the driver reads: they are sent as tables, and the workers make elements."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import headrace as hr
from headrace.errors import ElementError
from headrace.runners.plan.planning import plan
from headrace.runners.spark.sources.read_elements import sent_as_tables
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
    assert not sent(hr.Create([1, 2]))


def elements(runner: str, path: Path) -> list[list[str]]:
    """Return what a stream of small batches emits: dictionaries, rows, and panes of rows."""
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
        found = [capture(each, f"Found {n}") for n, each in enumerate((dictionaries, rows, counts))]
    return [
        sorted(repr((e.value, e.timestamp, e.windows, e.pane)) for e in each.elements)
        for each in found
    ]


def test_the_workers_make_the_elements_of_the_local_runner(path: Path) -> None:
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
