"""The benchmark of Nexmark: queries on columns, sources, sinks, and the check of each answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import nexmark.generator
import pytest
from nexmark.columns import COLUMN_QUERIES
from nexmark.generator import Config
from nexmark.job import Query, current

import headrace as hr
from benchmarks.answers import WrongAnswerError
from benchmarks.nexmark.runs import Answers, Speed, Speeds, System
from benchmarks.nexmark.section import fastest, ratios_table, speeds_table, streaming
from benchmarks.nexmark.sinks import DeltaTables, Nowhere, Stored, Topics
from benchmarks.nexmark.sources import Files, InMemory, Source, Topic
from headrace.options.pipeline_options import PipelineOptions
from tests.docs.examples.nexmark_oracle import ANSWERS, House
from tests.docs.examples.test_nexmark import CONFIG, check_counts_by_the_clock
from tests.support.services import kafka

pytestmark = pytest.mark.slow

FEWER = attrs.evolve(CONFIG, events=1_000)
STREAMING = ("--streaming", "--max-records-per-batch=200")


@pytest.mark.parametrize("flags", [(), ("--streaming", "--max-records-per-batch=500")])
def test_queries_on_columns_answer_what_plain_python_does(
    flags: tuple[str, ...], tmp_path: Path
) -> None:
    check_columns(tmp_path, *flags)


def check_columns(directory: Path, *flags: str) -> None:
    source = Files.written(CONFIG, directory / "events")
    with hr.Pipeline(options=PipelineOptions(list(flags))) as pipeline:
        bids = source.bids(pipeline)
        for number in COLUMN_QUERIES:
            bids | f"Query {number}" >> Query(number, directory, COLUMN_QUERIES)
    house = House(nexmark.generator.events(CONFIG))
    for number in COLUMN_QUERIES.keys() & ANSWERS.keys():
        assert current(directory, number) == ANSWERS[number](house), number
    check_counts_by_the_clock(directory, house)


def test_groupings_of_the_queries_work_on_columns(tmp_path: Path) -> None:
    source = Files.written(FEWER, tmp_path)
    for number in (5, 11, 12, 17):
        pipeline = hr.Pipeline(options=PipelineOptions([]))
        _ = pipeline | f"Query {number}" >> OnColumns(number, source)
        assert "    works on: columns\n" in hr.explain(pipeline), number
        pipeline.run()


class OnColumns(hr.PTransform):
    def __init__(self, number: int, source: Files) -> None:
        super().__init__()
        self.number = number
        self.source = source

    def expand(self, pbegin: Any) -> hr.PCollection[hr.Row]:
        return COLUMN_QUERIES[self.number](self.source.bids(pbegin.pipeline))


def right(
    number: int, source: Source, target: Stored | Nowhere, *flags: str, on_columns: bool = False
) -> Speed:
    system = System("here", flags, on_columns)
    return system.speed(number, FEWER, source, target, Answers(FEWER))


@pytest.mark.parametrize("flags", [(), STREAMING])
def test_results_of_events_in_kafka_arrive_in_kafka_and_delta(
    flags: tuple[str, ...], kafka_broker: kafka.Broker, tmp_path: Path
) -> None:
    address, name = kafka_broker.address, f"nexmark-{len(flags)}"
    events = Topic.written(FEWER, address, name)
    right(7, events, Topics(address, name), *flags)
    right(17, events, DeltaTables(str(tmp_path)), *flags)
    right(2, events, Nowhere(), *flags, on_columns=True)


def test_each_source_has_the_same_events(tmp_path: Path) -> None:
    for source in (InMemory(FEWER), Files.written(FEWER, tmp_path)):
        for number in (0, 10, 12, 21):
            assert right(number, source, Nowhere(), *STREAMING).events == 1_000


def test_another_answer_than_that_of_plain_python_is_an_error() -> None:
    other = Config(**{**attrs.asdict(FEWER), "seed": 2})
    for number in (4, 10, 12):
        with pytest.raises(WrongAnswerError, match=f"query {number} on here"):
            System("here", ()).speed(number, other, InMemory(other), Nowhere(), Answers(FEWER))


def test_tables_have_the_events_of_a_core_and_ratios_to_published_figures() -> None:
    speeds: Speeds = {
        "local streaming": {4: Speed(100_000, 9.0, 10.0), 14: Speed(100_000, 9.0, 2.5)}
    }
    assert speeds_table(speeds).splitlines()[2:] == ["| q4 | 10.0 |", "| q14 | 40.0 |"]
    assert ratios_table(speeds).splitlines()[2:] == [
        "| q4 | 5.9 | 31.3 | 264.6 | 1.71 | 0.32 | 0.04 |",
        "| q14 |  | 137.0 | 428.7 |  | 0.29 | 0.09 |",
    ]


def test_ratios_are_those_of_the_faster_version_of_a_query() -> None:
    slow, fast = Speed(100_000, 1.0, 10.0), Speed(100_000, 1.0, 5.0)
    speeds: Speeds = {
        "Spark batch": {4: fast, 12: fast},
        "Spark streaming": {4: slow, 5: fast, 12: slow},
        "Spark streaming, columns": {5: slow, 12: fast},
    }
    assert fastest(streaming(speeds)) == {"Spark": {4: slow, 5: fast, 12: fast}}
