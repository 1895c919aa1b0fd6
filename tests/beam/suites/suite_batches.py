"""The pipelines of a suite on Spark, in batches.

A query takes seconds to start, whatever the amount of data, and a suite has many small pipelines. So the
tests run on the local runner first, which collects their pipelines; these are merged into a few large ones,
which run on Spark (:mod:`tests.support.batching`). Then the tests run again, and each pipeline gets the
result that it had on Spark. A pipeline that fails, on the local runner or on Spark, runs by itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import attrs
import pytest

from headrace.runners import local
from headrace.runners.spark import SparkRunner
from headrace.runners.spark.cluster.options import SparkOptions
from headrace.runners.spark.cluster.session import session_for
from headrace.runners.spark.shuffle.wire import dumps, loads
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.result import PipelineResult
from headrace.sdk.sources.scripted_stream import TestStream
from headrace.sdk.sources.source import BoundedSource
from tests.beam.suites.records import current_test, forget, forget_all
from tests.support.batching.batches import Batches, BatchingRunner, TestedPipeline
from tests.support.batching.dry_run import OPTIONS

ALONE = ("WriteImpl/WriteBundles", "DummyWriteForTesting", "ComputedExpression[")
"""Parts of labels of pipelines that run alone: two write files, and one has other labels each time."""

BATCH: Final = 40
"""Maximum number of pipelines in a batch: a query of 92 did not start."""


class FewGroups:
    """Spark with two key groups."""

    ships_functions = True

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        options.view_as(SparkOptions).key_groups = 2
        return SparkRunner().run(graph, options)


@attrs.define
class SuiteBatches(Batches):
    """The pipelines of a suite."""

    def _collect(self, pipeline: TestedPipeline) -> PipelineResult:
        # The local runner sets DoFns up, and then they cannot be pickled.
        shipped = attrs.evolve(pipeline, graph=loads(dumps(pipeline.graph)))
        result = local.run(pipeline.graph, pipeline.options)
        result.wait_until_finish()
        if _can_be_batched(pipeline):
            self.pipelines.append(shipped)
        return result

    def _record(self, batch: list[TestedPipeline]) -> None:
        for pipeline in batch:
            forget(pipeline.id.test)
        super()._record(batch)


def _can_be_batched(pipeline: TestedPipeline) -> bool:
    """Return whether a pipeline ends, at most one test stream moves its clock, and it writes no files.

    Other sources beside that stream are those of ``assert_that``, which do not depend on the clock. Tests
    that read what their pipeline wrote look for new files when they run again. Beam's data frames have labels
    with addresses of objects.
    """
    if any(part in node.label for part in ALONE for node in pipeline.graph):
        return False
    ends = all(isinstance(source, (BoundedSource, TestStream)) for source in pipeline.sources)
    return ends and (not pipeline.has_clock or len(pipeline.test_streams) == 1)


def _selection(config: pytest.Config) -> list[str]:
    """Return the options of a session that select its tests, in a nested one."""
    limit, marked = config.getoption("timeout"), config.getoption("markexpr")
    given = [
        "-c",
        os.devnull,
        f"--rootdir={config.rootpath}",
        f"--timeout={limit}",
        "-m",
        marked,
    ]
    return [*given, "-p", "tests.beam.suites.plugin", "--pyargs", *config.args]


@attrs.define
class OnSpark:
    """The runner of a suite on Spark.

    Attributes:
        batches: the pipelines.
    """

    batches: SuiteBatches = attrs.field(factory=lambda: SuiteBatches(FewGroups(), BATCH))
    _runners: dict[Any, BatchingRunner] = attrs.field(factory=dict, init=False)

    def runner(self) -> BatchingRunner:
        """Return the runner for the pipelines of the current test."""
        test = current_test()
        new = BatchingRunner(self.batches, test)
        return self._runners.setdefault((test, self.batches.dry_run), new)

    def record(self, config: pytest.Config) -> None:
        """Collect the pipelines of the tests of a session, and run them."""
        if self.batches.dry_run:  # this is the nested session
            return
        session_for(PipelineOptions([]))  # tests start threads of gRPC, with which no JVM starts
        with self._dry_run():
            code = pytest.main([*OPTIONS, *_selection(config)])
        if code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
            raise RuntimeError(f"the run on the local runner ended with {code!r}")
        forget_all()
        self.batches.record()

    @contextmanager
    def _dry_run(self) -> Iterator[None]:
        self.batches.dry_run = True
        try:
            yield
        finally:
            self.batches.dry_run = False
