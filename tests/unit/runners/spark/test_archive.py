"""What a packed job has: what the program imports, and what that requires, found in the source."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from headrace.__main__ import main
from headrace.errors import PipelineError
from headrace.runners.spark.cluster.code.archive import job_of
from tests.support.repository import ROOT

COMPANY = ROOT / "examples" / "company"

ARROW = ("pyarrow", "pandas", "numpy", "protobuf")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with a package beside it, which imports YAML in a function."""
    (tmp_path / "weir").mkdir()
    (tmp_path / "weir" / "__init__.py").write_text(
        "from weir import gates\nimport nothing_like_it\n"
    )
    (tmp_path / "weir" / "gates.py").write_text("def opened(text):\n    import yaml\n")
    (tmp_path / "weir" / "widths.txt").write_text("7\n")
    (tmp_path / "unused.py").write_text("import sqlalchemy\n")
    script = tmp_path / "program.py"
    script.write_text("import os, weir.gates\nfrom pyspark.sql import SparkSession\n")
    return script


def test_modules_packages_and_data(program: Path) -> None:
    job = job_of(program, without=ARROW)
    names = {name for name, _ in job.files}
    assert job.modules == ("weir",)
    assert {"weir/__init__.py", "weir/gates.py", "weir/widths.txt"} <= names
    assert {"yaml/__init__.py", "attr/__init__.py", "headrace/__init__.py"} <= names
    assert {"PyYAML", "attrs"} <= set(job.packages)
    assert {"pyspark", "SQLAlchemy", "pyarrow", "pandas"}.isdisjoint(job.packages)
    assert job.not_found == ("nothing_like_it",)
    assert not any(name.startswith("unused") or ".." in name for name in names)


def test_a_module_that_is_imported_by_name(program: Path) -> None:
    assert job_of(program, include=["unused"], without=ARROW).modules == ("unused", "weir")


def test_what_spark_needs_is_taken(program: Path) -> None:
    assert {"pyarrow", "pandas", "numpy", "protobuf", "pytz"} <= set(job_of(program).packages)


def test_another_python_runs_what_is_packed(tmp_path: Path, capsys) -> None:
    archive = tmp_path / "job.zip"
    script = str(COMPANY / "daily_revenue.py")
    without = [f"--without={name}" for name in ARROW]
    assert main(["package", script, "-o", str(archive), *without]) == 0
    said = capsys.readouterr().out
    assert f"spark-submit --archives {archive}#job {script}" in said
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path / "job")
    code = "import sys; sys.path.append('job'); import shop_orders, headrace, yaml; print(yaml.__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(done.stdout.strip()).name == "__init__.py"
    assert "job" in done.stdout


def test_no_such_program(capsys) -> None:
    with pytest.raises(PipelineError, match=r"there is no file 'nowhere\.py'"):
        job_of(Path("nowhere.py"))
    assert main(["package", "nowhere.py"]) == 1
    assert "headrace: there is no file 'nowhere.py'" in capsys.readouterr().err
