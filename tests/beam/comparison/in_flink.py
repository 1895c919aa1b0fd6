"""The programs in Flink, with PyFlink: the DataStream API where it can, else SQL.

``python -m tests.beam.comparison.in_flink`` prints the answers as JSON. It runs in an environment of its own.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
from pyflink import version
from pyflink.common import Configuration, Time
from pyflink.datastream import OutputTag, StreamExecutionEnvironment
from pyflink.datastream.functions import ProcessWindowFunction
from pyflink.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
)
from pyflink.table import StreamTableEnvironment
from pyflink.table.types import RowKind

from tests.beam.comparison.questions import (
    DROPPED,
    LATENESS,
    MINUTE,
    QUESTIONS,
    Answer,
    Change,
    Sale,
    minute_of,
    session_of,
)

SETTINGS = {
    "table.local-time-zone": "UTC",
    "python.executable": sys.executable,
    "python.client.executable": sys.executable,
    "python.fn-execution.bundle.size": "1",  # else Python sees the late sale and the watermark at once
}

SALES = """CREATE TEMPORARY TABLE sales (
    who STRING, amount BIGINT, `second` BIGINT,
    t AS TO_TIMESTAMP_LTZ(`second` * 1000, 3), WATERMARK FOR t AS t
) WITH ('connector' = 'filesystem', 'path' = 'file://{path}', 'format' = 'json')"""

SUMS = "SELECT `second` / 60 AS m, who, SUM(amount) AS s FROM sales GROUP BY `second` / 60, who"
WINDOWS = "TABLE(TUMBLE(TABLE sales, DESCRIPTOR(t), INTERVAL '60' SECOND))"
WINDOW_SUMS = f"""SELECT window_start, window_end, who, SUM(amount) AS s
    FROM {WINDOWS} GROUP BY window_start, window_end, who"""

IN_SQL = "in SQL without windows"


class Sum(ProcessWindowFunction):  # type: ignore[misc]
    """Emits the sum of a key and window, with the bounds of the window in seconds."""

    def process(self, key: str, context: Any, elements: Iterable[Any]) -> Iterable[Any]:
        window = context.window()
        yield key, window.start // 1000, window.end // 1000, sum(row[1] for row in elements)


@attrs.frozen
class Job:
    """A table environment over the sales of a question."""

    tables: StreamTableEnvironment

    def query(self, sql: str) -> list[Change]:
        """Run a query of four columns: the minute, a word, what is counted, and the value."""
        with self.tables.execute_sql(sql).collect() as rows:
            return [
                Change(_diff(row.get_row_kind()), f"minute {row[0]} {row[1]}", row[2])
                for row in rows
            ]

    def keyed(self) -> Any:
        """Return the sales as a keyed stream with event time."""
        rows = self.tables.sql_query("SELECT who, amount, t FROM sales")
        return self.tables.to_data_stream(rows).key_by(lambda row: row[0])

    def minutes(self) -> Any:
        """Return the sales in windows of a minute."""
        return self.keyed().window(TumblingEventTimeWindows.of(Time.seconds(MINUTE)))


def chain(job: Job) -> Answer:
    """Group window results again, by the window."""
    sql = f"""SELECT {_minute("window_start")}, CONCAT('sum ', CAST(s AS STRING)), COUNT(*)
        FROM ({WINDOW_SUMS}) GROUP BY window_start, window_end, s"""
    return Answer(tuple(job.query(sql)))


def early(job: Job) -> Answer:
    """Fire at each element."""
    return Answer(_sums(job.minutes().trigger(CountTrigger.of(1))))


def late(job: Job) -> Answer:
    """Allow lateness."""
    return Answer(_sums(job.minutes().allowed_lateness(LATENESS * 1000)))


def late_output(job: Job) -> Answer:
    """Send late data to a side output."""
    rows = job.tables.to_data_stream(job.tables.sql_query("SELECT who, amount, t FROM sales"))
    tag = OutputTag("late", rows.get_type())
    windows = rows.key_by(lambda row: row[0]).window(
        TumblingEventTimeWindows.of(Time.seconds(MINUTE))
    )
    sums = windows.side_output_late_data(tag).process(Sum())
    dropped = sums.get_side_output(tag).map(lambda row: (row[0], None, None, row[1]))
    both = sums.union(dropped).execute_and_collect()
    return Answer(
        tuple(
            _by_minute(*row) if row[1] is not None else Change(1, f"{DROPPED} {row[0]}", row[3])
            for row in both
        )
    )


def regroup(job: Job) -> Answer:
    """Group the sums again: SQL without windows has a changelog, and keeps each key."""
    sql = f"SELECT m, CONCAT('sum ', CAST(s AS STRING)), COUNT(*) FROM ({SUMS}) GROUP BY m, s"
    return Answer(tuple(job.query(sql)), note=IN_SQL)


def sessions(job: Job) -> Answer:
    """Merge sessions that have fired, within the allowed lateness."""
    windows = job.keyed().window(EventTimeSessionWindows.with_gap(Time.seconds(MINUTE)))
    rows = windows.allowed_lateness(LATENESS * 1000).process(Sum()).execute_and_collect()
    return Answer(
        tuple(Change(1, f"{session_of(start, end)} {who}", s) for who, start, end, s in rows)
    )


PROGRAMS: tuple[Callable[[Job], Answer], ...] = (
    chain,
    early,
    late,
    late_output,
    regroup,
    sessions,
)


def _sums(windows: Any) -> tuple[Change, ...]:
    return tuple(_by_minute(*row) for row in windows.process(Sum()).execute_and_collect())


def _by_minute(who: str, start: int, _end: int, amount: int) -> Change:
    return Change(1, f"{minute_of(start)} {who}", amount)


def _minute(column: str) -> str:
    return f"EXTRACT(MINUTE FROM {column})"


def _diff(kind: Any) -> int:
    return 1 if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER) else -1


def job(sales: Iterable[Sale], directory: Path) -> Job:
    """Return a job over a file of sales, in order: one slot, one watermark."""
    file = directory / "sales.json"
    file.write_text("".join(json.dumps(sale._asdict()) + "\n" for sale in sales))
    settings = Configuration()
    for name, value in SETTINGS.items():
        settings.set_string(name, value)
    environment = StreamExecutionEnvironment.get_execution_environment(settings)
    environment.set_parallelism(1)
    tables = StreamTableEnvironment.create(environment)
    tables.execute_sql(SALES.format(path=file))
    return Job(tables)


def answers() -> dict[str, Answer]:
    """Run all programs."""
    found = {}
    questions = {question.name: question for question in QUESTIONS}
    for program in PROGRAMS:
        with tempfile.TemporaryDirectory() as directory:
            sales = questions[program.__name__].sales
            found[program.__name__] = program(job(sales, Path(directory)))
    return found


if __name__ == "__main__":
    as_data = {name: attrs.asdict(answer, recurse=False) for name, answer in answers().items()}
    print(json.dumps({"version": version.__version__, "answers": as_data}))
