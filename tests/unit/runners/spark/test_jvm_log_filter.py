"""Output of the JVM and its Python processes reaches the terminal, except noise."""

import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.runners.spark.cluster.jvm_log_filter import (
    _STATE_DESCRIBER,
    CONFIGURATION,
    OPEN,
    configure_running,
    copy,
    shows_progress,
)
from headrace.runners.spark.cluster.session import session_for
from headrace.runners.spark.cluster.spark_versions import spark_version
from headrace.sdk.options.pipeline_options import PipelineOptions

PRINTS = """
import importlib.machinery, sys
from headrace.runners.spark.cluster.jvm_log_filter import silence_state_describer
sys.modules["__main__"].__spec__ = importlib.machinery.ModuleSpec(sys.argv[1], None)
print("before", flush=True)
silence_state_describer()
print("after")
"""


def test_noise_and_the_empty_lines_behind_it_are_left_out(
    capfd: pytest.CaptureFixture[str],
) -> None:
    copy(
        [
            b"WARNING: Using incubator modules: jdk.incubator.vector\n",
            b"Starting Streaming TransformWithStateInPandas Python worker.\n",
            b"\n",
            b"ERROR a real one\n",
            b"\n",
            b"  with its second line\n",
        ]
    )
    assert capfd.readouterr().err == "ERROR a real one\n\n  with its second line\n"


@pytest.mark.parametrize(
    ("module", "printed"), [(_STATE_DESCRIBER, "before\n"), ("pyspark.daemon", "before\nafter\n")]
)
def test_only_the_process_that_describes_state_is_silenced(module: str, printed: str) -> None:
    command = [sys.executable, "-c", PRINTS, module]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == printed


@pytest.mark.spark
def test_a_given_session_does_not_warn_of_state_that_does_not_exist_yet(
    spark: SparkSession,
) -> None:
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    server = spark_version(spark.version).state_server
    assert java.java.lang.Class.forName(server).getName() == server
    log4j.core.config.Configurator.setLevel(server, log4j.Level.WARN)
    session_for(PipelineOptions([]), spark)
    assert log4j.LogManager.getLogger(server).getLevel().name() == "ERROR"


@pytest.mark.spark
def test_one_flag_opens_the_log(spark: SparkSession) -> None:
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    quiet = log4j.LogManager.getLogger("org.apache.spark.util.Utils")
    assert (quiet.getLevel().name(), log4j.LogManager.getRootLogger().getLevel().name()) == (
        "OFF",
        "WARN",
    )
    try:
        session_for(PipelineOptions(["--spark-log-level=error"]), spark)
        assert (
            quiet.getLevel().name() == log4j.LogManager.getRootLogger().getLevel().name() == "ERROR"
        )
    finally:
        uri = java.java.net.URI(CONFIGURATION.as_uri())
        log4j.core.config.Configurator.reconfigure(uri)
    assert quiet.getLevel().name() == "OFF"


def jvm_with(location: str | None, command: str = "") -> tuple[Any, list[str]]:
    """A JVM that runs, whose log4j has read a file, and the files that it reads from then on."""
    read: list[str] = []
    source = SimpleNamespace(getLocation=lambda: location)
    configuration = SimpleNamespace(getConfigurationSource=lambda: source)
    context = SimpleNamespace(getConfiguration=lambda: configuration)
    log4j = SimpleNamespace(
        LogManager=SimpleNamespace(getContext=lambda current: context),
        core=SimpleNamespace(
            config=SimpleNamespace(Configurator=SimpleNamespace(reconfigure=read.append))
        ),
    )
    org = SimpleNamespace(apache=SimpleNamespace(logging=SimpleNamespace(log4j=log4j)))
    system = SimpleNamespace(getProperty=lambda name: command)
    java = SimpleNamespace(
        net=SimpleNamespace(URI=lambda uri: uri), lang=SimpleNamespace(System=system)
    )
    return SimpleNamespace(org=org, java=java), read


def test_the_log_of_spark_submit_is_reduced_unless_the_user_has_configured_it() -> None:
    jvm, read = jvm_with("jar:file:/spark.jar!/org/apache/spark/log4j2-defaults.properties")
    configure_running(jvm)
    assert read == [CONFIGURATION.as_uri()]
    jvm, read = jvm_with("jar:file:/spark.jar!/org/apache/spark/log4j2-defaults.properties")
    configure_running(jvm, OPEN)
    assert read == [OPEN.as_uri()]
    for location in ("/etc/spark/log4j2.properties", None):
        jvm, read = jvm_with(location)
        configure_running(jvm)
        assert read == []


def test_a_progress_bar_that_the_user_asks_spark_submit_for() -> None:
    submit = "org.apache.spark.deploy.SparkSubmit"
    assert not shows_progress(jvm_with(None, f"{submit} job.py")[0])
    asks = f"{submit} --conf spark.ui.showConsoleProgress=true job.py"
    assert shows_progress(jvm_with(None, asks)[0])
