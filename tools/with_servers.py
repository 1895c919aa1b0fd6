"""Run a command with a new Kafka broker and a new PostgreSQL server, which are gone afterwards.

    python tools/with_servers.py -- COMMAND …

In the arguments of the command, {kafka} stands for the address of the broker and {database} for the URL of
the database.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.services import kafka, postgres


def main() -> int:
    """Start the servers, run the command, and return its exit code."""
    if sys.argv[1:2] != ["--"]:
        print(__doc__, file=sys.stderr)
        return 2
    missing = [
        what
        for there, what in [
            (kafka.is_installed(), kafka.NOT_INSTALLED),
            (postgres.binaries() is not None, postgres.NOT_INSTALLED),
        ]
        if not there
    ]
    if missing:
        print(*missing, sep="\n", file=sys.stderr)
        return 2
    print("Starting Kafka and PostgreSQL …", flush=True)
    with kafka.broker(auto_create=False) as broker, postgres.running() as database:
        places = {"kafka": broker.address, "database": database}
        command = [argument.format(**places) for argument in sys.argv[2:]]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
