"""Checks of Java, Python and packages before a JVM starts, with a clear error for each problem.

Without these checks Spark also fails, but late and with unclear errors. On a cluster, a small job checks
the workers, because they have their own packages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from typing import Final

import attrs

from headrace.errors import UnsupportedError
from headrace.runners.spark.cluster.spark_versions import OLDEST, TOO_NEW, oldest_protobuf

OLDEST_JAVA: Final = 17

_INSTALL: Final = "pip install 'headrace[spark]'"


@attrs.frozen
class Requirement:
    """A package and its supported versions.

    Args:
        package: the name for pip.
        module: the module that the package installs.
        oldest: the first supported version, such as ``"4.3"``.
        below: the first version that is too new; empty if there is none.
    """

    package: str
    module: str
    oldest: str
    below: str = ""

    @property
    def specifier(self) -> str:
        """The supported versions in pip's notation."""
        return f"{self.package}>={self.oldest}" + (f",<{self.below}" if self.below else "")

    def accepts(self, found: str) -> bool:
        """Return whether a version is supported."""
        too_new = bool(self.below) and _numbers(found) >= _numbers(self.below)
        return _numbers(found) >= _numbers(self.oldest) and not too_new


REQUIREMENTS: Final = (
    Requirement("pyspark", "pyspark", OLDEST, below=TOO_NEW),
    Requirement("pandas", "pandas", "2.2", below="3"),
    Requirement("pyarrow", "pyarrow", "18"),
    Requirement("protobuf", "google.protobuf", oldest_protobuf()),
)
"""The packages that driver and workers need; Spark passes state by protobuf, rows by Arrow and pandas."""


def check_packages(requirements: Iterable[Requirement] = REQUIREMENTS) -> None:
    """Check the packages that PySpark needs.

    Raises:
        UnsupportedError: a package is missing, too old or too new.
    """
    for requirement in requirements:
        problem = _problem_with(requirement, installed_version(requirement))
        if problem:
            raise UnsupportedError(f"the Spark runner {problem}", remedy=_INSTALL)


def installed_version(requirement: Requirement) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    try:
        return _version_of(requirement.package)
    except PackageNotFoundError:
        pass
    try:
        return getattr(import_module(requirement.module), "__version__", None)
    except ImportError:
        return None


_version_of = cache(version)
"""Returns the version of a package; each run asks for it, and it stays while the process runs."""


def _problem_with(requirement: Requirement, found: str | None) -> str | None:
    if found is None:
        return f"needs {requirement.specifier}, which is not installed"
    if not requirement.accepts(found):
        return f"needs {requirement.specifier}, but {requirement.package} {found} is installed"
    return None


def check_java(environment: Mapping[str, str] | None = None) -> None:
    """Check the Java that Spark would find.

    Args:
        environment: environment variables with JAVA_HOME and PATH; by default the variables of this process.

    Raises:
        UnsupportedError: Java is not installed, or too old.
    """
    environment = os.environ if environment is None else environment
    home = environment.get("JAVA_HOME")
    java = f"{home}/bin/java" if home else shutil.which("java", path=environment.get("PATH"))
    remedy = "apt-get install openjdk-17-jre-headless, or set JAVA_HOME to a newer Java"
    where = f"JAVA_HOME={home}" if home else "PATH"
    if java is None or shutil.which(java) is None:
        raise UnsupportedError(
            "Spark needs Java, which is not installed", where=where, remedy=remedy
        )
    major = _java_major(java)
    if major is not None and major < OLDEST_JAVA:
        raise UnsupportedError(
            f"Spark needs Java {OLDEST_JAVA} or newer, but {java} is Java {major}",
            where=where,
            remedy=remedy,
        )


def _java_major(java: str) -> int | None:
    """Return 17 for ``openjdk version "17.0.15"``, 8 for ``"1.8.0_402"``, None for other output."""
    found = re.search(r'version "(?:1\.)?(\d+)', _output([java, "-version"]))
    return int(found[1]) if found else None


def check_local_python(python: str) -> None:
    """Check that workers on this machine have the driver's Python version.

    Args:
        python: the workers' interpreter, as in PYSPARK_PYTHON.

    Raises:
        UnsupportedError: the interpreter cannot be started, or has another version.
    """
    if python == sys.executable:
        return
    worker_version = _output(
        [python, "-c", "import sys; print('python %d.%d' % sys.version_info[:2])"]
    )
    found = re.search(r"python (\d+\.\d+)", worker_version)
    if found is None:
        raise UnsupportedError(
            f"the workers' Python {python!r} cannot be started",
            where="PYSPARK_PYTHON",
            remedy=f"unset PYSPARK_PYTHON, or set it to {sys.executable}",
        )
    if found[1] != _python():
        raise python_mismatch(found[1], "PYSPARK_PYTHON")


def python_mismatch(workers: str, where: str = "the workers") -> UnsupportedError:
    """Return the error for different Python versions on driver and workers.

    Args:
        workers: the version of the workers, such as ``"3.12"``.
        where: where this version was found.
    """
    return UnsupportedError(
        f"the driver runs Python {_python()} but the workers run Python {workers}: functions cannot be "
        "sent to them",
        where=where,
        remedy=f"set PYSPARK_PYTHON to a path at which the workers have Python {_python()} (here it is "
        f"{sys.executable})",
    )


def installed_versions() -> dict[str, str | None]:
    """Return the versions of Python and of all needed packages in this process; runs on workers."""
    found: dict[str, str | None] = {r.package: installed_version(r) for r in REQUIREMENTS}
    return {"python": _python(), **found}


def check_versions(found: Mapping[str, str | None], where: str) -> None:
    """Check the versions on a worker (see :func:`installed_versions`).

    Raises:
        UnsupportedError: a package is missing, too old or too new, or the Python version differs.
    """
    worker_version = found.get("python")
    if worker_version and worker_version != _python():
        raise python_mismatch(worker_version, where)
    for requirement in REQUIREMENTS[1:]:  # not pyspark, which the executors provide
        problem = _problem_with(requirement, found.get(requirement.package))
        if problem:
            raise UnsupportedError(
                f"a worker {problem}",
                where=where,
                remedy="install the packages of headrace[spark] for the workers' Python, set PYSPARK_PYTHON "
                "to one that has them, or send them: `headrace package JOB.py -o job.zip` and "
                "`--spark-conf spark.archives=job.zip#job`",
            )


def is_installed(module: str) -> bool:
    """Return whether a module can be imported, without importing it."""
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def python_version() -> str:
    """Return the minor version of this Python, such as ``"3.11"``."""
    return _python()


def _python() -> str:
    return f"{sys.version_info[0]}.{sys.version_info[1]}"


def _output(command: list[str]) -> str:
    """Return the output of a command; an empty string if it cannot be started."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def _numbers(version: str) -> tuple[int, ...]:
    """Return the leading numbers of a version: (4, 3, 0) for ``4.3.0.dev1``."""
    return tuple(int(n) for n in re.findall(r"\d+", version.split("+")[0])[:3])
