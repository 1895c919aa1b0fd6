"""Run a command, kill it with SIGKILL after some batches of its streaming query, and run it again.

    python tools/kill_once.py --after 5 CHECKPOINT -- COMMAND …

What the command started, Spark's Java included, is killed with it. The exit code is that of the second run.
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
"""Seconds between looks at the checkpoint."""


def main() -> int:
    """Run it twice."""
    args = _parse()
    if committed(args.checkpoint) >= 0:
        print(f"{args.checkpoint} is not new", file=sys.stderr)
        return 2
    first = subprocess.Popen(args.command, start_new_session=True)
    try:
        while first.poll() is None and committed(args.checkpoint) < args.after:
            time.sleep(POLL)
    except KeyboardInterrupt:
        _kill(first)
        raise
    if first.returncode is not None:
        print(f"it ended before batch {args.after}, and was not killed", file=sys.stderr)
        return first.returncode or 2
    _kill(first)
    last = committed(args.checkpoint)
    print(
        f"\nKilled with SIGKILL after batch {last}, Java and all. Once more, from its checkpoint "
        "(what a run counts begins here):\n",
        flush=True,
    )
    return subprocess.run(args.command, check=False).returncode


def committed(checkpoint: Path) -> int:
    """Return the number of the last batch that Spark has noted as done; -1 if there is none."""
    numbers = (file.name for file in checkpoint.glob("commits/*"))
    return max((int(name) for name in numbers if name.isdigit()), default=-1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that leads a group, with the group; Python workers end with their Java."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _parse() -> Namespace:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--after", type=int, default=5, metavar="BATCH", help="default: 5")
    parser.add_argument("checkpoint", type=Path, help="a directory that is not there yet")
    parser.add_argument("command", nargs="+", help="what to run, behind --")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
