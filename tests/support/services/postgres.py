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
from contextlib import contextmanager
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


@contextmanager
def running() -> Iterator[str]:
    """The URL of a new, empty server, which is gone afterwards."""
    home = binaries()
    assert home is not None, NOT_INSTALLED
    folder = mkdtemp(prefix="headrace-pg-")
    if _user():
        shutil.chown(folder, _user()["user"])
    try:
        _run([home / "initdb", "-D", f"{folder}/data", *INIT], folder).wait_and_check()
        port = free_port()
        place = ["-p", str(port), "-k", folder, "-c", "listen_addresses=127.0.0.1", "-F"]
        server = _run([home / "postgres", "-D", f"{folder}/data", *place], folder)
        try:
            _wait_for(port, server)
            yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


INIT = ["-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"]


class _Process:
    def __init__(self, popen: subprocess.Popen[bytes], log: Path) -> None:
        self.popen = popen
        self.log = log

    def wait_and_check(self) -> None:
        assert self.popen.wait(120) == 0, self.log.read_text()

    def stop(self) -> None:
        self.popen.send_signal(signal.SIGQUIT)  # at once, as nothing is to be kept
        try:
            self.popen.wait(20)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


def _run(command: list[Any], folder: str) -> _Process:
    log = Path(folder, "log")
    with open(log, "ab") as out:
        popen = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, **_user())
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
