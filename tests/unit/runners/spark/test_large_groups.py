"""A group may be larger than memory: `benchmarks/large_group.py` does it with 5 GB, this with less."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.days import on_days
from tests.support.repository import ROOT

SCRIPT = ROOT / "benchmarks" / "large_group.py"


@pytest.mark.slow
@pytest.mark.chaos
@on_days(6)
def test_a_group_larger_than_its_worker(tmp_path: Path) -> None:
    flags = ("--megabytes=700", "--limit=1024", "--prove")
    done = subprocess.run(
        [sys.executable, SCRIPT, *flags],
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout.splitlines()[-1])
    assert report["address space, peak MB"] < report["limit, MB"] == 1024
    assert report["held in a list"] == "MemoryError", "without spilling it does not fit"
