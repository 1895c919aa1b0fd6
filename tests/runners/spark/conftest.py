"""One Spark session for all tests of a process, and one cluster on loopback; all tests here need Java."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.session import prepare

from .cluster import Cluster, make_python

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local session on two cores, ready for functions of these tests."""
    warehouse = tmp_path_factory.mktemp("warehouse")
    flags = ["--spark-master=local[2]", f"--spark-conf=spark.sql.warehouse.dir={warehouse}"]
    session = prepare(PipelineOptions(flags))
    yield session.spark
    if session.owned:
        session.spark.stop()


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster of a master and two workers, whose Python has neither headrace nor attrs."""
    home = tmp_path_factory.mktemp("cluster")
    cluster = Cluster(home, python=make_python(home / "python"))
    with cluster.running():
        yield cluster
    shutil.rmtree(home, ignore_errors=True)
