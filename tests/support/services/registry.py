"""A schema registry of the tests' own: Apicurio in memory, from Maven Central, with Confluent's API."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.repository import ROOT
from tests.support.services.ports import free_port

NOT_INSTALLED = (
    "Apicurio is started from a jar that Maven fetches: apt-get install maven (and Java)"
)

VERSION = "2.6.13.Final"
"""The last version that runs on Java 17."""

ARTIFACT = f"io.apicurio:apicurio-registry-app:{VERSION}:tar.gz:all"

_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy"


def is_installed() -> bool:
    """Whether there are Maven and Java."""
    return bool(shutil.which("mvn") and shutil.which("java"))


@cache
def registry_folder() -> Path:
    """The folder with the registry, fetched once for a checkout."""
    folder = ROOT / "out" / "apicurio" / VERSION
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as name:
            goal = [f"-Dartifact={ARTIFACT}", f"-DoutputDirectory={name}", "-Dmdep.useBaseVersion"]
            subprocess.run(["mvn", "-B", "-q", _COPY, *goal], check=True, timeout=300, cwd=name)
            (archive,) = Path(name).glob("*.tar.gz")
            with tarfile.open(archive) as files:
                files.extractall(Path(name, "app"), filter="data")
            with suppress(OSError):  # another process was faster
                Path(name, "app").rename(folder)
    return folder


@contextmanager
def running() -> Iterator[str]:
    """The URL of a new, empty registry, which is gone afterwards."""
    port = free_port()
    (jar,) = registry_folder().glob("*-runner.jar")
    java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    java += [f"-Dquarkus.http.port={port}", "-Dquarkus.http.host=127.0.0.1", "-jar", str(jar)]
    with TemporaryDirectory(prefix="headrace-registry-") as name, open(f"{name}/log", "wb") as log:
        server = subprocess.Popen(java, stdout=log, stderr=log, cwd=name)
        try:
            url = f"http://127.0.0.1:{port}/apis/ccompat/v7"
            _wait_for(f"{url}/subjects", server, Path(name, "log"))
            yield url
        finally:
            server.kill()
            server.wait()


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        assert server.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=2).close()
            return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(log.read_text())
