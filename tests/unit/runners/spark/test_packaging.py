"""What travels to workers: headrace, attrs, and the user's own modules, once for each state of theirs."""

import importlib
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.errors import PipelineError
from headrace.runners.spark.cluster.code.packaging import (
    ALWAYS,
    SourceFile,
    send_code,
    sources,
    user_modules,
    zipped,
)


@pytest.fixture
def users(tmp_path: Path, monkeypatch) -> Iterator[Path]:
    """A directory of the user's with a module and a package, both imported."""
    (tmp_path / "sluice.py").write_text("def opened(x): return x + 1\n")
    (tmp_path / "weir" / "gates").mkdir(parents=True)
    (tmp_path / "weir" / "__init__.py").write_text("")
    (tmp_path / "weir" / "gates" / "wide.py").write_text("WIDTH = 7\n")
    (tmp_path / "weir" / "data.bin").write_bytes(b"0" * 100)
    (tmp_path / "weir" / "old.py").write_text("print 'Python 2'\n")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("sluice", "weir"):
        importlib.import_module(name)
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] in ("sluice", "weir")]:
        del sys.modules[name]


def test_modules_of_the_user(users: Path) -> None:
    found = user_modules()
    assert {"sluice", "weir", "tests"} <= set(found)
    assert {"os", "pytest", "pyspark", "headrace", "attr", "__main__"}.isdisjoint(found)


def test_all_source_of_a_package_is_taken(users: Path) -> None:
    names = {source.name for source in sources(["sluice", "weir"])}
    assert names == {"sluice.py", "weir/__init__.py", "weir/gates/wide.py", "weir/old.py"}


def test_the_same_files_make_the_same_zip(users: Path) -> None:
    found = list(sources(["sluice", "weir"]))
    assert zipped(found) == zipped(reversed(found))
    (users / "sluice.py").write_text("def opened(x): return x + 2\n")
    assert zipped(found) != zipped(list(sources(["weir"])))


def test_of_a_package_in_several_directories_the_first_file_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, files in {"one": ["deep.py"], "two": ["deep.py", "wide.py"]}.items():
        (tmp_path / name / "lakes").mkdir(parents=True)
        for file in files:
            (tmp_path / name / "lakes" / file).write_text(f"NAME = {name!r}\n")
    for name in ("two", "one"):
        monkeypatch.syspath_prepend(tmp_path / name)
    monkeypatch.setitem(sys.modules, "lakes", importlib.import_module("lakes"))
    with zipfile.ZipFile(BytesIO(zipped(sources(["lakes"])))) as archive:
        assert archive.read("lakes/deep.py") == b"NAME = 'one'\n"
        assert archive.namelist().count("lakes/deep.py") == 1
        assert "lakes/wide.py" in archive.namelist()


def test_what_is_no_python_is_sent_as_it_is(users: Path) -> None:
    with zipfile.ZipFile(BytesIO(zipped(sources(["weir"])))) as archive:
        assert "weir/old.py" in archive.namelist()
        assert "weir/old.pyc" not in archive.namelist()


def test_a_python_with_nothing_installed_can_import_it(tmp_path: Path) -> None:
    archive = tmp_path / "code.zip"
    archive.write_bytes(zipped(sources(ALWAYS)))
    program = (
        "import headrace, headrace.windowing as w; print(headrace.__file__, w.FixedWindows(60))"
    )
    done = subprocess.run(
        [
            sys.executable,
            "-I",
            "-S",
            "-c",
            f"import sys; sys.path = [{str(archive)!r}] + sys.path\n{program}",
        ],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.startswith(str(archive))


def test_functions_of_the_users_modules_run_on_workers(spark: SparkSession, users: Path) -> None:
    sluice = importlib.import_module("sluice")

    def with_gates(x):
        from weir.gates.wide import WIDTH

        return sluice.opened(x) + WIDTH

    send_code(spark)
    assert spark.sparkContext.parallelize([1], 1).map(with_gates).collect() == [9]


def test_nothing_is_sent_twice(spark: SparkSession) -> None:
    path = list(sys.path)
    send_code(spark)
    sent = set(spark.sparkContext.listFiles)
    send_code(spark)
    assert set(spark.sparkContext.listFiles) == sent
    assert sys.path == path, "the driver has the code already"


def test_files_that_are_given(spark: SparkSession, tmp_path: Path) -> None:
    module, archive = tmp_path / "millrace.py", tmp_path / "ponds.zip"
    module.write_text("DEPTH = 3\n")
    archive.write_bytes(zipped([SourceFile("ponds.py", module)]))
    send_code(spark, [str(module), str(archive)])

    def depth(_):
        import millrace
        import ponds

        return millrace.DEPTH + ponds.DEPTH

    assert spark.sparkContext.parallelize([1], 1).map(depth).collect() == [6]


def test_a_file_that_is_not_there(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"there is no file 'gone\.zip'"):
        send_code(spark, ["gone.zip"])


def test_python_beside_the_driver_finds_the_code_as_well(spark: SparkSession, users: Path) -> None:
    send_code(spark)
    first = spark.sparkContext.environment["PYTHONPATH"]
    send_code(spark)
    assert spark.sparkContext.environment["PYTHONPATH"] == first
    program = "import sluice, sys; print(sluice.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": first}, capture_output=True, text=True
    )
    assert ".zip" in done.stdout, done.stderr
