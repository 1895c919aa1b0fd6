"""On a real cluster: the workers have neither headrace nor attrs nor the user's modules, and get them."""

import json
import sys
from pathlib import Path

import pytest

from .cluster import SPARK_HOME, Cluster, make_python

SCRIPT = Path(__file__).parent / "job" / "main.py"
SUBMIT = (SPARK_HOME / "bin" / "spark-submit", "--conf", "spark.driver.host=127.0.0.1")

pytestmark = pytest.mark.slow


def by_flag(cluster: Cluster) -> list:
    return [sys.executable, SCRIPT, f"--spark-master={cluster.url}"]


def by_submit(cluster: Cluster) -> list:
    return [*SUBMIT, "--master", cluster.url, SCRIPT]


@pytest.mark.parametrize("command", [by_flag, by_submit])
def test_the_code_travels(cluster: Cluster, command) -> None:
    done = cluster.run(command(cluster))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["master"] == cluster.url
    assert sorted(row["window"] for row in found["rows"]) == [60.0 * (i // 60) for i in range(240)]
    for row in found["rows"]:
        code, directory = row["seen_in"].split()
        assert Path(code).is_relative_to(cluster.home), "headrace came with the job"
        assert Path(directory).is_relative_to(cluster.home), "the worker lives elsewhere"
    assert found["failures"] == ["Spilled(42, 'milk')", "Dry('the well')"]


def test_workers_without_arrow(cluster: Cluster, tmp_path: Path) -> None:
    bare = make_python(tmp_path / "bare", packages=())
    done = cluster.run(by_flag(cluster), python=bare)
    assert done.returncode == 1
    assert (
        "UnsupportedError: a worker needs pandas>=2.2,<3, which is not installed there"
        in done.stderr
    )
