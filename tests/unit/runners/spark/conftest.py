"""One cluster on loopback for all tests of a process; all tests here need Java."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import ON_SPARK

from .cluster import Cluster, make_python

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            for mark in ON_SPARK:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A standalone cluster of a master and two workers, whose Python has neither headrace nor attrs."""
    home = tmp_path_factory.mktemp("cluster")
    cluster = Cluster(home, python=make_python(home / "python"))
    with cluster.running():
        yield cluster
    shutil.rmtree(home, ignore_errors=True)
