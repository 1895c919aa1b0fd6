"""The script that installs packages for ``make``: with uv, and with pip what uv does not find."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.support.repository import ROOT

pytestmark = pytest.mark.slow

NAME = "known_to_pip_only"
"""A package that no index has: pip finds it since a variable of its own names the directory."""

NO_NETWORK = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1"}


def add_package(directory: Path) -> None:
    """Write a wheel of the package."""
    information = f"{NAME}-1.0.dist-info"
    with ZipFile(directory / f"{NAME}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{NAME}.py", "")
        wheel.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {NAME}\nVersion: 1.0\n"
        )
        wheel.writestr(
            f"{information}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{information}/RECORD", "")


def install(target: Path, *packages: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Install into a new virtual environment, as ``make`` does."""
    make = [sys.executable, "-m", "venv", "--without-pip", str(target)]
    subprocess.run(make, check=True)
    script = [str(ROOT / "tools/install-packages"), sys.executable, str(target / "bin/python")]
    environment = {**os.environ, **variables}
    return subprocess.run([*script, *packages], env=environment, capture_output=True, text=True)


def has(target: Path, module: str) -> bool:
    """Tell whether an environment has a module."""
    done = subprocess.run([target / "bin/python", "-c", f"import {module}"], capture_output=True)
    return done.returncode == 0


def test_an_environment_gets_its_packages_from_the_cache(tmp_path: Path) -> None:
    assert install(tmp_path / "first", "attrs").returncode == 0
    second = install(tmp_path / "second", "attrs", **NO_NETWORK)
    assert (second.returncode, second.stderr) == (0, "")
    assert has(tmp_path / "second", "attrs")


def test_pip_installs_what_it_alone_finds(tmp_path: Path) -> None:
    add_package(tmp_path)
    done = install(tmp_path / "venv", NAME, PIP_FIND_LINKS=str(tmp_path), **NO_NETWORK)
    assert done.returncode == 0, done.stderr
    assert "uv cannot install this; pip tries now." in done.stderr
    assert has(tmp_path / "venv", NAME)


def test_what_nobody_finds_is_an_error(tmp_path: Path) -> None:
    done = install(tmp_path / "venv", NAME, **NO_NETWORK)
    assert done.returncode != 0
    assert f"No matching distribution found for {NAME}" in done.stderr
