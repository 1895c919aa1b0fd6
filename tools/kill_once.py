"""Run a command, kill it with SIGKILL after some batches of its streaming query, and run it again.

    python tools/kill_once.py --after 5 CHECKPOINT -- COMMAND …

The child processes of the command, such as Spark's JVM, are killed too. The exit code comes from the
second run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, Namespace
from pathlib import Path

POLL = 0.1
"""Interval between checks of the checkpoint, in seconds."""


def main() -> int:
    """Run the command twice; return the exit code of the second run."""
    args = _parse()
    if committed(args.checkpoint) >= 0:
        print(f"{args.checkpoint} already has committed batches", file=sys.stderr)
        return 2
    first = subprocess.Popen(args.command, start_new_session=True)
    try:
        while first.poll() is None and committed(args.checkpoint) < args.after:
            time.sleep(POLL)
    except KeyboardInterrupt:
        _kill(first)
        raise
    if first.returncode is not None:
        print(f"the command ended before batch {args.after} and was not killed", file=sys.stderr)
        return first.returncode or 2
    _kill(first)
    last = committed(args.checkpoint)
    print(
        f"\nKilled with SIGKILL after batch {last}, with all child processes. Restarting from the "
        "checkpoint (counts restart at 0):\n",
        flush=True,
    )
    return subprocess.run(args.command, check=False).returncode


def committed(checkpoint: Path) -> int:
    """Return the number of the last batch that Spark committed; -1 if there is none."""
    numbers = (file.name for file in checkpoint.glob("commits/*"))
    return max((int(name) for name in numbers if name.isdigit()), default=-1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its process group; Python workers end with their JVM."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _parse() -> Namespace:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--after", type=int, default=5, metavar="BATCH", help="default: 5")
    parser.add_argument("checkpoint", type=Path, help="a new directory")
    parser.add_argument("command", nargs="+", help="the command, after --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
