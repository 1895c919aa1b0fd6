"""A Redis server of the tests' own, on loopback, which can be killed and started again with its data."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.services.ports import free_port

NOT_INSTALLED = "Redis is not installed: apt-get install redis-server; nothing needs to be set up"

DURABLE = ["--appendonly", "yes", "--appendfsync", "always", "--save", ""]


def is_installed() -> bool:
    """Whether there is a server to start."""
    return shutil.which("redis-server") is not None


class Server:
    """A server in a folder of its own, which keeps what it has acknowledged."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process = self._start()

    @property
    def url(self) -> str:
        """The URL of its first database."""
        return f"redis://127.0.0.1:{self.port}/0"

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill the process if it runs, and start it again with its data."""
        self.kill()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        command = ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port)]
        command += ["--dir", str(self.folder), *DURABLE]
        with open(self.folder / "log", "ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self._wait_for(process)
        return process

    def _wait_for(self, process: subprocess.Popen[bytes], seconds: float = 30) -> None:
        """Wait until the server has read its data, and answers."""
        import redis

        client = redis.Redis.from_url(self.url)
        end = time.monotonic() + seconds
        while True:
            try:
                client.ping()
                break
            except redis.RedisError:
                ended = process.poll() is not None
                if ended or time.monotonic() > end:
                    raise AssertionError((self.folder / "log").read_text()) from None
                time.sleep(0.02)
        client.close()


@contextmanager
def server() -> Iterator[Server]:
    """A new, empty server, which is gone afterwards."""
    with TemporaryDirectory(prefix="headrace-redis-") as name:
        started = Server(Path(name))
        try:
            yield started
        finally:
            started.kill()
