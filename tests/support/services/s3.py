"""A server of S3 on this machine, for tests: moto's."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.services.ports import free_port

TIMEOUT = 60
"""Maximum time to wait for the server, in seconds."""


@contextmanager
def running() -> Iterator[dict[str, str]]:
    """Start a server; yield the environment in which fsspec and boto3 use it."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait_for(url)
        yield {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "FSSPEC_S3": json.dumps({"client_kwargs": {"endpoint_url": url}}),
        }
    finally:
        server.terminate()
        server.wait(TIMEOUT)


def create_bucket(environment: dict[str, str], name: str) -> None:
    """Create a bucket on the server of an environment."""
    url = json.loads(environment["FSSPEC_S3"])["client_kwargs"]["endpoint_url"]
    request = urllib.request.Request(f"{url}/{name}", method="PUT")
    urllib.request.urlopen(request, timeout=TIMEOUT).close()


def _wait_for(url: str) -> None:
    end = time.monotonic() + TIMEOUT
    while True:
        try:
            urllib.request.urlopen(f"{url}/moto-api/", timeout=TIMEOUT).close()
            return
        except OSError:
            assert time.monotonic() < end, "the S3 server has not started"
            time.sleep(0.05)


def python(module: str, *arguments: str, environment: dict[str, str]) -> str:
    """Run a module in a process of its own; return what it prints."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout
