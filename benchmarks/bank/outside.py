"""A process that looks at the tables all the time: ``python -m benchmarks.bank.outside URL``.

It looks until its input is closed, and prints what it has seen as JSON.
"""

from __future__ import annotations

import json
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from benchmarks.bank.reader import Reader, Seen

PAUSE = 0.02
"""Seconds between two looks."""


@contextmanager
def looking(url: str) -> Iterator[dict[str, Seen]]:
    """Look from another process; what it has seen is there afterwards."""
    found: dict[str, Seen] = {}
    command = [sys.executable, "-m", "benchmarks.bank.outside", url]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield found
        finally:
            out, _ = process.communicate()
    if process.returncode:
        raise RuntimeError("the reader outside has failed")
    found.update({name: Seen(**seen) for name, seen in json.loads(out).items()})


def main() -> None:
    """Look until the input ends."""
    reader = Reader(sys.argv[1])
    while not select.select([sys.stdin], [], [], PAUSE)[0]:
        reader.look()
    print(json.dumps({name: attrs.asdict(seen) for name, seen in reader.seen.items()}))


if __name__ == "__main__":
    main()
