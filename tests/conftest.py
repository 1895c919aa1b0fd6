"""The runner that a test of the semantics runs on; how hard hypothesis looks.

The latter is chosen with HEADRACE_PROFILE=fast|ci|deep|mutants, or as a number of cases for each test with
HEADRACE_CASES.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from headrace.sdk.graph import Graph
from headrace.sdk.options import PipelineOptions
from headrace.sdk.result import PipelineResult
from tests.batching.batches import PackingRunner, Packs
from tests.batching.dry_run import dry_run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("fast", max_examples=100, deadline=None)
settings.register_profile("ci", settings.get_profile("fast"), derandomize=True, print_blob=True)
settings.register_profile(
    "deep",
    settings.get_profile("fast"),
    max_examples=5_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "cases", settings.get_profile("deep"), max_examples=int(os.environ.get("HEADRACE_CASES", "100"))
)
settings.register_profile(
    "mutants",  # dead is dead: no smaller case is looked for
    settings.get_profile("ci"),
    max_examples=30,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
PROFILE = "cases" if "HEADRACE_CASES" in os.environ else "ci" if os.environ.get("CI") else "fast"
settings.load_profile(os.environ.get("HEADRACE_PROFILE", PROFILE))


ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
"""Marks of tests on Spark; xdist gives all of them to one process, since there is one session in each."""

PACKS = pytest.StashKey[Packs]()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of other runners, if one is asked for with ``--runner``."""
    wanted = config.getoption("--runner", None)  # of Headrace's own plugin, once it is installed
    others = [item for item in items if wanted and _runner_of(item) not in (None, wanted)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]


def _runner_of(item: pytest.Item) -> str | None:
    callspec = getattr(item, "callspec", None)
    return callspec.params.get("runner") if callspec is not None else None


@pytest.fixture(params=["local", pytest.param("spark", marks=ON_SPARK)])
def runner(request: pytest.FixtureRequest) -> Any:
    """Each runner that the semantics are tested on; bounded pipelines are jobs of Spark's, others queries."""
    if request.param == "local":
        return "local"
    local_only = request.node.get_closest_marker("local_only")
    if local_only:
        pytest.skip(*local_only.args)
    request.getfixturevalue("spark")
    if request.node.get_closest_marker("alone"):
        return SmallSpark()
    return PackingRunner(request.config.stash[PACKS], request.node.nodeid)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session of Spark on two cores, ready for functions of these tests."""
    pytest.importorskip("pyspark")
    from headrace.runners.spark.cluster.session import prepare

    warehouse = tmp_path_factory.mktemp("warehouse")
    flags = ["--spark-master=local[2]", f"--spark-conf=spark.sql.warehouse.dir={warehouse}"]
    session = prepare(PipelineOptions(flags))
    yield session.spark
    if session.owned:
        session.spark.stop()


@pytest.fixture
def small_spark(spark: SparkSession) -> SmallSpark:
    """Spark with few key groups, as a runner."""
    return SmallSpark()


class SmallSpark:
    """Spark with few key groups."""

    ships_functions = True

    def run(self, graph: Graph, options: PipelineOptions) -> PipelineResult:
        from headrace.runners.spark import SparkRunner
        from headrace.runners.spark.cluster.options import SparkOptions

        options.view_as(SparkOptions).key_groups = 2
        return SparkRunner().run(graph, options)


def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Before the first test on Spark, let all of them show their pipelines, and run these."""
    if PACKS in item.config.stash or not _is_packed(item):
        return
    packs = item.config.stash[PACKS] = Packs(SmallSpark(), rehearsing=True)
    dry_run([each for each in item.session.items if _is_packed(each)], then=item)
    packs.rehearsing = False
    packs.record()


def _is_packed(item: pytest.Item) -> bool:
    return _runner_of(item) == "spark" and not item.get_closest_marker("alone")
