"""Removes noise from the output of the JVM and of its Python processes.

Spark's launcher warns about a module that it requests itself. The process that describes a streaming query's
state to Spark prints each of its steps, and the server of the state warns about each value that does not
exist yet. All other output goes to standard error unchanged.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Iterable
from subprocess import PIPE
from typing import Any, Final

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

_NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|(Starting )?Streaming TransformWithStateInPandas Python worker"
)

_STDOUT: Final = 1
_STDERR: Final = 2

_STATE_DESCRIBER: Final = "pyspark.sql.streaming.transform_with_state_driver_worker"
_STATE_SERVER: Final = (
    "org.apache.spark.sql.execution.python.streaming.TransformWithStateInPySparkStateServer"
)

_LAUNCH: Final[Any] = launch_gateway


def gateway(conf: SparkConf) -> Any:
    """Start a JVM whose output is filtered."""
    started = _LAUNCH(conf, {"stderr": PIPE})
    if started.proc is not None:
        copying = (started.proc.stderr,)
        threading.Thread(target=copy, args=copying, name="headrace-stderr", daemon=True).start()
    return started


def copy(lines: Iterable[bytes]) -> None:
    """Copy lines to standard error, except noise and the empty lines that follow it."""
    after_noise = False
    for line in lines:
        after_noise = _NOISE.match(line) is not None or (after_noise and not line.strip())
        if not after_noise:
            os.write(_STDERR, line)


def silence_state_describer() -> None:
    """Drop what this process prints if it is the one that describes a query's state to Spark.

    It runs no user code. Its output reaches the terminal if Headrace did not start the JVM; the first line,
    which it prints before this call, still does.
    """
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.name == _STATE_DESCRIBER:
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), _STDOUT)


def silence_state_server(spark: SparkSession) -> None:
    """Log only the errors of the state server, in the JVM of a given session."""
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_STATE_SERVER, log4j.Level.ERROR)
