"""A real Spark cluster on loopback: a master and two workers in processes of their own.

The workers share nothing with the driver but the machine: another directory, another environment, and a
Python of their own that has what Spark needs, and neither headrace nor attrs.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
import venv
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

import attrs
import pyspark

from tests.support.repository import ROOT

SPARK_HOME = Path(pyspark.__file__).parent
WORKERS = 2
PATIENCE = 240
"""Seconds that the cluster may take to start."""

FOR_SPARK = ("pandas", "numpy", "python-dateutil", "pytz", "six", "tzdata", "pyarrow", "protobuf")
"""What PySpark and pandas need, in some of their versions."""


def make_python(home: Path, packages: Sequence[str] = FOR_SPARK) -> Path:
    """Make a Python that sees the given packages of this one and no others; return its executable."""
    venv.create(home, symlinks=True)
    (site,) = home.glob("lib/python*/site-packages")
    installed = {found.name: found for found in distributions()}
    for found in [installed[package] for package in packages if package in installed]:
        for name in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            (site / name).symlink_to(str(found.locate_file(name)))
    return home / "bin" / "python"


@attrs.define
class Cluster:
    """A master and its workers.

    Args:
        home: a directory for all that they write.
        python: the workers' Python.
    """

    home: Path
    python: Path
    port: int = attrs.field(factory=lambda: free_port())
    web_port: int = attrs.field(factory=lambda: free_port())

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    @contextmanager
    def running(self) -> Iterator[None]:
        processes: list[subprocess.Popen[bytes]] = []
        try:
            processes.append(self._start_master())
            self._wait_for(lambda: self._workers() is not None)
            processes.extend(self._start_worker(number) for number in range(WORKERS))
            self._wait_for(lambda: self._workers() == WORKERS)
            yield
        finally:
            for process in reversed(processes):
                process.terminate()
            for process in processes:
                process.wait(PATIENCE)

    def run(
        self, command: Sequence[str | Path], python: Path | None = None, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a driver in a directory of its own, with headrace on its path, not on the workers'."""
        directory = self.home / "driver"
        directory.mkdir(exist_ok=True)
        here = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYSPARK_PYTHON": str(python or self.python),
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
            **environment,
        }
        return subprocess.run(
            [str(part) for part in command],
            cwd=directory,
            env=here,
            capture_output=True,
            text=True,
            timeout=3 * PATIENCE,
            check=False,
        )

    def _start_master(self) -> subprocess.Popen[bytes]:
        ports = ("--port", str(self.port), "--webui-port", str(self.web_port))
        return self._start("master", "master.Master", "--host", "127.0.0.1", *ports)

    def _start_worker(self, number: int) -> subprocess.Popen[bytes]:
        directory = self.home / f"worker-{number}"
        means = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
        place = ("--host", "127.0.0.1", "--work-dir", str(directory))
        return self._start(directory.name, "worker.Worker", *place, *means, self.url)

    def _start(self, name: str, main: str, *args: str) -> subprocess.Popen[bytes]:
        directory = self.home / name
        directory.mkdir()
        kept = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
        own = {
            "SPARK_HOME": str(SPARK_HOME),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(directory),
        }
        with (directory / "log").open("wb") as log:
            return subprocess.Popen(
                [SPARK_HOME / "bin" / "spark-class", f"org.apache.spark.deploy.{main}", *args],
                cwd=directory,
                env={**kept, **own},
                stdout=log,
                stderr=log,
            )

    def _workers(self) -> int | None:
        """How many workers the master knows; None until it says so.

        A master that starts first does not answer, then answers with its HTML page.
        """
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.web_port}/json/") as answer:
                return int(json.load(answer)["aliveworkers"])
        except (OSError, json.JSONDecodeError):
            return None

    @staticmethod
    def _wait_for(condition) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                raise TimeoutError("the cluster does not start")
            time.sleep(0.1)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
