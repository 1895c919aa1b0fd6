"""What flags need is checked before a run starts, on any runner: packages, files, directories and ports."""

from __future__ import annotations

import socket
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import headrace as hr
from headrace.errors import PipelineError
from headrace.sdk.observing import packages
from headrace.sdk.observing.live import LivePage
from headrace.sdk.observing.packages import NEEDED
from headrace.sdk.options.output_paths import check_directory, check_file
from tests.support.repository import ROOT

FLAGS = {
    "--report": "--report=report.html",
    "--serve": "--serve=:0",
    "--prometheus": "--prometheus=:0",
    "--prometheus-gateway": "--prometheus-gateway=http://localhost:9091",
    "--otlp": "--otlp=http://localhost:4318",
    "--openlineage": "--openlineage=http://localhost:5000",
}


class Started(Exception):
    """A runner was started."""


def start(graph: Any, options: Any) -> Any:
    raise Started


def run_with(*flags: str) -> None:
    """Run up to where the local runner would start."""
    p = hr.Pipeline(argv=list(flags))
    _ = p | hr.Create([1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("headrace.runners.local.runner.LocalRun", start)
        p.run()


def hide(monkeypatch: pytest.MonkeyPatch, *hidden: str) -> None:
    """Let packages look as if they were not installed."""

    def found(name: str) -> Any:
        return None if name in hidden else find_spec(name)

    monkeypatch.setattr(packages, "find_spec", found)


# ------------------------------------------------------------------------------ packages


@pytest.mark.parametrize("flag", NEEDED)
def test_a_flag_whose_packages_are_there_starts_the_run(flag: str) -> None:
    with pytest.raises(Started):
        run_with(FLAGS[flag])


@pytest.mark.parametrize(
    ("flag", "package"),
    [(flag, package) for flag, needed in NEEDED.items() for package in needed.packages],
)
def test_a_missing_package_is_an_error_before_the_run(
    flag: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    hide(monkeypatch, package)
    with pytest.raises(PipelineError, match=f"{flag} needs the package {package}, ") as refused:
        run_with(FLAGS[flag])
    assert f"pip install 'headrace[{NEEDED[flag].extra}]'" in refused.value.remedy


def test_all_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    hide(monkeypatch, "altair", "vl_convert")
    message = "--report needs packages that are not installed: altair, vl_convert"
    with pytest.raises(PipelineError, match=message):
        run_with("--report=report.html")


@pytest.mark.slow
@pytest.mark.parametrize("flag", NEEDED)
def test_the_extra_of_a_flag_installs_its_packages(flag: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras: dict[str, list[str]] = project["optional-dependencies"]

    def installed(extra: str) -> set[str]:
        names = {one.split(">=")[0].split("==")[0].strip() for one in extras[extra]}
        own = {name for name in names if name.startswith("headrace[")}
        parts = {part for name in own for part in name[9:-1].split(",")}
        return (names - own).union(*map(installed, parts))

    extra, needed = NEEDED[flag]
    known = packages_distributions()
    for package in needed:
        of = {name.lower().replace("_", "-") for name in known[package.partition(".")[0]]}
        assert of & installed(extra), f"headrace[{extra}] does not install {package}"


@pytest.mark.spark
def test_on_spark_no_session_is_started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from headrace.runners.spark import runner

    def prepare(*_: Any, **__: Any) -> Any:
        raise Started

    monkeypatch.setattr(runner, "prepare", prepare)
    file = tmp_path / "file"
    file.touch()
    hide(monkeypatch, "altair")
    for flags, message in (
        (["--report=report.html"], "needs the package altair"),
        (["--streaming", f"--checkpoint={file}/c"], "--checkpoint .* is a file"),
        ([f"--checkpoint=file://{file}/c", "--streaming"], "--checkpoint .* is a file"),
        ([f"--temp-location={file}"], "--temp-location .* is a file"),
        (["--py-files=gone.py"], "there is no file 'gone.py'"),
    ):
        p = hr.Pipeline("spark", argv=flags)
        _ = p | hr.Create([1])
        with pytest.raises(PipelineError, match=message):
            p.run()
    p = hr.Pipeline("spark", argv=[f"--checkpoint={tmp_path}/new/c", "--streaming"])
    _ = p | hr.Create([1])
    with pytest.raises(Started):
        p.run()


# ------------------------------------------------------------------------------ files and ports


def test_a_report_into_a_directory_is_refused(tmp_path: Path) -> None:
    for place in (str(tmp_path), f"{tmp_path}/new/", ""):
        with pytest.raises(PipelineError, match="--report names a directory") as refused:
            run_with(f"--report={place}")
        assert refused.value.remedy == "name a file in it"
    assert list(tmp_path.iterdir()) == []


def test_a_report_whose_directory_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in (tmp_path / "file" / "r.html", tmp_path / "file" / "deep" / "r.html"):
        with pytest.raises(PipelineError, match=r"--report .* cannot be written: .*file is a file"):
            run_with(f"--report={place}")


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs a directory that nobody can write")
def test_a_report_into_a_directory_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(PipelineError, match=r"--report /proc/r\.html cannot be written: /proc: "):
        run_with("--report=/proc/r.html")
    with pytest.raises(PipelineError, match=r"--report /proc/\S+ cannot be written: "):
        run_with("--report=/proc/version")


def test_a_report_into_a_new_directory_or_over_an_old_one_is_written(tmp_path: Path) -> None:
    path = tmp_path / "new" / "deep" / "r.html"
    for _ in range(2):
        with pytest.raises(Started):
            run_with(f"--report={path}")
        assert not path.exists()
    path = tmp_path / "old.html"
    path.write_text("old")
    with pytest.raises(Started):
        run_with(f"--report={path}")
    assert path.read_text() == "old"  # the end of a run replaces it


@pytest.mark.parametrize("check", [check_file, check_directory])
def test_a_check_leaves_nothing_behind(check: Any, tmp_path: Path) -> None:
    check(tmp_path / "new" / "deep", "--flag")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("flag", ["--serve", "--prometheus"])
def test_a_port_that_is_taken_is_an_error_before_the_run(flag: str) -> None:
    with (
        socket.create_server(("127.0.0.1", 0)) as taken,
        pytest.raises(PipelineError, match=rf"{flag} cannot listen on|cannot be served on"),
    ):
        run_with(f"{flag}=:{taken.getsockname()[1]}")


def test_a_port_that_was_checked_is_free(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    for flag in ("--serve", "--prometheus"):
        with hr.Pipeline(argv=[f"{flag}=:{port}"]) as p:
            _ = p | hr.Create([1])
        if flag == "--serve":  # a second run replaces the page of the first
            with hr.Pipeline(argv=[f"{flag}=:{port}"]) as p:
                _ = p | hr.Create([1])
            LivePage(f":{port}")._end_the_page_before()


# ------------------------------------------------------------------------------ other commands


def test_an_archive_into_a_directory_is_refused(tmp_path: Path) -> None:
    job = tmp_path / "job.py"
    job.write_text("import headrace")
    command = [sys.executable, "-m", "headrace", "package", str(job), "-o", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, "--output names a directory" in done.stderr) == (1, True)


@pytest.mark.slow
def test_the_example_checks_its_directories_first(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    program = [sys.executable, "examples/flights.py", f"--input={tmp_path / 'file'}"]
    for flag in ("--output", "--keep"):
        command = [*program, f"{flag}={tmp_path / 'file'}", f"--output={tmp_path / 'file'}"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
        assert (done.returncode, "cannot be written" in done.stderr) == (2, True)
