"""What a run on Spark needs to be installed, checked before any JVM starts, with one clear error each.

Without these checks Spark fails as well, but late, deep inside, and in the words of another language. The
workers of a cluster are asked with a tiny job, since what is installed there is theirs.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

import attrs

from headrace.errors import UnsupportedError

OLDEST_JAVA: Final = 17

_INSTALL: Final = "pip install 'headrace[spark]'"


@attrs.frozen
class Need:
    """A package, and the versions of it that will do.

    Args:
        package: its name for pip.
        module: the module that it installs.
        oldest: the first version that will do, such as ``"4.3"``.
        below: the first version that will no longer do, or none.
    """

    package: str
    module: str
    oldest: str
    below: str = ""

    @property
    def wanted(self) -> str:
        """The versions that will do, as pip writes them."""
        return f"{self.package}>={self.oldest}" + (f",<{self.below}" if self.below else "")

    def accepts(self, found: str) -> bool:
        """Tell whether a version will do."""
        too_new = bool(self.below) and _numbers(found) >= _numbers(self.below)
        return _numbers(found) >= _numbers(self.oldest) and not too_new


NEEDS: Final = (
    Need("pyspark", "pyspark", "4.3"),
    Need("pandas", "pandas", "2.2", below="3"),
    Need("pyarrow", "pyarrow", "18"),
    Need("protobuf", "google.protobuf", "6.33.5"),
)
"""What driver and workers need; Spark hands over state by protobuf, and rows by Arrow and pandas."""


def check_packages(needs: Iterable[Need] = NEEDS) -> None:
    """Refuse to start without the packages that Spark's Python side needs.

    Raises:
        UnsupportedError: a package is missing, too old or too new.
    """
    for need in needs:
        problem = _problem_with(need, installed_version(need))
        if problem:
            raise UnsupportedError(f"the Spark runner {problem}", remedy=_INSTALL)


def installed_version(need: Need) -> str | None:
    """Return the version of an installed package, or None where there is none."""
    try:
        return version(need.package)
    except PackageNotFoundError:
        pass
    try:
        return getattr(import_module(need.module), "__version__", None)
    except ImportError:
        return None


def _problem_with(need: Need, found: str | None) -> str | None:
    if found is None:
        return f"needs {need.wanted}, which is not installed"
    if not need.accepts(found):
        return f"needs {need.wanted}, and {need.package} {found} is installed"
    return None


def check_java(environment: Mapping[str, str] | None = None) -> None:
    """Refuse to start without a Java that can run Spark, as Spark would find it.

    Args:
        environment: where JAVA_HOME and PATH are looked up; by default, this process's.

    Raises:
        UnsupportedError: there is no Java, or one that is too old.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH"))
    remedy = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to a newer Java"
    where = f"JAVA_HOME={home}" if home else "PATH"
    if java is None or shutil.which(java) is None:
        raise UnsupportedError("Spark needs Java, and there is none", where=where, remedy=remedy)
    major = _java_major(java)
    if major is not None and major < OLDEST_JAVA:
        raise UnsupportedError(
            f"Spark needs Java {OLDEST_JAVA} or newer, and {java} is Java {major}",
            where=where,
            remedy=remedy,
        )


def _java_major(java: str) -> int | None:
    """Return 17 of ``openjdk version "17.0.15"``, 8 of ``"1.8.0_402"``, None of what is neither."""
    found = re.search(r'version "(?:1\.)?(\d+)', _output([java, "-version"]))
    return int(found[1]) if found else None


def check_local_python(python: str) -> None:
    """Refuse another Python for the workers on this machine than the driver's.

    Args:
        python: the workers' interpreter, as in PYSPARK_PYTHON.

    Raises:
        UnsupportedError: it cannot be started, or its version differs.
    """
    if python == sys.executable:
        return
    theirs = _output([python, "-c", "import sys; print('python %d.%d' % sys.version_info[:2])"])
    found = re.search(r"python (\d+\.\d+)", theirs)
    if found is None:
        raise UnsupportedError(
            f"the workers' Python {python!r} cannot be started",
            where="PYSPARK_PYTHON",
            remedy=f"unset PYSPARK_PYTHON, or set it to {sys.executable}",
        )
    if found[1] != _python():
        raise python_mismatch(found[1], "PYSPARK_PYTHON")


def python_mismatch(workers: str, where: str = "the workers") -> UnsupportedError:
    """Return the error that driver and workers run different Pythons.

    Args:
        workers: the version of the workers, such as ``"3.12"``.
        where: where their version was seen.
    """
    return UnsupportedError(
        f"the driver runs Python {_python()} and the workers Python {workers}: functions cannot "
        "travel between them",
        where=where,
        remedy="set PYSPARK_PYTHON to a path where the workers, too, have "
        f"Python {_python()} (here it is {sys.executable})",
    )


def found_here() -> dict[str, str | None]:
    """Return the versions of Python and of all packages that are needed, in this process.

    A function for workers, which answer for themselves.
    """
    found: dict[str, str | None] = {need.package: installed_version(need) for need in NEEDS}
    return {"python": _python(), **found}


def check_found(found: Mapping[str, str | None], where: str) -> None:
    """Refuse workers that lack what they need; see :func:`found_here`.

    Raises:
        UnsupportedError: a package is missing, too old or too new, or Python is another.
    """
    theirs = found.get("python")
    if theirs and theirs != _python():
        raise python_mismatch(theirs, where)
    for need in NEEDS[1:]:  # their Spark is the executors' own
        problem = _problem_with(need, found.get(need.package))
        if problem:
            raise UnsupportedError(
                f"a worker {problem} there",
                where=where,
                remedy="install the packages of headrace[spark] for the workers' Python "
                "(or set PYSPARK_PYTHON to one that has them)",
            )


def is_installed(module: str) -> bool:
    """Tell whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _output(command: list[str]) -> str:
    """Return all that a command prints, or nothing where it cannot be started."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (4, 3, 0) of ``4.3.0.dev1``."""
    return tuple(int(n) for n in re.findall(r"\d+", version.split("+")[0])[:3])
