"""Output of the JVM and its Python processes reaches the terminal, except noise."""

import pickle
import subprocess
import sys
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headrace.runners.spark import streaming
from headrace.runners.spark.cluster.jvm_log_filter import _STATE_DESCRIBER, _STATE_SERVER, copy
from headrace.runners.spark.cluster.session import session_for
from headrace.sdk.options import PipelineOptions

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


def test_a_stage_silences_that_process_when_it_is_unpickled(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(streaming, "silence_state_describer", lambda: calls.append(True))
    stage = pickle.loads(pickle.dumps(streaming.KeyedStage("a plan")))  # type: ignore[arg-type]
    assert (stage._plan, calls) == ("a plan", [True])


@pytest.mark.spark
def test_a_given_session_does_not_warn_of_state_that_does_not_exist_yet(
    spark: SparkSession,
) -> None:
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_STATE_SERVER, log4j.Level.WARN)
    session_for(PipelineOptions([]), spark)
    assert log4j.LogManager.getLogger(_STATE_SERVER).getLevel().name() == "ERROR"
