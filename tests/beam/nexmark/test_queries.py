"""Queries 0 to 12 of Beam's Nexmark, with the import swapped, answer what plain Python does."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from nexmark.generator import arrivals

import headrace as hr
from headrace.options.pipeline_options import PipelineOptions
from headrace.testing.util import assert_that
from tests.beam.nexmark import answers
from tests.beam.nexmark.checks import CONFIG, UNSAFE, expectation, shape
from tests.beam.nexmark.wheel import PACKAGE, copy_nexmark
from tests.docs.examples.nexmark_oracle import House

pytest.importorskip("apache_beam", reason="Nexmark is in Beam's wheel")


@pytest.fixture(scope="module", autouse=True)
def nexmark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    directory = tmp_path_factory.mktemp("wheel")
    copy_nexmark(directory)
    sys.path.insert(0, str(directory))
    _module("nexmark_util").setup_coder()
    yield
    sys.path.remove(str(directory))
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]


def _module(name: str) -> Any:
    return importlib.import_module(f"{PACKAGE}.{name}")


class Lines(hr.io.BoundedSource[str]):
    """The events as lines of JSON, in order of arrival."""

    def read(self, partition: Any) -> Iterator[hr.TimestampedValue[str]]:
        for event in arrivals(CONFIG, 0):
            line = json.dumps(answers.to_json(event))
            yield hr.TimestampedValue(line, hr.Timestamp(micros=event.time * 1000))


def build(pipeline: hr.Pipeline, numbers: list[int], house: House) -> None:
    """Build queries, each with a check of its results."""
    found = (
        pipeline
        | hr.Read(Lines(), watermark=hr.BoundedOutOfOrderness(2))
        | hr.ParDo(_module("nexmark_util").ParseJsonEventFn())
    )
    for number in numbers:
        query = _module(f"queries.query{number}")
        results = found | f"Query {number}" >> _Loaded(query)
        shaped = results | f"Shape {number}" >> hr.Map(shape(number, hr.DoFn.PaneInfoParam))
        everything = shaped | f"Together {number}" >> hr.WindowInto(hr.window.GlobalWindows())
        assert_that(everything, expectation(number, house), label=f"Check {number}")


class _Loaded(hr.PTransform[Any, Any]):
    def __init__(self, query: Any) -> None:
        super().__init__()
        self.query = query

    def expand(self, found: hr.PCollection[Any]) -> Any:
        return self.query.load(found, answers.ARGS, PipelineOptions([]))


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("number", range(13))
def test_answers_are_those_of_plain_python(number: int, mode: str, house: House) -> None:
    flags = ["--streaming", "--max-records-per-batch=200"] if mode == "streaming" else []
    with hr.Pipeline(argv=[*UNSAFE, *flags]) as pipeline:
        build(pipeline, [number], house)


def test_the_checks_can_fail(house: House) -> None:
    fewer = House(house.events[:-500])
    for number in (4, 6, 12):
        with pytest.raises(AssertionError), hr.Pipeline(argv=UNSAFE) as pipeline:
            build(pipeline, [number], fewer)


@pytest.mark.filterwarnings("ignore")
def test_the_launcher_runs_all_queries(launched: Any, house: House) -> None:
    written = launched(_module("nexmark_launcher"), list(range(13)), [])
    for number in set(written) - {6, 7, 10, 12}:
        assert written[number] == getattr(answers, f"q{number}")(house).total(), number


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.usefixtures("spark")
def test_answers_on_spark(mode: str, house: House) -> None:
    """Queries with state, a join, sessions, a side input and windows of their own, in one pipeline."""
    flags = (
        ["--streaming", "--max-records-per-batch=1000", "--batch-seconds=0"]
        if mode == "streaming"
        else []
    )
    flags += [*UNSAFE, "--runner=spark", "--key-groups=2"]
    with hr.Pipeline(argv=flags) as pipeline:
        build(pipeline, [3, 6, 7, 11], house)
