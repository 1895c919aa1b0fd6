"""The judgement of `make mutants`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

TOOL = ROOT / "tools" / "mutants_killed.py"
NONE = dict.fromkeys(
    ("killed", "survived", "no_tests", "skipped", "suspicious", "timeout", "segfault"), 0
)


def judged(folder: Path, **stats: int) -> subprocess.CompletedProcess[str]:
    path = folder / "stats.json"
    path.write_text(json.dumps(NONE | {"total": 100} | stats))
    command: list[str | Path] = [sys.executable, TOOL, "--least=90", path]
    return subprocess.run(command, capture_output=True, text=True)


def test_nine_of_ten_are_enough(tmp_path: Path) -> None:
    done = judged(tmp_path, killed=16, timeout=2, survived=1, no_tests=1)
    assert done.returncode == 0
    assert done.stdout == "90.0 % of 20 mutants killed; 80 not tried\n"


@pytest.mark.parametrize("stats", [{"killed": 8, "survived": 1}, {"killed": 8, "no_tests": 1}])
def test_fewer_are_not(tmp_path: Path, stats: dict[str, int]) -> None:
    done = judged(tmp_path, **stats)
    assert done.returncode == 1
    assert "less than 90 %" in done.stderr


def test_no_mutant_at_all_is_no_proof(tmp_path: Path) -> None:
    assert judged(tmp_path).returncode != 0
