"""The bank on Structured Streaming, as far as it can express it.

Spark refuses the program itself: a join of two aggregations whose results are not final (:func:`refusal`).
Two other programs come closest. In the one, credits and debits are queries of their own, and the reader joins
their tables. In the other there is no join: each transfer becomes two changes of balances, and one
aggregation adds them up.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import sqlalchemy as sa
from pyarrow import parquet
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, functions as F

from benchmarks.bank.account_table import AccountTable
from benchmarks.bank.outcome import Outcome
from benchmarks.bank.outside import looking
from benchmarks.bank.reader import Reader
from benchmarks.bank.transfers import PARTITIONS, Bank
from headrace.sdk.io.table.database import engine_of

SCHEMA = "payer long, payee long, amount long, at double"

BALANCES = """create view balances as
select coalesce(c.account, d.account) as account, coalesce(credit, 0) - coalesce(debit, 0) as balance
from credits c full join debits d on c.account = d.account"""


def write_files(bank: Bank, directory: Path, per_batch: int) -> None:
    """Write a file for each batch."""
    size = per_batch // PARTITIONS
    for number, start in enumerate(range(0, bank.per_partition, size)):
        rows = [t for n in range(PARTITIONS) for t in bank.read(n, start, start + size)]
        columns = dict(
            zip(("payer", "payee", "amount", "at"), zip(*rows, strict=True), strict=True)
        )
        parquet.write_table(pa.table(columns), directory / f"{number:06}.parquet")


def refusal(spark: SparkSession, directory: Path) -> str:
    """Return the error with which Spark refuses the join of credits and debits."""
    transfers = _transfers(spark, directory)
    both = _credits(transfers).join(_debits(transfers), "account", "full_outer")
    writer = both.writeStream.outputMode("update").format("noop")
    try:
        writer.start().stop()
    except AnalysisException as error:
        return str(error.getMessage())
    raise AssertionError("Spark now runs this program: measure it")


def two_queries(spark: SparkSession, directory: Path, bank: Bank, url: str) -> Outcome:
    """Run a query for the credits and one for the debits; the balances are a view of both tables."""

    def start(reader: Reader, home: Path) -> list[Any]:
        transfers = _transfers(spark, directory)
        sides = {"credit": _credits(transfers), "debit": _debits(transfers)}
        tables = {side: AccountTable(url, f"{side}s", side) for side in sides}
        with engine_of(url).begin() as connection:
            connection.execute(sa.text(BALANCES))
        return [_start(sides[side], tables[side], reader, home / side) for side in sides]

    return _run(start, directory, bank, url)


def one_aggregation(spark: SparkSession, directory: Path, bank: Bank, url: str) -> Outcome:
    """Run the program without a join."""

    def start(reader: Reader, home: Path) -> list[Any]:
        transfers = _transfers(spark, directory)
        changes = F.array(
            F.struct(F.col("payee").alias("account"), F.col("amount")),
            F.struct(F.col("payer").alias("account"), (-F.col("amount")).alias("amount")),
        )
        entries = transfers.select(F.explode(changes).alias("change")).select("change.*")
        balances = entries.groupBy("account").agg(F.sum("amount"))
        table = AccountTable(url, "balances", "balance")
        return [_start(balances, table, reader, home / "balances")]

    return _run(start, directory, bank, url)


def _run(
    start: Callable[[Reader, Path], list[Any]], directory: Path, bank: Bank, url: str
) -> Outcome:
    reader = Reader(url)
    with looking(url) as outside:
        started = time.monotonic()
        with _stopped(start(reader, directory.with_name(f"checkpoints-{time.time_ns()}"))) as all:
            for query in all:
                query.processAllAvailable()
        seconds = time.monotonic() - started
    return Outcome.of(bank, False, seconds, reader, outside)


@contextmanager
def _stopped(queries: list[Any]) -> Iterator[list[Any]]:
    try:
        yield queries
    finally:
        for query in queries:
            query.stop()


def _transfers(spark: SparkSession, directory: Path) -> DataFrame:
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(directory))


def _credits(transfers: DataFrame) -> DataFrame:
    return transfers.groupBy(F.col("payee").alias("account")).agg(F.sum("amount").alias("credit"))


def _debits(transfers: DataFrame) -> DataFrame:
    return transfers.groupBy(F.col("payer").alias("account")).agg(F.sum("amount").alias("debit"))


def _start(numbers: DataFrame, table: AccountTable, reader: Reader, checkpoint: Path) -> Any:
    def write(batch: DataFrame, _: int) -> None:
        table.write(dict(map(tuple, batch.collect())))
        reader.look()

    writer = numbers.writeStream.outputMode("update").foreachBatch(write)
    return writer.option("checkpointLocation", str(checkpoint)).start()
