"""A PostgreSQL server of the tests' own, on loopback, started from what is installed and stopped again.

It is that of the system, or that of the package pgserver. The server refuses to run as root; there it runs
as the user postgres, or as nobody.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.support.services.ports import free_port

NOT_INSTALLED = (
    "PostgreSQL is not installed: apt-get install postgresql (or brew install postgresql, or pip install "
    "pgserver); nothing needs to be started or set up"
)


def binaries() -> Path | None:
    """The folder of initdb and postgres, the newest that there is; None if there is none."""
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = sorted(versions, key=lambda found: int(found.parts[-3].split(".")[0]))
    found = [*reversed(newest), *_on_path(), *_in_pgserver()]
    return next((path.parent for path in found if (path.parent / "postgres").exists()), None)


def _on_path() -> Iterator[Path]:
    found = shutil.which("initdb")
    if found:
        yield Path(found).resolve()


def _in_pgserver() -> Iterator[Path]:
    spec = find_spec("pgserver")
    if spec and spec.origin:
        yield Path(spec.origin).parent / "pginstall/bin/initdb"


def _user() -> dict[str, Any]:
    """As whom the server runs, for Popen."""
    if os.geteuid() != 0:
        return {}
    known = {entry.pw_name for entry in pwd.getpwall()}
    return {"user": "postgres" if "postgres" in known else "nobody", "extra_groups": []}


class Server:
    """A server in a folder of its own, which can be killed and started again with its data."""

    def __init__(self, folder: str) -> None:
        home = binaries()
        assert home is not None, NOT_INSTALLED
        self.folder, self.port, self._home = folder, free_port(), home
        if _user():
            shutil.chown(folder, _user()["user"])
        _run([home / "initdb", "-D", f"{folder}/data", *INIT], folder).wait_and_check()
        self._process = self._start()

    @property
    def url(self) -> str:
        """The URL of the database."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    def kill(self) -> None:
        """End all processes at once, as a crash does."""
        self._process.kill()

    def restart(self) -> None:
        """Kill the processes if they run, and start the server again with its data."""
        self.kill()
        self._process = self._start()

    def stop(self) -> None:
        """Stop it, without keeping anything."""
        self._process.stop()

    def pids(self) -> list[int]:
        """All processes of the server, from the first one on (Linux)."""
        first = self._process.popen.pid
        others = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, others)]

    def _start(self) -> _Process:
        place = ["-p", str(self.port), "-k", self.folder, "-c", "listen_addresses=127.0.0.1", "-F"]
        command = [self._home / "postgres", "-D", f"{self.folder}/data", *place, *SETTINGS]
        process = _run(command, self.folder)
        _wait_for(self.port, process)
        return process


@contextmanager
def server() -> Iterator[Server]:
    """A new, empty server, which is gone afterwards."""
    folder = mkdtemp(prefix="headrace-pg-")
    try:
        started = Server(folder)
        try:
            yield started
        finally:
            started.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running() -> Iterator[str]:
    """The URL of a new, empty server, which is gone afterwards."""
    with server() as started:
        yield started.url


INIT = ["-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"]
SETTINGS = ["-c", "wal_level=logical", "-c", "max_replication_slots=20", "-c", "max_wal_senders=4"]


class _Process:
    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.popen = popen
        self.log = log

    def wait_and_check(self) -> None:
        assert self.popen.wait(120) == 0, self.log.read_text()

    def kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.popen.pid, signal.SIGKILL)
        self.popen.wait()

    def stop(self) -> None:
        self.popen.send_signal(signal.SIGQUIT)  # at once, as nothing is to be kept
        try:
            self.popen.wait(20)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


NEW: Any = {"start_new_session": True}
"""A process group of its own, which can be killed as a whole."""


def _run(command: list[Any], folder: str) -> _Process:
    log = Path(folder, "log")
    with open(log, "ab") as out:
        popen = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, **NEW, **_user())
    return _Process(popen, log)


def _wait_for(port: int, server: _Process, seconds: float = 30) -> None:
    """Wait until the server takes a connection, and answers."""
    import psycopg

    end = time.monotonic() + seconds
    while True:
        try:
            psycopg.connect(host="127.0.0.1", port=port, user="postgres").close()
            return
        except psycopg.OperationalError:
            ended = server.popen.poll() is not None
            if ended or time.monotonic() > end:
                raise AssertionError(server.log.read_text()) from None
            time.sleep(0.05)
