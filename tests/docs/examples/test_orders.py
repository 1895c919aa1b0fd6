"""Hourly revenue: the tables equal plain Python before and after the cancellations, with real servers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from orders import __main__ as program, tables, topics
from orders.answers import revenue
from orders.events import Events, events
from orders.job import build

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from tests.faults.days import by_day
from tests.support.services import kafka, postgres

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not kafka.is_installed(), reason=kafka.NOT_INSTALLED),
    pytest.mark.skipif(postgres.binaries() is None, reason=postgres.NOT_INSTALLED),
]

SPARK = ["--runner=spark", "--key-groups=2", "--batch-seconds=0"]


@pytest.fixture
def brokers() -> Iterator[str]:
    """A broker of its own, since the topics have fixed names."""
    with kafka.broker(auto_create=False) as started:
        yield started.address


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with postgres.running() as url:
        yield url


@pytest.fixture
def database(server: str) -> str:
    """A new database."""
    name = f"orders_{uuid4().hex[:8]}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"create database {name}")  # type: ignore[call-overload]
    return f"{server.rpartition('/')[0]}/{name}"


def check_stream(brokers: str, database: str, table: Path, *flags: str) -> None:
    assert program.run(brokers, database, table, events(), list(flags)) == 0


def check_batch(brokers: str, database: str, table: Path, *flags: str) -> None:
    told: Events = events()
    topics.create(brokers)
    topics.send(brokers, told.orders, told.payments)
    topics.send(brokers, told.cancellations)
    with hr.Pipeline(options=PipelineOptions(list(flags))) as pipeline:
        build(pipeline, brokers, table, database, stop="now")
    expected = revenue([*told.orders, *told.cancellations], told.payments)
    assert tables.in_delta(table) == tables.in_postgres(database) == expected


def test_cancellations_correct_the_tables_of_a_stream(
    brokers: str, database: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check_stream(brokers, database, tmp_path / "revenue")
    assert capsys.readouterr().out.count("all equal") == 4


def test_a_batch_has_the_corrected_result(brokers: str, database: str, tmp_path: Path) -> None:
    check_batch(brokers, database, tmp_path / "revenue")


@by_day(9)
@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("check", [check_stream, check_batch])
def test_the_same_on_spark(check, brokers: str, database: str, tmp_path: Path) -> None:
    check(brokers, database, tmp_path / "revenue", *SPARK)
