"""A job on a real cluster whose Python has no packages: packed, submitted, killed, resumed."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.repository import ROOT

from .cluster import SPARK_HOME, Cluster, make_python

JOB = ROOT / "examples" / "company" / "daily_revenue.py"
KILL_ONCE = ROOT / "tools" / "kill_once.py"
NOISE = ("incubator modules", "default log4j profile", "WARN Utils: ", "WARN NativeCodeLoader: ")
"""Lines that Spark prints before it starts the program."""

pytestmark = [pytest.mark.slow, pytest.mark.chaos]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose Python has no packages, and the packed job as ``job.zip`` in its directory."""
    home = tmp_path_factory.mktemp("bare")
    cluster = Cluster(home, python=make_python(home / "python", packages=()))
    packed = cluster.run([sys.executable, "-m", "headrace", "package", JOB, "-o", home / "job.zip"])
    assert packed.returncode == 0, packed.stderr
    assert "modules: shop_orders\n" in packed.stdout
    assert "PyYAML 6" in packed.stdout
    with cluster.running():
        yield cluster


def submit(cluster: Cluster, *flags: str) -> list[str | Path]:
    archive = f"{cluster.home}/job.zip#job"
    spark = ("--master", cluster.url, "--conf", "spark.driver.host=127.0.0.1")
    return [SPARK_HOME / "bin" / "spark-submit", *spark, "--archives", archive, JOB, *flags]


def lines_in(directory: Path) -> list[str]:
    return sorted(
        line for file in directory.glob("revenue*") for line in file.read_text().splitlines()
    )


@pytest.fixture(scope="module")
def expected(bare: Cluster) -> list[str]:
    done = bare.run([sys.executable, JOB, f"--output={bare.home / 'local'}"])
    assert done.returncode == 0, done.stderr
    return lines_in(bare.home / "local")


def test_a_packed_job_in_a_batch(bare: Cluster, expected: list[str]) -> None:
    done = bare.run(submit(bare, "--runner=spark", f"--output={bare.home / 'batch'}"))
    assert done.returncode == 0, done.stderr
    assert lines_in(bare.home / "batch") == expected
    said = [line for line in done.stderr.splitlines() if not any(n in line for n in NOISE)]
    assert said == [], "spark-submit prints what python prints"


def test_a_packed_stream_that_is_killed_and_goes_on(bare: Cluster, expected: list[str]) -> None:
    output, checkpoint = bare.home / "stream", bare.home / "checkpoint"
    stream = ("--streaming", "--max-records-per-batch=1000", f"--checkpoint={checkpoint}")
    command = submit(bare, "--runner=spark", *stream, f"--output={output}")
    kill: list[str | Path] = [sys.executable, KILL_ONCE, "--after=1", checkpoint, "--"]
    done = bare.run([*kill, *command])
    assert done.returncode == 0, done.stderr
    assert "Killed with SIGKILL after batch" in done.stdout
    assert lines_in(output) == expected


def test_a_worker_without_a_package(bare: Cluster, tmp_path: Path) -> None:
    packed = tmp_path / "without.zip"
    package: list[str | Path] = [
        sys.executable,
        "-m",
        "headrace",
        "package",
        JOB,
        "-o",
        packed,
        "--without=PyYAML",
    ]
    assert bare.run(package).returncode == 0
    flags = [f"--spark-master={bare.url}", "--spark-conf", f"spark.archives={packed}#without"]
    done = bare.run([sys.executable, JOB, "--runner=spark", *flags, f"--output={tmp_path}"])
    assert done.returncode == 1
    assert "a worker does not have the package 'yaml' (PyYAML 6" in done.stderr, done.stderr
    assert "where: Parse, on a worker on" in done.stderr or "DailyRevenue/Parse" in done.stderr
    assert "headrace package" in done.stderr
