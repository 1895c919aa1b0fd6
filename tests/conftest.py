"""Fixtures for the runners that tests of the semantics run on, and the profiles of Hypothesis.

HEADRACE_PROFILE=quick|fast|ci|day|deep|mutants selects a profile, HEADRACE_CASES a number of cases per test.
HEADRACE_DRY_RUN=off runs each pipeline on Spark by itself; CONTRIBUTING.md explains the dry run.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import Graph
from headrace.sdk.pipelines.result import PipelineResult
from tests.support import archived_classes
from tests.support.batching.batches import BATCHES, Batches, BatchingRunner, is_batched, runner_of
from tests.support.batching.dry_run import dry_run
from tests.support.services import kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

settings.register_profile("quick", max_examples=10, deadline=None)
settings.register_profile("fast", max_examples=100, deadline=None)
settings.register_profile("ci", settings.get_profile("fast"), derandomize=True, print_blob=True)
settings.register_profile(
    "day",  # ten seeds take turns, one for each day
    settings.get_profile("ci"),
    max_examples=50,
    derandomize=False,
    database=None,
)
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
    "mutants",  # no shrinking: one failing case is enough
    settings.get_profile("ci"),
    max_examples=30,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
PROFILE = "cases" if "HEADRACE_CASES" in os.environ else "ci" if os.environ.get("CI") else "fast"
settings.load_profile(os.environ.get("HEADRACE_PROFILE", PROFILE))

providers._get_local_constants = lambda: providers._local_constants  # which stay empty
"""Hypothesis draws no constants of imported modules, else what ``derandomize`` draws depends on the imports.

pytest-xdist gives each process other tests, and a dry run draws the runs that are drawn again on Spark.
"""


os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
"""For each JVM that tests start: none runs for long enough to pay for the code of the optimizing compiler."""

archived_classes.use(os.environ)

gc.set_threshold(10_000, 20, 100)
"""Modules and tests stay until the end; looking for garbage among them took a fifteenth of the time."""


def pytest_configure(config: pytest.Config) -> None:
    """Prepare warnings and signals.

    PySpark 4.0 and 4.1 leave the socket of each result to the garbage collector, which warns. Programs that a
    shell starts in the background ignore Ctrl-C, and so would those that tests start.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if find_spec("pyspark") and version("pyspark").startswith(("4.0.", "4.1.")):
        config.addinivalue_line("filterwarnings", "ignore:unclosed <socket:ResourceWarning")


ON_SPARK = [pytest.mark.spark, pytest.mark.xdist_group("spark")]
"""Marks of tests on Spark; xdist runs all of them in one process, so that there is one Spark session."""

RUNNERS = [
    pytest.param("local", marks=pytest.mark.on_runner("local")),
    pytest.param("spark", marks=[pytest.mark.on_runner("spark"), *ON_SPARK]),
]


STARTED = {"kafka_broker", "postgresql", "mariadb_server", "browser"}
"""Fixtures that start a server or a browser; tests with them are slow."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With ``--runner``, deselect the tests of other runners; those that take minutes come first."""
    mark_by_fixtures(items)
    wanted = config.getoption("--runner", None)  # an option of Headrace's own plugin, if installed
    others = [item for item in items if wanted and runner_of(item) not in (None, wanted)]
    if others:
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item not in others]
    items.sort(key=lambda item: item.get_closest_marker("sampled") is None)


def mark_by_fixtures(items: list[pytest.Item]) -> None:
    """Mark tests whose fixtures start something."""
    for item in items:
        fixtures = item.fixturenames if isinstance(item, pytest.Function) else ()
        if not STARTED.isdisjoint(fixtures):
            item.add_marker(pytest.mark.slow)
        if "spark" in fixtures:
            item.add_marker(pytest.mark.spark)


@pytest.fixture(params=RUNNERS)
def runner(request: pytest.FixtureRequest) -> Any:
    """Each runner that the semantics are tested on; on Spark, bounded pipelines are jobs, others queries."""
    if request.param == "local":
        return "local"
    local_only = request.node.get_closest_marker("local_only")
    if local_only:
        pytest.skip(*local_only.args)
    if not is_batched(request.node):
        request.getfixturevalue("spark")
        return SmallSpark()
    batches = request.config.stash[BATCHES]
    if not batches.dry_run:
        request.getfixturevalue("spark")
        batches.record()
    return BatchingRunner(batches, request.node.nodeid)


@pytest.fixture(scope="session")
def kafka_broker() -> Iterator[kafka.Broker]:
    """A broker for all tests of a process, where there is one to start; topics have names of their own."""
    if not kafka.is_installed():
        pytest.skip(kafka.NOT_INSTALLED)
    with kafka.broker(auto_create=False) as started:
        yield started


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
    """Before the first batched test, collect the pipelines of all batched tests."""
    if BATCHES in item.config.stash or not is_batched(item):
        return
    batches = item.config.stash[BATCHES] = Batches(SmallSpark(), dry_run=True)
    dry_run([each for each in item.session.items if is_batched(each)], batches)
    batches.dry_run = False
