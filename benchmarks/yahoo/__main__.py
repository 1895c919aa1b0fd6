"""Measure the Yahoo streaming benchmark at some rates: ``python -m benchmarks.yahoo``.

Starts a Kafka broker and a Redis server of its own. Each system gets the rates in rising order, until its
latency grows beyond a window.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from benchmarks.yahoo import in_headrace, report
from benchmarks.yahoo.measuring import Measured, Start, measure
from benchmarks.yahoo.stored_counts import CountStore
from tests.support.repository import ROOT
from tests.support.services import kafka, redis

SPARK_FLAGS = ["--spark-master=local[2]", "--spark-conf=spark.ui.enabled=false"]
RATES = [1_000, 5_000, 10_000, 20_000, 40_000]


def main() -> None:
    """Measure, and write the section."""
    args = _arguments()
    found: dict[str, list[Measured]] = {}
    with kafka.broker(auto_create=False) as broker, redis.server() as server:
        store = CountStore(server.url)
        for name in args.system:
            with SYSTEMS[name](broker.address, server.url) as start:
                found[name] = list(
                    _measured(name, start, broker.address, store, args.rate, args.seconds)
                )
    print(report.table(found))
    if args.write:
        report.write(found)


def _measured(
    name: str, start: Start, address: str, store: CountStore, rates: list[int], seconds: int
) -> Iterator[Measured]:
    for rate in rates:
        measured = measure(start, address, store, rate, seconds)
        print(f"{name}: {measured}", file=sys.stderr, flush=True)
        yield measured
        if not measured.is_bounded:
            return


@contextmanager
def _local(address: str, redis_url: str) -> Iterator[Start]:
    yield partial(in_headrace.running, address, redis_url, ["--runner=local"])


@contextmanager
def _spark(address: str, redis_url: str) -> Iterator[Start]:
    with _session():
        yield partial(in_headrace.running, address, redis_url, ["--runner=spark"])


@contextmanager
def _structured_streaming(address: str, redis_url: str) -> Iterator[Start]:
    from benchmarks.yahoo.in_structured_streaming import start

    with _session() as spark:

        @contextmanager
        def running(topic: str) -> Iterator[Any]:
            query = start(spark, address, topic, redis_url)
            try:
                yield query
            finally:
                query.stop()

        yield running


@contextmanager
def _session() -> Iterator[Any]:
    """A session with Spark's source of Kafka, for both programs that need one."""
    from headrace.options.pipeline_options import PipelineOptions
    from headrace.runners.spark.cluster.session import prepare

    jars = ROOT / "out" / "kafka-connector"
    kafka.fetch_once(kafka.CONNECTOR, jars, alone=True)
    conf = f"--spark-conf=spark.jars={','.join(map(str, sorted(jars.glob('*.jar'))))}"
    spark = prepare(PipelineOptions([*SPARK_FLAGS, conf])).spark
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    try:
        yield spark
    finally:
        spark.stop()


System = Callable[[str, str], Any]
SYSTEMS: dict[str, System] = {
    "Headrace, local": _local,
    "Headrace, Spark": _spark,
    "Structured Streaming": _structured_streaming,
}


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--system", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    add("--rate", nargs="+", type=int, default=RATES, help="events per second, in rising order")
    add("--seconds", type=int, default=60, help="for how long a rate is measured")
    add("--write", action="store_true", help="write the section of the page of benchmarks")
    return parser.parse_args()


if __name__ == "__main__":
    main()
