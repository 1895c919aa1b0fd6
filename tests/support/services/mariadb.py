"""A MariaDB server of the tests' own, on loopback, which can be killed and started again with its data.

The server does not run as root; there it runs as the user mysql, or as nobody.
"""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.support.services.ports import free_port

NOT_INSTALLED = (
    "MariaDB is not installed: apt-get install mariadb-server; nothing needs to be set up"
)

QUICK = [
    "--innodb-flush-log-at-trx-commit=2",  # survives a kill of the process, which is all we do
    "--innodb-buffer-pool-size=32M",
    "--innodb-log-file-size=16M",
    "--skip-log-bin",
    "--skip-name-resolve",
    "--max-connections=50",
]


CREATE = "create database test character set utf8mb4 collate utf8mb4_nopad_bin"


def binaries() -> tuple[str, str] | None:
    """The programs that install a database and serve it; None if they are not there."""
    folders = [*os.environ["PATH"].split(os.pathsep), "/usr/sbin", "/usr/libexec"]
    found = [
        shutil.which(name, path=os.pathsep.join(folders))
        for name in ("mariadb-install-db", "mariadbd")
    ]
    return (found[0], found[1]) if found[0] and found[1] else None


def _user() -> str:
    """As whom the server runs; the user of this process unless that is root."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    return "mysql" if "mysql" in names else "nobody"


class Server:
    """A server in a folder of its own, with an empty database ``test``."""

    def __init__(self, folder: Path) -> None:
        programs = binaries()
        assert programs is not None, NOT_INSTALLED
        install, self._server = programs
        self.folder, self.port = folder, free_port()
        self._own = ["--no-defaults", f"--datadir={folder}/data", f"--user={_user()}"]
        if os.geteuid() == 0:
            shutil.chown(folder, _user())
        simple = ["--auth-root-authentication-method=normal", "--skip-test-db"]
        assert self._run(install, simple).wait(120) == 0, self._log()
        self.process = self._start()
        self._execute(CREATE)

    @property
    def url(self) -> str:
        """The URL of the database ``test``.

        The server has no certificate, and to load those of the machine takes longer than to connect.
        """
        return f"mariadb+pymysql://root@127.0.0.1:{self.port}/test?ssl_disabled=true"

    def empty(self) -> None:
        """Remove all tables."""
        self._execute("drop database test", CREATE)

    def kill(self) -> None:
        """End the process at once, as a crash does."""
        self.process.kill()
        self.process.wait()

    def restart(self) -> None:
        """Kill the process if it runs, and start it again with its data."""
        self.kill()
        self.process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        socket = f"--socket={self.folder}/socket"
        network = [f"--port={self.port}", "--bind-address=127.0.0.1", socket]
        process = self._run(self._server, [*network, *QUICK])
        self._wait_for(process)
        return process

    def _run(self, program: str, arguments: list[str]) -> subprocess.Popen[bytes]:
        command = [program, *self._own, *arguments]
        with open(self.folder / "log", "ab") as log:
            return subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log)

    def _connect(self) -> Any:
        import pymysql

        return pymysql.connect(
            host="127.0.0.1", port=self.port, user="root", autocommit=True, ssl_disabled=True
        )

    def _execute(self, *statements: str) -> None:
        connection = self._connect()
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()

    def _wait_for(self, process: subprocess.Popen[bytes], seconds: float = 60) -> None:
        import pymysql

        end = time.monotonic() + seconds
        while True:
            try:
                self._connect().close()
                return
            except pymysql.MySQLError:
                ended = process.poll() is not None
                if ended or time.monotonic() > end:
                    raise AssertionError(self._log()) from None
                time.sleep(0.05)

    def _log(self) -> str:
        return (self.folder / "log").read_text()


@contextmanager
def server() -> Iterator[Server]:
    """A new, empty server, which is gone afterwards."""
    folder = mkdtemp(prefix="headrace-mariadb-")
    try:
        started = Server(Path(folder))
        try:
            yield started
        finally:
            started.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
