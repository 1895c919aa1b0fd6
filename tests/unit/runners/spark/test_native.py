"""Sources that Spark reads itself: the same elements, watermarks and panes as by any other way."""

import gzip
import json
import os
import time
from collections.abc import Callable
from datetime import UTC, datetime
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any, NamedTuple

import attrs
import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

import headrace as hr
from headrace.io import Sink, SinkBatch
from headrace.options.pipeline_options import PipelineOptions
from headrace.testing import TestStream
from headrace.triggers import AccumulationMode, AfterCount, AfterWatermark
from headrace.windowing import BoundedOutOfOrderness

SECOND = 1_000_000


class Tick(NamedTuple):
    at: datetime
    id: int


first = itemgetter(0)


@attrs.define(eq=False)
class Kept(Sink):
    """Keeps what comes, on the driver."""

    elements: list[Any] = attrs.field(factory=list)

    def write(self, batch: SinkBatch) -> None:
        self.elements.extend(batch.bundle.rows())

    @property
    def values(self) -> list[str]:
        return sorted(repr(row.value) for row in self.elements)


def options(*flags: str) -> PipelineOptions:
    return PipelineOptions(["--runner=spark", "--key-groups=2", *flags])


# ----------------------------------------------------------------------------------------------- batch


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Files of each format: with ends of lines of both kinds, quotes, gaps, and compressed ones."""
    (tmp_path / "a.txt").write_bytes("eins\r\nzwei\n\nvi\u00e9r".encode())
    (tmp_path / "b.txt").write_text("f\u00fcnf\n", encoding="utf-8")
    (tmp_path / "_hidden.txt").write_text("not meant\n")
    (tmp_path / "c.csv.gz").write_bytes(
        gzip.compress(b'id,name,share\n1,"a ""quoted""\nname",\n2,,2.5\n')
    )
    (tmp_path / "d.json").write_text('{"id": 1, "tags": ["x"]}\n\n{"tags": null}\n')
    columns = {
        "id": [1, 2, None],
        "price": [1.5, None, float("inf")],
        "at": [datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC) for second in range(3)],
        "inner": [{"x": 1}, None, {"x": 3}],
        "many": [["a"], [], None],
        "raw": [b"\x00", b"", None],
    }
    parquet.write_table(pa.table(columns), tmp_path / "e.parquet")
    return tmp_path


READS: dict[str, Callable[[Any], Any]] = {
    "text": lambda at: hr.io.ReadFromText(f"{at}/*.txt"),
    "text without its head": lambda at: hr.io.ReadFromText(f"{at}/*.txt", skip_header_lines=1),
    "timed text": lambda at: hr.io.ReadFromText(f"{at}/a.txt", timestamp=len),
    "csv": lambda at: hr.io.ReadFromCsv(
        f"{at}/c.csv.gz", {"id": int, "name": str, "share": float}, timestamp="id"
    ),
    "json": lambda at: hr.io.ReadFromJson(f"{at}/d.json", {"id": int, "tags": list}),
    "parquet": lambda at: hr.io.ReadFromParquet(f"{at}/e.parquet", timestamp="at"),
    "parquet columns": lambda at: hr.io.ReadFromParquet(
        [f"{at}/e.parquet"], columns=["many", "id"], timestamp="at"
    ),
}


def seen(elements: list[Any]) -> list[tuple[int, str]]:
    return sorted((row.timestamp, repr(row.value)) for row in elements)


def test_one_job_reads_uris_frames_formats_and_values_as_other_runners_read_them(
    files: Path, spark: SparkSession
) -> None:
    frame = spark.range(6, numPartitions=2).selectExpr(
        "id", "timestamp_seconds(id) AS at", "named_struct('x', id) AS inner"
    )
    spark.range(3).selectExpr("id AS n").write.orc(str(files / "orc"))
    local = {name: Kept() for name in READS}
    with hr.Pipeline() as p:
        for name, read in READS.items():
            _ = p | name >> read(files) | f"keep {name}" >> hr.io.Write(local[name])
    kept = {name: Kept() for name in [*READS, "frame", "typed", "orc", "sums"]}
    table, typed = hr.io.ToDataFrame(), hr.io.ToDataFrame({"k": str, "v": float})
    with hr.Pipeline(options=options()) as p:
        for name, read in READS.items():
            _ = p | name >> read(files.as_uri()) | f"keep {name}" >> hr.io.Write(kept[name])
        rows = p | hr.io.FromDataFrame(frame, timestamp="at")
        ticks = p | "Typed" >> hr.io.FromDataFrame(frame, schema=Tick)
        _ = (
            ticks | "keep typed" >> hr.io.Write(kept["typed"]),
            rows | "keep frame" >> hr.io.Write(kept["frame"]),
        )
        orc = p | hr.io.ReadFromSpark("orc", {"path": str(files / "orc")})
        _ = orc | "keep orc" >> hr.io.Write(kept["orc"])
        pairs = (
            rows | "of frame" >> hr.Map(lambda row: ("even" if row.id % 2 == 0 else "odd", row.id)),
            orc | "of orc" >> hr.Map(lambda row: ("even" if row.n % 2 == 0 else "odd", row.n)),
            p | hr.Create([("even", 100), ("new", 1)]),
        )
        sums = pairs | hr.Flatten() | hr.CombinePerKey(sum)
        _ = sums | "keep sums" >> hr.io.Write(kept["sums"])
        named = sums | hr.Map(lambda pair: hr.Row(k=pair[0], v=pair[1]))
        _ = named | "table" >> table
        _ = named | hr.Filter(lambda row: row.v < 0) | "typed table" >> typed
    for name in READS:
        assert seen(kept[name].elements) == seen(local[name].elements), name
    timed = sorted(((row.timestamp, row.value) for row in kept["frame"].elements), key=first)
    assert timed == [
        (n * SECOND, hr.Row(id=n, at=datetime.fromtimestamp(n, UTC), inner={"x": n}))
        for n in range(6)
    ]
    assert sorted(row.value for row in kept["typed"].elements) == [
        Tick(datetime.fromtimestamp(n, UTC), n) for n in range(6)
    ]
    assert kept["orc"].values == [repr(hr.Row(n=n)) for n in range(3)]
    assert kept["sums"].values == ["('even', 108)", "('new', 1)", "('odd', 10)"]
    assert sorted(map(tuple, table.dataframe().select("k", "v").collect())) == [
        ("even", 108),
        ("new", 1),
        ("odd", 10),
    ]
    assert table.to_arrow().num_rows == 3
    assert typed.dataframe().dtypes == [("k", "string"), ("v", "double")]
    assert typed.dataframe().count() == 0


# ------------------------------------------------------------------------------------------- streaming

SCRIPT: list[list[tuple[str, str, int]]] = [
    # Files of (sensor, key, second): each sensor is a partition of the source.
    [("x", "a", 5), ("x", "b", 31), ("x", "a", 27), ("y", "a", 8)],
    [("y", "a", 3), ("y", "b", 12), ("x", "a", 55)],
    [
        ("y", "a", 1),
        ("x", "a", 22),
        ("y", "b", 45),
    ],  # late for one window, and too late for another
    [("x", "b", 71), ("y", "a", 70), ("y", "a", 40)],
]

WATERMARKS = [8, 12, 45, 70]
"""How far the slower sensor has come after each file."""

TRIGGER = AfterWatermark(late=AfterCount(1))


def keep_totals(pairs: Any, kept: Kept) -> None:
    """Keep the panes of two groupings, one behind the other."""
    windows = hr.WindowInto(
        hr.window.FixedWindows(10),
        trigger=TRIGGER,
        accumulation_mode=AccumulationMode.DISCARDING,
        allowed_lateness=25,
    )
    tens = pairs | windows | hr.CombinePerKey(sum)
    minutes = tens | "in minutes" >> hr.WindowInto(hr.window.FixedWindows(60))
    minutes = minutes | "per minute" >> hr.CombinePerKey(sum)
    _ = tens | "keep tens" >> hr.io.Write(kept), minutes | "keep minutes" >> hr.io.Write(kept)


def panes(kept: Kept) -> list[Any]:
    rows = kept.elements
    found = [(row.value, row.windows, row.timestamp, row.pane.timing.name) for row in rows]
    return sorted(found, key=repr)


def put(folder: Path, number: int) -> None:
    """Put a file where it is found, whole and after those before it."""
    folder.mkdir(exist_ok=True)
    lines = [json.dumps({"sensor": s, "key": k, "second": n}) for s, k, n in SCRIPT[number]]
    aside = folder.parent / f"aside-{number}"
    aside.write_text("\n".join(lines))
    moment = 1_700_000_000 + number
    os.utime(aside, (moment, moment))
    aside.rename(folder / f"{number}.json")


def expected(script: list[list[tuple[str, str, int]]], end: bool) -> list[Any]:
    """What the local runner makes of the same elements and watermarks."""
    stream = TestStream(stays_open=not end)
    for elements, watermark in zip(script, WATERMARKS, strict=False):
        stamped = [hr.window.TimestampedValue((k, n), n) for _, k, n in elements]
        stream = stream.add_elements(stamped).advance_watermark_to(watermark)
    kept = Kept()
    with hr.Pipeline() as p:
        keep_totals(p | (stream.advance_watermark_to_infinity() if end else stream), kept)
    return panes(kept)


def wait_for(found: Any, seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not found() and time.monotonic() < end:
        time.sleep(0.1)
    assert found()


def sensors(spark: SparkSession, folder: Path, label: str = "sensors") -> Any:
    schema = "sensor STRING, key STRING, second LONG"
    frame = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(folder))
    return label >> hr.io.FromDataFrame(
        frame, timestamp="second", watermark=BoundedOutOfOrderness(0), partition_by=["sensor"]
    )


def start(spark: SparkSession, home: Path, more: bool = False) -> tuple[Any, Kept, Kept]:
    """Two sources that Spark reads, of which one watches files of lines, with groupings behind each."""
    kept, lines = Kept(), Kept()
    p = hr.Pipeline(options=options(f"--checkpoint={home}/checkpoint", "--max-records-per-batch=1"))
    pairs = p | sensors(spark, home / "data") | hr.Map(attrgetter("key", "second"))
    keep_totals(pairs, kept)
    read = hr.io.ReadFromText(
        f"{(home / 'logs').as_uri()}/*.log",
        watch=True,
        timestamp=len,
        watermark=BoundedOutOfOrderness(0, idle_timeout=1),
    )
    words = p | "logs" >> read | "pair" >> hr.Map(lambda line: (line, 1))
    if more:
        others = (
            p
            | sensors(spark, home / "data", "more")
            | "no pair" >> hr.Map(lambda row: (row.key, 1))
        )
        words = (words, others) | hr.Flatten()
    windows = "of 5 seconds" >> hr.WindowInto(hr.window.FixedWindows(5))
    counts = words | windows | "count" >> hr.CombinePerKey(sum)
    _ = counts | "keep lines" >> hr.io.Write(lines)
    return p.run(), kept, lines


def wait_until(run: Any, watermark: int) -> None:
    """Wait until the sensors have come so far."""
    wait_for(lambda: run.metrics().steps["sensors"].watermark == watermark * SECOND)


def test_a_query_has_a_watermark_by_partition_is_resumed_and_drained(
    spark: SparkSession, tmp_path: Path
) -> None:
    data, logs = tmp_path / "data", tmp_path / "logs"
    logs.mkdir()
    put(data, 0)
    put(data, 1)
    (logs / "0.log").write_text("a\r\nbb\na\n")
    run, kept, lines = start(spark, tmp_path)
    wait_until(run, WATERMARKS[1])
    assert run.cancel() == "CANCELLED"
    before = panes(kept)
    assert lines.values == []

    with pytest.raises(hr.PipelineError, match="'more' was added"):
        start(spark, tmp_path, more=True)

    put(data, 2)
    run, kept, lines = start(spark, tmp_path)
    wait_until(run, WATERMARKS[2])
    put(data, 3)
    wait_until(run, WATERMARKS[3])
    assert sorted(before + panes(kept), key=repr) == expected(SCRIPT, end=False)
    (logs / "1.log").write_text("ccccccc\n")
    wait_for(lambda: lines.values == ["('a', 2)", "('bb', 1)"])
    assert run.drain() == "DONE"
    assert sorted(before + panes(kept), key=repr) == expected(SCRIPT, end=True)
    assert lines.values == ["('a', 2)", "('bb', 1)", "('ccccccc', 1)"]


# ------------------------------------------------------------------------------------------- refusals


def test_what_cannot_be_done_is_refused_with_the_label(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.range(3)
    kept = Kept()
    with hr.Pipeline() as p:  # a DataFrame that ends can be collected
        _ = p | hr.io.FromDataFrame(frame, timestamp="id") | hr.io.Write(kept)
    assert seen(kept.elements) == [(n * SECOND, repr(hr.Row(id=n))) for n in range(3)]

    stream = spark.readStream.format("rate").load()
    uri = (tmp_path / "a.txt").as_uri()
    local = [
        (hr.io.ReadFromSpark("orc"), "only Spark can read the format 'orc'"),
        (hr.io.FromDataFrame(stream), "only Spark can read this DataFrame"),
    ]
    for read, problem in local:
        with pytest.raises(hr.UnsupportedError, match=problem) as refused, hr.Pipeline() as p:
            _ = p | "the read" >> read
        assert refused.value.__notes__ == ["in the read"]
    with pytest.raises(hr.PipelineError, match="cannot be inferred"):
        hr.io.ReadFromCsv(uri)

    rate = hr.io.ReadFromSpark("rate", streaming=True)
    in_a_query: list[tuple[Any, Any, str]] = [
        (rate, hr.io.FromDataFrame(frame), "is not supported in streaming mode"),
        (rate, hr.io.ReadFromText(uri), "is not supported in streaming mode"),
        (rate, TestStream(), "cannot be combined with a test stream"),
        (rate, hr.io.ReadFromText([uri, uri], watch=True), "can watch only one pattern"),
    ]
    for one, other, problem in in_a_query:
        p = hr.Pipeline(options=options())
        _ = (p | "one" >> one, p | "other" >> other)
        with pytest.raises(hr.UnsupportedError, match=problem):
            p.run()
    p = hr.Pipeline(options=options())
    _ = p | "untimed" >> hr.io.FromDataFrame(frame, timestamp="when")
    with pytest.raises(hr.PipelineError, match="there is no column 'when'") as found:
        p.run()
    assert found.value.__notes__ == ["in untimed"]
    table = hr.io.ToDataFrame()
    with hr.Pipeline() as p:
        _ = p | hr.Create([hr.Row(a=1)]) | table
    with pytest.raises(hr.PipelineError, match="does not run on Spark"):
        table.dataframe()
