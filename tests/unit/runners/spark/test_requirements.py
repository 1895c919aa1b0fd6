"""What is missing, too old or too new is said before any JVM starts."""

import sys
from pathlib import Path

import pytest

from headrace.errors import UnsupportedError
from headrace.runners import spark
from headrace.runners.spark.cluster import requirements as versions
from headrace.runners.spark.cluster.requirements import (
    REQUIREMENTS,
    Requirement,
    check_java,
    check_local_python,
    check_packages,
    check_versions,
    installed_versions,
)
from headrace.runners.spark.cluster.spark_versions import oldest_protobuf

PROTOBUF = oldest_protobuf()
PANDAS = next(need for need in REQUIREMENTS if need.package == "pandas")


def script(path: Path, prints: str) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho '{prints}' >&2\n")
    path.chmod(0o755)
    return str(path)


def test_what_is_installed_here_will_do() -> None:
    check_packages()
    check_java()
    check_local_python(sys.executable)
    check_versions(installed_versions(), "here")


@pytest.mark.parametrize(
    ("found", "will_do"),
    [("2.1.4", False), ("2.2", True), ("2.3.3", True), ("3.0.0rc0", False), ("3.1", False)],
)
def test_versions_that_will_do(found: str, will_do: bool) -> None:
    assert PANDAS.accepts(found) is will_do


@pytest.mark.parametrize(
    ("package", "found", "problem"),
    [
        ("pyspark", "3.5.9", "needs pyspark>=4.0,<4.4, but pyspark 3.5.9 is installed"),
        ("pyspark", "4.4.0", "needs pyspark>=4.0,<4.4, but pyspark 4.4.0 is installed"),
        ("pandas", "3.0.1", "needs pandas>=2.2,<3, but pandas 3.0.1 is installed"),
        ("pyarrow", None, "needs pyarrow>=18, which is not installed"),
        ("protobuf", None, f"needs protobuf>={PROTOBUF}, which is not installed"),
        ("protobuf", "5.28.2", f"needs protobuf>={PROTOBUF}, but protobuf 5.28.2 is installed"),
    ],
)
def test_a_package_that_will_not_do(monkeypatch, package: str, found: str | None, problem) -> None:
    installed = versions.installed_version
    monkeypatch.setattr(
        versions, "installed_version", lambda n: found if n.package == package else installed(n)
    )
    with pytest.raises(UnsupportedError, match=problem) as error:
        check_packages()
    assert "pip install 'headrace[spark]'" in error.value.remedy


@pytest.mark.parametrize("start", [lambda: spark.run(None, None), lambda: spark.SparkRunner])
def test_a_spark_that_is_too_old_is_refused_before_it_is_imported(monkeypatch, start) -> None:
    monkeypatch.setattr(versions, "installed_version", lambda need: "3.5.9")
    with pytest.raises(UnsupportedError, match=r"pyspark 3\.5\.9 is installed"):
        start()


def test_a_package_that_is_nowhere() -> None:
    with pytest.raises(UnsupportedError, match="abacus>=1, which is not installed"):
        check_packages([Requirement("abacus", "abacus", "1")])


def test_a_package_without_metadata(tmp_path: Path, monkeypatch) -> None:
    """As pyspark is, where a Spark of one's own puts it on the path."""
    (tmp_path / "abacus.py").write_text("__version__ = '2.0'")
    monkeypatch.syspath_prepend(tmp_path)
    check_packages([Requirement("abacus", "abacus", "1")])


def test_no_java(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="Java, which is not installed") as error:
        check_java({"PATH": str(tmp_path)})
    assert "openjdk-17" in error.value.remedy
    with pytest.raises(UnsupportedError, match="Java, which is not installed"):
        check_java({"JAVA_HOME": str(tmp_path), "PATH": "/usr/bin"})


@pytest.mark.parametrize(
    ("prints", "major"),
    [('openjdk version "11.0.2" 2019-01-15', 11), ('java version "1.8.0_402"', 8)],
)
def test_an_old_java(tmp_path: Path, prints: str, major: int) -> None:
    script(tmp_path / "bin" / "java", prints)
    for environment in ({"JAVA_HOME": str(tmp_path)}, {"PATH": str(tmp_path / "bin")}):
        with pytest.raises(UnsupportedError, match=f"is Java {major}"):
            check_java({"PATH": "", **environment})


def test_another_python_for_workers(tmp_path: Path) -> None:
    other = script(tmp_path / "python", "python 3.7")
    with pytest.raises(UnsupportedError, match=r"the workers run Python 3\.7"):
        check_local_python(other)
    with pytest.raises(UnsupportedError, match="cannot be started"):
        check_local_python(str(tmp_path / "nothing"))


def test_workers_that_lack_something() -> None:
    with pytest.raises(UnsupportedError, match="a worker needs pyarrow>=18, which is not") as error:
        check_versions({**installed_versions(), "pyarrow": None}, "host-1")
    assert error.value.where == "host-1"
    with pytest.raises(UnsupportedError, match=r"Python 3\.7"):
        check_versions({**installed_versions(), "python": "3.7"}, "host-1")
    check_versions({**installed_versions(), "pyspark": None}, "host-1")
