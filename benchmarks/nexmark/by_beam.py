"""The queries of Beam's wheel, unchanged, on any runner of Beam: its own local one, or Headrace's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import apache_beam as beam
import attrs
from apache_beam.metrics.metric import Metrics, MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.window import TimestampedValue
from apache_beam.utils.timestamp import Timestamp

from benchmarks.answers import WrongAnswerError
from benchmarks.nexmark.digest import digest, weight
from benchmarks.nexmark.runs import Speed, timed
from nexmark.generator import Config, arrivals, events
from tests.beam.nexmark import answers
from tests.beam.nexmark.checks import UNSAFE, shape
from tests.docs.examples.nexmark_oracle import House

NEXMARK = "apache_beam.testing.benchmarks.nexmark"

QUERIES = [0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12]
"""Query 6 fails in its own code on each runner, and query 10 writes nothing."""

DIGEST = "digest"
PART = 10_000
LINES: list[Any] = []
"""The events as text: a global, since a Create of them would infer the type of each."""


@attrs.frozen(eq=False)
class WheelOnRunner:
    """The queries of the wheel on a runner, in batch mode.

    Attributes:
        name: as in the tables.
        runner: the runner.
    """

    name: str
    runner: Any

    def speed(self, number: int, config: Config, house: House) -> Speed:
        """Run a query and check its answer.

        Raises:
            WrongAnswerError: the answer is not that of plain Python.
        """
        speed, result = timed(config.events, lambda: self._run(number))
        if _found(result) != _expected(number, house):
            raise WrongAnswerError(f"query {number} of Beam's wheel on {self.name}")
        return speed

    def _run(self, number: int) -> Any:
        options = PipelineOptions(UNSAFE)
        pipeline = beam.Pipeline(runner=self.runner, options=options)
        starts = list(range(0, len(LINES), PART))
        lines = pipeline | beam.Create(starts, reshuffle=False) | "Read" >> beam.FlatMap(_part)
        found = lines | beam.ParDo(import_module(f"{NEXMARK}.nexmark_util").ParseJsonEventFn())
        query = import_module(f"{NEXMARK}.queries.query{number}")
        results = query.load(found, answers.ARGS, options)
        shaped = results | "Shape" >> beam.Map(shape(number, beam.DoFn.PaneInfoParam))
        _ = shaped | "Digest" >> beam.ParDo(Digest(number))
        result = pipeline.run()
        result.wait_until_finish()
        return result


class Digest(beam.DoFn):
    """Adds to the digest in the metrics."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.counter = Metrics.counter("nexmark", DIGEST)

    def process(self, element: Any) -> None:
        """Add a result."""
        self.counter.inc(weight(self.number, tuple(element)))


def prepare(config: Config) -> House:
    """Make the events, and return what happened in the auctions."""
    import_module(f"{NEXMARK}.nexmark_util").setup_coder()
    LINES[:] = [_line(e) for n in range(config.partitions) for e in arrivals(config, n)]
    return House(events(config))


def _line(event: Any) -> Any:
    return TimestampedValue(json.dumps(answers.to_json(event)), Timestamp(micros=event.time * 1000))


def _part(start: int) -> Iterator[Any]:
    yield from LINES[start : start + PART]


def _found(result: Any) -> int:
    counters = result.metrics().query(MetricsFilter().with_name(DIGEST))["counters"]
    return sum(counter.result for counter in counters)


def _expected(number: int, house: House) -> int:
    answer = getattr(answers, f"q{number}")(house)
    if number == 7:
        answer = type(answer)((a, b, price) for _, a, b, price in answer.elements())
    return digest(number, answer)
