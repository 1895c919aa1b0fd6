"""Batches whose groupings Spark's plan does: the same panes, and Python only after the grouping."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

import attrs
import narwhals as nw
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st
from pyspark.sql import DataFrame, SparkSession

import headrace as hr
from headrace.runners.contents.grouping_paths import Execution
from headrace.runners.plan.planning import plan
from headrace.runners.plan.table_fields import with_table_sources
from headrace.runners.plan.table_steps import with_tables
from headrace.runners.spark import SparkRunner, batch
from headrace.runners.spark.pushdown import words as splitting
from headrace.runners.spark.pushdown.panes import (
    ELEMENT_COUNT,
    WINDOW_END,
    WINDOW_START,
    key_name,
    result_name,
)
from headrace.runners.spark.pushdown.pushing import pushed_down
from headrace.runners.spark.pushdown.required import NEEDS_ELEMENTS
from headrace.sdk.coders.stored.stable import pickle_is_refused
from headrace.sdk.elements.value_tables import WHITE_SPACE
from headrace.sdk.testing.assertions.capturing import capture
from headrace.triggers import AfterCount, Repeatedly

TYPES = {
    "word": pa.string(),
    "name": pa.string(),
    "flag": pa.bool_(),
    "day": pa.date32(),
    "tiny": pa.int8(),
    "number": pa.int64(),
    "rate": pa.float64(),
}
TIMES: dict[str, tuple[Callable[[int], Any], pa.DataType]] = {
    "double": (float, pa.float64()),
    "whole": (int, pa.int32()),
    "instant": (lambda n: datetime.fromtimestamp(n, UTC), pa.timestamp("us", "UTC")),
}
COMBINERS: dict[str, tuple[Any, Sequence[str]]] = {
    "sum": (sum, ("tiny", "number")),
    "mean": (hr.combiners.MeanCombineFn(), ("tiny", "number")),
    "least": (min, ("tiny", "number", "name", "day")),
    "largest": (max, ("tiny", "number", "name", "day")),
    "count": (hr.combiners.CountCombineFn(), (*TYPES,)),
}
WINDOWS = [
    hr.window.GlobalWindows(),
    hr.window.FixedWindows(10),
    hr.window.FixedWindows(7, offset=3),
    hr.window.SlidingWindows(10, 4, offset=1),
    hr.window.SlidingWindows(12, 4),
    hr.window.Sessions(4),
    hr.window.Sessions(9),
]
EXPRESSIONS = [
    nw.col("number") > 1,
    (nw.col("tiny") * 3 - 1 >= 2) | nw.col("flag"),
    ~nw.col("flag") & (nw.col("word") != "b"),
    nw.col("word").is_in(["a", "ß"]),
    nw.col("word").is_null() | nw.col("day").is_between(date(2026, 1, 2), date(2026, 1, 3)),
    nw.col("word") < "b",
    2 - nw.col("tiny") == nw.col("tiny") * nw.col("tiny"),
]


@attrs.frozen
class Program:
    """A drawn pipeline: a read, steps on columns, and a grouping."""

    tables: list[pa.Table]
    source: str
    steps: tuple[tuple[str, Any], ...]
    windows: Any
    keys: tuple[str, ...]
    aggregates: tuple[tuple[str, str], ...]

    def grouped(self, p: hr.Pipeline, name: str, read: Any) -> Any:
        rows = p | f"Read {name}" >> read
        for number, (kind, expression) in enumerate(self.steps):
            step = hr.Filter(expression) if kind == "filter" else hr.WithFields(flag=expression)
            rows = rows | f"{name} {number}" >> step
        windowed = rows | f"Windows {name}" >> hr.WindowInto(self.windows)
        if len(self.keys) == 1 and len(self.aggregates) == 1:
            ((field, combiner),) = self.aggregates
            pairs = windowed | f"Pairs {name}" >> hr.Map(attrgetter(self.keys[0], field))
            return pairs | f"Combine {name}" >> hr.CombinePerKey(COMBINERS[combiner][0])
        by: Any = hr.GroupBy(*self.keys)
        for number, (field, combiner) in enumerate(self.aggregates):
            by = by.aggregate_field(field, COMBINERS[combiner][0], f"r{number}")
        return windowed | f"Group {name}" >> by

    def read(self, folder: Path, spark: SparkSession | None) -> Any:
        folder.mkdir(parents=True, exist_ok=True)
        for number, table in enumerate(self.tables):
            pq.write_table(table, folder / f"{number}.parquet")
        if spark is not None and self.source == "frame":
            return hr.io.FromDataFrame(spark.read.parquet(str(folder)), timestamp="time")
        scheme = "file://" if spark is not None and self.source == "uri" else ""
        return hr.io.ReadFromParquet(f"{scheme}{folder}/*.parquet", as_rows=True, timestamp="time")


VALUES: dict[str, st.SearchStrategy[Any]] = {
    "word": st.sampled_from(["a", "b", "ß", "", "日本", None]),
    "name": st.sampled_from(["a", "ab", "ß", "", "日本", "z"]),
    "flag": st.sampled_from([True, False, None]),
    "day": st.dates(date(2026, 1, 1), date(2026, 1, 4)),
    "tiny": st.integers(-3, 3),
    "number": st.integers(-3, 3) | st.integers(2**40, 2**40 + 3),
    "rate": st.sampled_from([float("nan"), 0.5, None]),
}


@st.composite
def programs(draw: Any) -> Program:
    convert, kind = TIMES[draw(st.sampled_from(sorted(TIMES)))]
    row = st.tuples(*(VALUES[name] for name in TYPES), st.integers(0, 40))
    tables = []
    for _ in range(draw(st.integers(1, 2))):
        columns = list(zip(*draw(st.lists(row, min_size=1, max_size=12)), strict=True))
        arrays = {n: pa.array(c, t) for (n, t), c in zip(TYPES.items(), columns, strict=False)}
        tables.append(pa.table({**arrays, "time": pa.array(map(convert, columns[-1]), kind)}))
    steps = st.tuples(st.sampled_from(["filter", "field"]), st.sampled_from(EXPRESSIONS))
    combined = st.sampled_from(sorted(COMBINERS)).flatmap(
        lambda name: st.tuples(st.sampled_from(COMBINERS[name][1]), st.just(name))
    )
    return Program(
        tables,
        draw(st.sampled_from(["files", "uri", "frame"])),
        tuple(each for each in draw(st.lists(steps, max_size=2)) if _is_pushed(*each)),
        draw(st.sampled_from(WINDOWS)),
        tuple(
            draw(
                st.lists(
                    st.sampled_from(["word", "flag", "day", "tiny"]),
                    min_size=1,
                    max_size=2,
                    unique=True,
                )
            )
        ),
        tuple(draw(st.lists(combined, min_size=1, max_size=3))),
    )


def _is_pushed(kind: str, expression: Any) -> bool:
    """A null is in no list, so this expression as a field is left to Python."""
    return kind == "filter" or "is_in" not in repr(expression)


def panes(captured: Any) -> list[str]:
    return sorted(repr((e.value, e.timestamp, e.windows, e.pane)) for e in captured.elements)


def planned(p: hr.Pipeline) -> Any:
    return with_table_sources(with_tables(plan(p.graph), Execution.BATCH))


@settings(
    max_examples=2, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(drawn=st.lists(programs(), min_size=20, max_size=20))
def test_the_panes_are_those_of_the_local_runner(
    drawn: list[Program], tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> None:
    home = tmp_path_factory.mktemp("programs")
    with hr.Pipeline("spark", argv=[]) as p:
        found = captured(p, drawn, home, spark)
        assert len(pushed_down(planned(p), spark).plan.pushed) == len(drawn)
        assert isinstance(lowered(p, spark), batch.OnWorkers)
    require_same(drawn, found, home)


@settings(
    max_examples=1, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(drawn=st.lists(programs(), min_size=8, max_size=8))
def test_the_panes_of_one_grouping_are_made_on_the_driver(
    drawn: list[Program], tmp_path_factory: pytest.TempPathFactory, spark: SparkSession
) -> None:
    home = tmp_path_factory.mktemp("programs")
    found = []
    for n, each in enumerate(drawn):
        with hr.Pipeline("spark", argv=[]) as p:
            found.append(captured_one(p, each, n, home, spark))
            assert isinstance(lowered(p, spark), batch.OnDriver)
    require_same(drawn, found, home)


def captured_one(
    p: hr.Pipeline, program: Program, n: int, home: Path, spark: SparkSession | None
) -> Any:
    return capture(program.grouped(p, str(n), program.read(home / str(n), spark)), f"Panes {n}")


def captured(
    p: hr.Pipeline, drawn: list[Program], home: Path, spark: SparkSession | None
) -> list[Any]:
    return [captured_one(p, each, n, home, spark) for n, each in enumerate(drawn)]


def require_same(drawn: list[Program], found: list[Any], home: Path) -> None:
    with hr.Pipeline("local", argv=[]) as p:
        expected = captured(p, drawn, home, None)
    for program, one, other in zip(drawn, found, expected, strict=True):
        assert panes(one) == panes(other), program


SALES = pa.table(
    {"word": ["a", "b", "a", "a"], "number": [1, 2, 3, 4], "time": [0.5, 1.0, 61.0, 2.0]}
)


def sums(p: hr.Pipeline, path: Path, combiner: Any = sum, **windowing: Any) -> Any:
    read = hr.io.ReadFromParquet(str(path), as_rows=True, timestamp="time")
    rows = p | read | hr.WindowInto(hr.window.FixedWindows(60), **windowing)
    return rows | hr.GroupBy("word").aggregate_field("number", combiner, "total")


def lowered(p: hr.Pipeline, spark: SparkSession) -> batch.Lowered:
    return batch.lower(spark, 2, 0, None, pushed_down(planned(p), spark))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pq.write_table(SALES, tmp_path / "sales.parquet")
    return tmp_path / "sales.parquet"


def test_python_runs_only_after_the_grouping(file: Path, spark: SparkSession) -> None:
    p = hr.Pipeline("spark", argv=[])
    totals = sums(p, file)
    totals | hr.io.WriteToParquet(str(file.parent / "totals"))
    found = lowered(p, spark)
    assert isinstance(found, batch.OnWorkers)
    operators = operators_of(found.frame)
    assert [name for name in operators if PYTHON.search(name)] == ["MapInArrow"]
    assert operators.index("MapInArrow") < operators.index("HashAggregate")
    assert operators.count("Exchange") == 1


def test_no_worker_of_python_runs_for_sinks_of_the_driver(file: Path, spark: SparkSession) -> None:
    p = hr.Pipeline("spark", argv=[])
    capture(sums(p, file))
    found = lowered(p, spark)
    assert isinstance(found, batch.OnDriver)
    operators = operators_of(found.grouped.frame)
    assert not any(map(PYTHON.search, operators))
    assert operators.count("Exchange") == 1


def test_a_run_without_pickle_leaves_the_driver_as_it_was(file: Path) -> None:
    with hr.Pipeline("spark", argv=["--no-pickle"]) as p:
        found = capture(sums(p, file))
    assert len(found.elements) == 3
    assert not pickle_is_refused()


PYTHON = re.compile("Python|Arrow")


def operators_of(frame: DataFrame) -> list[str]:
    text = frame._jdf.queryExecution().executedPlan().toString()
    return re.findall(r"^[ +*:\-\d()]*([A-Z]\w+)", text, re.MULTILINE)


def test_a_file_of_panes_has_the_columns_of_elements(file: Path) -> None:
    written = {}
    for runner in ("local", "spark"):
        path = file.parent / runner / "totals"
        with hr.Pipeline(runner, argv=[]) as p:
            sums(p, file) | hr.io.WriteToParquet(str(path), num_shards=1)
        written[runner] = pq.read_table(path.parent).sort_by(
            [("word", "ascending"), ("total", "ascending")]
        )
    assert written["spark"] == written["local"]
    assert written["spark"].to_pylist() == [
        {"word": "a", "total": 3},
        {"word": "a", "total": 5},
        {"word": "b", "total": 2},
    ]


def test_metrics_are_those_of_the_local_runner(file: Path) -> None:
    found = []
    for runner in ("local", "spark"):
        p = hr.Pipeline(runner, argv=[])
        rows = p | hr.io.ReadFromParquet(str(file), as_rows=True, timestamp="time")
        windowed = rows | hr.WindowInto(hr.window.SlidingWindows(60, 25))
        windowed | hr.GroupBy("word").aggregate_field("number", sum, "total")
        result = p.run()
        result.wait_until_finish()
        steps = result.metrics().steps
        found.append({n: (m.elements_in, m.elements_out, m.panes) for n, m in steps.items()})
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("column", "values", "combiner"),
    [
        ("number", [2**62, 2**62, 2**62, 1], sum),
        ("number", [2**60, 2**60 + 1, 5, 1], hr.combiners.MeanCombineFn()),
        ("number", [1, None, 3, 4], max),
        ("time", [0.0, -2e12, 1.0, 2.0], sum),
    ],
)
def test_values_that_spark_cannot_hold_are_elements(
    file: Path, column: str, values: list[Any], combiner: Any
) -> None:
    place = SALES.schema.get_field_index(column)
    pq.write_table(SALES.set_column(place, column, pa.array(values)), file)
    found = []
    for runner in ("local", "spark"):
        with hr.Pipeline(runner, argv=[]) as p:
            captured = capture(sums(p, file, combiner))
        found.append(panes(captured))
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("column", "values"), [("number", [1, None, 3, 4]), ("time", [0.0, float("nan"), 1.0, 2.0])]
)
def test_errors_are_those_of_elements(file: Path, column: str, values: list[Any]) -> None:
    place = SALES.schema.get_field_index(column)
    pq.write_table(SALES.set_column(place, column, pa.array(values)), file)
    found = []
    for runner in ("local", "spark"):
        with pytest.raises(Exception, match=r".") as caught, hr.Pipeline(runner, argv=[]) as p:
            sums(p, file)
        found.append(
            (type(caught.value), str(caught.value), getattr(caught.value, "__notes__", []))
        )
    assert found[0] == found[1]


MINUTES = hr.window.FixedWindows(60)


def words(
    p: hr.Pipeline, path: Path, field: str = "word", split: Any = str.split, windows: Any = MINUTES
) -> Any:
    lines = p | hr.io.ReadFromParquet(str(path), timestamp="time") | hr.Map(itemgetter(field))
    return lines | hr.WindowInto(windows) | hr.FlatMap(split) | hr.combiners.Count.PerElement()


def texts_of(file: Path, texts: list[str]) -> None:
    times = pa.array([float(number * 7) for number in range(len(texts))])
    pq.write_table(pa.table({"word": texts, "time": times}), file)


PLAIN = ["a b", "", " ", "  a  b "]
OTHERS = [f"a{space}b {space}c" for space in WHITE_SPACE]
OTHERS += ["\t", "a\tb\ta \ta\tb\n", "a\u200bb", "ß 日本\x00"]


@pytest.mark.parametrize(
    "windows",
    [MINUTES, hr.window.SlidingWindows(60, 25), hr.window.GlobalWindows(), hr.window.Sessions(8)],
    ids=lambda windows: type(windows).__name__,
)
@pytest.mark.parametrize("where", [batch.OnDriver, batch.OnWorkers])
def test_spark_splits_text_as_python_does(
    file: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, windows: Any, where: type
) -> None:
    monkeypatch.setattr(splitting, "FIRST_TEXTS", len(PLAIN))
    texts_of(file, PLAIN + OTHERS)
    found = []
    for runner, split in (("local", lambda text: text.split()), ("spark", str.split)):
        p = hr.Pipeline(runner, argv=[])
        counts = words(p, file, split=split, windows=windows)
        captured = capture(counts if where is batch.OnDriver else counts | hr.Map(tuple))
        if runner == "spark":
            (frame,) = pushed_down(planned(p), spark).frames
            assert isinstance(lowered(p, spark), where)
            merging = isinstance(windows, hr.window.Sessions)
            assert frame.at_blanks is (where is batch.OnDriver and not merging)
        steps = p.run().metrics().steps
        counted = [(m.elements_in, m.elements_out) for n, m in steps.items() if "Count" in n]
        found.append((panes(captured), counted))
    assert found[0] == found[1]


@settings(deadline=None)
@given(st.lists(st.tuples(st.text([*WHITE_SPACE, "a", "b"]), st.sampled_from([0, 60]))))
def test_words_of_any_text_are_split_again(elements: list[tuple[str, int]]) -> None:
    at_blanks = Counter((w, start) for text, start in elements for w in text.split(" ") if w)
    rows = [(word, start, start + 60, n, n) for (word, start), n in at_blanks.items()]
    names = [key_name(0), WINDOW_START, WINDOW_END, result_name(0), ELEMENT_COUNT]
    types = [pa.string(), *[pa.int64()] * 4]
    counts = pa.Table.from_pylist(
        [dict(zip(names, row, strict=True)) for row in rows],
        schema=pa.schema(list(zip(names, types, strict=True))),
    )
    found = [
        tuple(row[name] for name in names) for row in splitting.split_again(counts).to_pylist()
    ]
    expected = Counter((word, start) for text, start in elements for word in text.split())
    assert sorted(found) == sorted((w, at, at + 60, n, n) for (w, at), n in expected.items())


@pytest.mark.parametrize(
    ("texts", "at_blanks"), [(PLAIN, True), (["a b", "c\td"], False), (["a\xa0b"], False)]
)
def test_text_is_split_at_blanks_if_it_begins_so(
    file: Path, spark: SparkSession, texts: list[str], at_blanks: bool
) -> None:
    texts_of(file, texts)
    p = hr.Pipeline("spark", argv=[])
    capture(words(p, file))
    (frame,) = pushed_down(planned(p), spark).frames
    assert frame.at_blanks is at_blanks


def test_the_driver_does_not_split_many_words_again(
    file: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(splitting, "FIRST_TEXTS", len(PLAIN))
    monkeypatch.setattr(splitting, "MOST_WORDS", 1)
    texts_of(file, PLAIN + OTHERS)
    found = []
    for runner in ("local", "spark"):
        with hr.Pipeline(runner, argv=[]) as p:
            captured = capture(words(p, file, windows=hr.window.GlobalWindows()))
        found.append(panes(captured))
    (frame,) = pushed_down(planned(p), spark).frames
    with pytest.raises(Exception, match=NEEDS_ELEMENTS):
        frame.collected()
    assert found[0] == found[1]


@pytest.mark.parametrize("values", [["a", None], [1, 2]])
def test_what_is_not_text_has_the_error_of_elements(file: Path, values: list[Any]) -> None:
    pq.write_table(pa.table({"word": values, "time": [0.5, 1.0]}), file)
    found = []
    for runner in ("local", "spark"):
        with pytest.raises(TypeError, match="'split'") as caught, hr.Pipeline(runner, argv=[]) as p:
            words(p, file)
        found.append((str(caught.value), caught.value.__notes__))
    assert found[0] == found[1]


EARLIEST = hr.window.TimestampCombiner.OUTPUT_AT_EARLIEST
EACH = {
    "trigger": Repeatedly(AfterCount(1)),
    "accumulation_mode": hr.AccumulationMode.DISCARDING,
}


def unlike(files: Path) -> Any:
    """Files whose columns have other types."""
    pq.write_table(SALES.set_column(1, "number", pa.array([0.5, 1, 2, 3])), files / "other.parquet")
    return hr.io.ReadFromParquet(f"{files}/*.parquet", as_rows=True, timestamp="time")


def with_another_case(path: Path) -> Path:
    """A file with a column more, whose name differs by case from that of another column."""
    pq.write_table(SALES.append_column("Number", SALES["number"]), path)
    return path


@pytest.mark.parametrize(
    "build",
    [
        lambda p, path: sums(p, path, hr.combiners.ToListCombineFn()),
        lambda p, path: sums(p, path, **EACH),
        lambda p, path: sums(p, path, timestamp_combiner=EARLIEST),
        lambda p, path: (
            p | unlike(path.parent) | hr.Map(attrgetter("word", "number")) | hr.CombinePerKey(sum)
        ),
        lambda p, path: (
            p
            | hr.io.ReadFromParquet(str(path), as_rows=True)
            | hr.Filter(nw.col("time") / 2 > 1)
            | hr.Map(attrgetter("word", "number"))
            | hr.CombinePerKey(sum)
        ),
        lambda p, path: (
            p
            | hr.io.ReadFromParquet(str(path), as_rows=True)
            | hr.Map(attrgetter("time", "number"))
            | hr.CombinePerKey(sum)
        ),
        lambda p, path: sums(p, with_another_case(path)),
    ],
    ids=["combiner", "trigger", "time", "files", "expression", "key", "case"],
)
def test_what_spark_does_in_another_way_stays_in_python(
    build: Any, file: Path, spark: SparkSession
) -> None:
    p = hr.Pipeline("spark", argv=[])
    build(p, file)
    assert pushed_down(planned(p), spark).plan.pushed == frozenset()


def works_on(p: hr.Pipeline) -> list[str]:
    return re.findall(r"works on: (.*)", hr.explain(p))


def test_the_plan_says_what_spark_does(file: Path, spark: SparkSession) -> None:
    runner = SparkRunner(spark)
    p = hr.Pipeline(runner, argv=[])
    sums(p, file)
    assert works_on(p) == ["columns of Spark's plan"] * 4
    assert "Level 1" not in hr.explain(p)
    p = hr.Pipeline(runner, argv=[])
    sums(p, file, hr.combiners.ToListCombineFn())
    (why,) = [text for text in works_on(p) if "because" in text]
    assert why.startswith("columns in Python, because ToListCombineFn")
