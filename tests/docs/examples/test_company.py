"""The project of a company runs, and its own test passes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.examples.conftest import EXAMPLES

COMPANY = EXAMPLES / "company"


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_its_own_test() -> None:
    done = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_daily_revenue.py", cwd=COMPANY)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.slow
def test_the_program(tmp_path: Path) -> None:
    done = run(str(COMPANY / "daily_revenue.py"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (found,) = (tmp_path / "out" / "company").glob("revenue*.txt")
    days = ["2026-03-01"] * 3 + ["2026-03-02"] * 3 + ["2026-03-03"] * 3
    assert sorted(line.split()[0] for line in found.read_text().splitlines()) == days
