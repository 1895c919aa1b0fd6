"""Queries of Beam's Nexmark, as they are in the wheel, answer what plain Python does.

Query 6 fails on Beam's own runners, too: it negates a timestamp, which Beam's timestamps cannot.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("apache_beam", reason="Nexmark is in Beam's wheel")

import apache_beam as beam
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.runners.direct.direct_runner import BundleBasedDirectRunner
from apache_beam.testing import test_stream
from apache_beam.testing.util import assert_that
from apache_beam.transforms.window import GlobalWindows, TimestampedValue
from apache_beam.utils.timestamp import Timestamp
from nexmark.generator import arrivals

from headrace.beam import HeadraceRunner
from tests.beam.nexmark import answers
from tests.beam.nexmark.checks import CONFIG, UNSAFE, expectation, shape
from tests.docs.examples.nexmark_oracle import House

pytestmark = pytest.mark.filterwarnings("ignore")

NEXMARK = "apache_beam.testing.benchmarks.nexmark"

QUERIES = [number for number in range(13) if number != 6]

SIZE = 200
"""Events between two watermarks of the stream."""


def _module(name: str) -> Any:
    return importlib.import_module(f"{NEXMARK}.{name}")


@pytest.fixture(scope="module", autouse=True)
def coders() -> None:
    """Beam's launcher registers these coders, too."""
    _module("nexmark_util").setup_coder()


def lines() -> Iterator[Any]:
    """Return the events as lines of JSON with their timestamps, in order of arrival."""
    for event in arrivals(CONFIG, 0):
        line = json.dumps(answers.to_json(event))
        yield TimestampedValue(line, Timestamp(micros=event.time * 1000))


def stream() -> Any:
    """Return the events as a stream, whose watermark trails by 2 seconds."""
    script, rest = test_stream.TestStream(), list(lines())
    while rest:
        script.add_elements(rest[:SIZE])
        newest = max(stamped.timestamp for stamped in rest[:SIZE])
        del rest[:SIZE]
        script.advance_watermark_to(newest - 2)
    return script.advance_watermark_to_infinity()


def build(pipeline: Any, numbers: list[int], house: House, *, streaming: bool) -> None:
    """Build queries, each with a check of its results."""
    arriving = stream() if streaming else beam.Create(list(lines()))
    found = pipeline | arriving | beam.ParDo(_module("nexmark_util").ParseJsonEventFn())
    for number in numbers:
        query = _module(f"queries.query{number}")
        results = found | f"Query {number}" >> Loaded(query)
        shaped = results | f"Shape {number}" >> beam.Map(shape(number, beam.DoFn.PaneInfoParam))
        everything = shaped | f"Together {number}" >> beam.WindowInto(GlobalWindows())
        assert_that(everything, expectation(number, house), label=f"Check {number}")


class Loaded(beam.PTransform):
    """A query of the wheel."""

    def __init__(self, query: Any) -> None:
        super().__init__()
        self.query = query

    def expand(self, found: Any) -> Any:
        return self.query.load(found, answers.ARGS, PipelineOptions([]))


def answer(
    numbers: list[int], house: House, *, streaming: bool, runner: str = "local", flags: Any = ()
) -> None:
    """Run queries on a runner, and check their answers."""
    options = PipelineOptions([*UNSAFE, *flags], streaming=streaming)
    with beam.Pipeline(runner=HeadraceRunner(runner), options=options) as pipeline:
        build(pipeline, numbers, house, streaming=streaming)


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "streaming"])
@pytest.mark.parametrize("number", QUERIES)
def test_answers_are_those_of_plain_python(number: int, streaming: bool, house: House) -> None:
    answer([number], house, streaming=streaming)


def test_the_checks_can_fail(house: House) -> None:
    fewer = House(house.events[:-500])
    for number in (4, 12):
        with pytest.raises(AssertionError, match="than those of plain Python"):
            answer([number], fewer, streaming=False)


@pytest.mark.parametrize("runner", [BundleBasedDirectRunner, HeadraceRunner])
def test_query_6_fails_in_its_own_code_on_each_runner(runner: Any, house: House) -> None:
    pipeline = beam.Pipeline(runner=runner())
    build(pipeline, [6], house, streaming=False)
    with pytest.raises(TypeError, match="bad operand type for unary -: 'Timestamp'"):
        pipeline.run().wait_until_finish()


def test_the_launcher_runs_all_queries(launched: Any, house: House) -> None:
    written = launched(
        _module("nexmark_launcher"), QUERIES, ["--runner=headrace.beam.HeadraceRunner"]
    )
    for number in set(written) - {7, 10, 12}:
        assert written[number] == getattr(answers, f"q{number}")(house).total(), number


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize(
    "streaming",
    [
        pytest.param(False, id="batch"),
        # `make test` runs streams of the queries with the import swapped
        pytest.param(True, id="streaming", marks=pytest.mark.chaos),
    ],
)
@pytest.mark.usefixtures("spark")
def test_answers_on_spark(streaming: bool, house: House) -> None:
    """The queries, in one pipeline."""
    flags = ["--key_groups=2", "--batch_seconds=0"]
    answer(QUERIES, house, streaming=streaming, runner="spark", flags=flags)
