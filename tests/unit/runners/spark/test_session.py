"""The session of a run: given, active or new; what was said to Spark elsewhere is kept."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.new_session import RUN_CONF, add_defaults, new_session
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.cluster.session import prepare, session_for, session_of_run
from headrace.runners.spark.state.checkpoint_manifest import MANAGER, Checkpoint
from tests.support.repository import ROOT

from .cluster import SPARK_HOME

SHUFFLE = "spark.sql.shuffle.partitions"

SCRIPT = """
import json, os, sys
from headrace.options.pipeline_options import PipelineOptions
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.cluster.session import prepare
OMP = "OMP_NUM_THREADS"
session = prepare(PipelineOptions(sys.argv[1:]))
conf = dict(session.spark.sparkContext.getConf().getAll())
again = prepare(PipelineOptions([]))
print(json.dumps({"conf": conf, "owned": [session.owned, again.owned], "cores": session.cores,
    "python": session.spark.sparkContext.pythonExec,
    "threads": [session.spark.sparkContext._jvm.System.getenv(OMP), os.environ.get(OMP)],
    "same": session.spark is again.spark, "local": session.is_local}))
assert session.spark.range(3).mapInArrow(lambda batches: batches, "id long").count() == 3
"""


def options(*flags: str) -> PipelineOptions:
    return PipelineOptions(flags)


def run(tmp_path: Path, *command: str, **environment: str) -> tuple[dict, str]:
    """Run the script in a process of its own; return what it prints, and its standard error."""
    script = tmp_path / "session_script.py"
    script.write_text(SCRIPT)
    root = str(ROOT)
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PYSPARK", "SPARK", "OMP"))}
    done = subprocess.run(
        [str(script) if part == "SCRIPT" else part for part in command],
        env={**clean, "PYTHONPATH": root, **environment},
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def test_the_job_name_names_a_new_application() -> None:
    named, other = SparkConf(loadDefaults=False), SparkConf(loadDefaults=False)
    add_defaults(named, SparkSettings(job_name="mill"))
    add_defaults(other, SparkSettings())
    assert named.get("spark.app.name") == "mill"
    assert other.get("spark.app.name") == Path(sys.argv[0]).name


@pytest.mark.slow
def test_a_new_session(tmp_path: Path) -> None:
    found, noise = run(tmp_path, sys.executable, "SCRIPT", "--spark-conf=spark.driver.memory=600m")
    conf = found["conf"]
    assert conf["spark.master"] == "local[*]"
    assert conf["spark.app.name"] == "session_script.py"
    assert conf["spark.driver.memory"] == "600m"
    assert conf["spark.driver.host"] == "127.0.0.1"
    assert conf[SHUFFLE] == str(found["cores"])
    assert RUN_CONF.items() <= conf.items()
    assert found["python"] == sys.executable
    assert found["threads"] == ["1", None]
    assert (found["owned"], found["same"], found["local"]) == ([True, False], True, True)
    said = [line for line in noise.splitlines() if "incubator modules" not in line]
    assert said == []


@pytest.mark.slow
def test_spark_submit_decides(tmp_path: Path) -> None:
    submit = str(SPARK_HOME / "bin" / "spark-submit")
    said = ("--master", "local[3]", "--name", "mill", "--conf", f"{SHUFFLE}=7")
    found, noise = run(tmp_path, submit, *said, "SCRIPT", PYSPARK_PYTHON=sys.executable)
    assert not [line for line in noise.splitlines() if " INFO " in line or "[Stage" in line]
    conf = found["conf"]
    assert (conf["spark.master"], conf["spark.app.name"], conf[SHUFFLE]) == (
        "local[3]",
        "mill",
        "7",
    )
    assert conf["spark.sql.session.timeZone"] == "UTC"
    assert found["owned"] == [True, False]


def test_the_given_session_is_taken(spark: SparkSession) -> None:
    other = spark.newSession()
    found = prepare(options(), other)
    assert found.spark is other
    assert not found.owned
    assert found.is_local
    assert found.cores == 2


def test_the_active_session_is_taken(spark: SparkSession) -> None:
    found = session_for(options())
    assert found.spark.sparkContext is spark.sparkContext
    assert not found.owned


def test_settings_of_a_run_are_its_own(spark: SparkSession) -> None:
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "Europe/Paris")
    session.conf.set("spark.sql.ansi.enabled", "false")
    own = session_of_run(session, {SHUFFLE: "5"})
    assert own.conf.get("spark.sql.session.timeZone") == "UTC"
    assert own.conf.get("spark.sql.ansi.enabled") == "false", "what the user has set is kept"
    assert (own.conf.get(SHUFFLE), session.conf.get(SHUFFLE)) == ("5", "2")
    assert session.conf.get("spark.sql.session.timeZone") == "Europe/Paris"


def test_settings_on_a_session_that_exists(spark: SparkSession) -> None:
    session = spark.newSession()
    found = session_for(options(f"--spark-conf={SHUFFLE}=9"), session)
    assert found.spark.conf.get(SHUFFLE) == "9"
    session_for(options("--spark-conf=spark.ui.enabled=false"), session)  # it is so already
    with pytest.raises(
        PipelineError, match=r"spark.executor.memory can only be set when .* not set"
    ):
        session_for(options("--spark-conf=spark.executor.memory=3g"), session)


def test_another_master_than_the_sessions(spark: SparkSession) -> None:
    session_for(options("--spark-master=local[2]"), spark)
    with pytest.raises(PipelineError, match=r"the master local\[2\] is already running"):
        session_for(options("--spark-master=local[4]"), spark)


def test_nobody_at_the_master() -> None:
    with pytest.raises(PipelineError, match=r"the master spark://127\S+ is not reachable"):
        new_session(SparkSettings(master="spark://127.0.0.1:9,127.0.0.1:x"))


def test_what_is_no_session() -> None:
    with pytest.raises(UnsupportedError, match=r"builtins.str is not a Spark session"):
        session_for(options(), "local[*]")  # type: ignore[arg-type]


def test_another_python_for_the_workers(spark: SparkSession, monkeypatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/nowhere/python")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "/nowhere/python")
    with pytest.raises(UnsupportedError, match="'/nowhere/python' cannot be started"):
        session_for(options(), spark)


def test_a_checkpoint_on_a_local_disk_is_written_without_shell_commands(
    spark: SparkSession, tmp_path: Path
) -> None:
    said = Checkpoint(spark, str(tmp_path)).conf[MANAGER]
    assert said.endswith(".FileSystemBasedCheckpointFileManager")
    java: Any = spark.sparkContext._jvm
    assert java.java.lang.Class.forName(said).getName() == said


def test_the_user_chooses_how_a_checkpoint_is_written(spark: SparkSession, tmp_path: Path) -> None:
    own = session_of_run(spark, {MANAGER: "theirs"})
    assert Checkpoint(own, str(tmp_path)).conf == {}
