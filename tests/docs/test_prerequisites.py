"""The scripts that ``make`` starts first name the command that installs what is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

SHELL = ("bash", "env", "dirname", "head", "rm", "sed")
"""What the scripts use of every system."""

AS_A_USER = "#!/bin/sh\necho 1000\n"
"""In place of `id`: a user who is not root, so that nothing is installed."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A directory as the whole PATH, with a shell and without Python, Java and Chromium."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in SHELL:
        found = shutil.which(name)
        assert found is not None
        (programs / name).symlink_to(found)
    add(programs, "id", AS_A_USER)
    add(programs, "apt-get", "#!/bin/sh\nexit 100\n")
    return programs


def add(path: Path, name: str, text: str) -> None:
    """Add a program to the PATH."""
    (path / name).write_text(text)
    (path / name).chmod(0o755)


def run(path: Path, *command: str) -> tuple[int, str]:
    """Run a script of `tools`, and return its status and its messages."""
    name, *arguments = command
    done = subprocess.run(
        [str(ROOT / "tools" / name), *arguments],
        env={"PATH": str(path)},
        capture_output=True,
        text=True,
    )
    return done.returncode, done.stdout + done.stderr


def test_without_python_the_command_that_installs_it_is_named(path: Path, tmp_path: Path) -> None:
    status, said = run(path, "make-venv", str(tmp_path / "venv"))
    assert status == 1
    assert "sudo apt-get install -y python3 python3-venv\n" in said


def test_an_old_python_is_not_used(path: Path, tmp_path: Path) -> None:
    add(path, "python3", "#!/bin/sh\nexit 1\n")
    status, said = run(path, "make-venv", str(tmp_path / "venv"))
    assert status == 1
    assert said.startswith("Python 3.11 or newer is not on the PATH.")


def test_python_without_venv_names_its_package(path: Path, tmp_path: Path) -> None:
    add(path, "python3", _python_without("ensurepip"))
    status, said = run(path, "make-venv", str(tmp_path / "venv"))
    assert status == 1
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    assert f"sudo apt-get install -y python{version}-venv\n" in said
    assert "Traceback" not in said
    assert not (tmp_path / "venv").exists()


def _python_without(module: str) -> str:
    """Return a script that runs `-c` programs in a Python that cannot import a module."""
    program = f"import sys; sys.modules['{module}'] = None; exec(sys.argv.pop(1))"
    return f'#!/bin/sh\nexec {sys.executable} -c "{program}" "$2"\n'


def test_without_java_the_command_that_installs_it_is_named(path: Path) -> None:
    status, said = run(path, "need-java")
    assert status == 1
    assert "sudo apt-get install -y default-jre-headless\n" in said


def test_an_old_java_is_not_enough(path: Path) -> None:
    add(path, "java", "#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    assert run(path, "need-java")[0] == 1
    add(path, "java", "#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n")
    assert run(path, "need-java") == (0, "")


def test_without_chromium_the_tests_of_pages_are_skipped(path: Path) -> None:
    status, said = run(path, "need-chromium")
    assert status == 0
    assert "sudo apt-get install -y chromium\n" in said


def test_the_command_is_that_of_the_system(path: Path) -> None:
    (path / "apt-get").unlink()
    assert run(path, "install-command", "a", "b", "c") == (0, "brew install c\n")
    add(path, "dnf", "#!/bin/sh\n")
    assert run(path, "install-command", "a", "b", "c") == (0, "sudo dnf install -y b\n")
    add(path, "id", "#!/bin/sh\necho 0\n")
    assert run(path, "install-command", "a", "b", "c") == (0, "dnf install -y b\n")
