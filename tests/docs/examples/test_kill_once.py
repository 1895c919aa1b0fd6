"""The tool by which the demo on Spark is killed on the way, with a command that only looks like a query."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

TOOL = ROOT / "tools" / "kill_once.py"

QUERY = """
import pathlib, sys, time
commits = pathlib.Path(sys.argv[1], "commits")
done = len(list(commits.glob("*"))) if commits.exists() else 0
print("from", done, flush=True)
commits.mkdir(parents=True, exist_ok=True)
for batch in range(done, int(sys.argv[2])):
    (commits / str(batch)).touch()
    time.sleep(0.1)
sys.exit(3)
"""


def kill_once(checkpoint: Path, batches: int) -> subprocess.CompletedProcess[str]:
    query: list[str | Path] = [sys.executable, "-c", QUERY, checkpoint, str(batches)]
    command: list[str | Path] = [sys.executable, TOOL, "--after=2", checkpoint, "--", *query]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.mark.slow
def test_a_command_is_killed_and_runs_again(tmp_path: Path) -> None:
    done = kill_once(tmp_path / "new", 30)
    assert done.returncode == 3, done.stderr
    first, second = [line for line in done.stdout.splitlines() if line.startswith("from")]
    assert first == "from 0"
    assert 3 <= int(second.split()[1]) < 30
    assert "Killed with SIGKILL after batch" in done.stdout


def test_a_command_that_ends_too_early_is_an_error(tmp_path: Path) -> None:
    done = kill_once(tmp_path / "new", 1)
    assert done.returncode == 3
    assert "was not killed" in done.stderr


def test_an_old_checkpoint_is_refused(tmp_path: Path) -> None:
    kill_once(tmp_path, 1)
    assert kill_once(tmp_path, 1).returncode == 2
