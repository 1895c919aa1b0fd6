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
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from subprocess import PIPE
from typing import Any, Final

from pyspark import SparkConf
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headrace.runners.spark.cluster.spark_versions import spark_version

_NOISE: Final = re.compile(
    rb"WARNING: Using incubator modules"
    rb"|(Starting )?Streaming TransformWithStateInPandas Python worker"
)

_STDOUT: Final = 1
_STDERR: Final = 2

_STATE_DESCRIBER: Final = "pyspark.sql.streaming.transform_with_state_driver_worker"

CONFIGURATION: Final = Path(str(files(__package__) / "log4j2.properties"))
"""Our configuration of log4j, for a quiet log."""

OPEN: Final = CONFIGURATION.with_name("log4j2-open.properties")
"""Our configuration of log4j, for everything from a level on."""

_SPARKS_DEFAULT: Final = "org/apache/spark/log4j2"
"""Part of the location of the configuration that Spark uses if there is no other."""

_PROGRESS: Final = "spark.ui.showConsoleProgress"

_LAUNCH: Final[Any] = launch_gateway


def gateway(conf: SparkConf) -> object:
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


def configure_running(jvm: object, configuration: Path = CONFIGURATION) -> None:
    """Use our log4j file in a JVM that runs already, such as the one that ``spark-submit`` started.

    A log4j configuration of the user is kept: only the one that Spark brings is replaced.
    """
    if _SPARKS_DEFAULT in _location(jvm) and configuration.is_file():
        _reconfigure(jvm, configuration)
        with suppress(Exception):  # these names are private to Spark
            _keep_configuration(jvm)


def _location(jvm: Any) -> str:
    """Return where the log4j configuration of a JVM comes from."""
    context = jvm.org.apache.logging.log4j.LogManager.getContext(False)
    return context.getConfiguration().getConfigurationSource().getLocation() or ""


def _reconfigure(jvm: Any, configuration: Path) -> None:
    uri = jvm.java.net.URI(configuration.as_uri())
    jvm.org.apache.logging.log4j.core.config.Configurator.reconfigure(uri)


def open_log(spark: SparkSession, level: str) -> None:
    """Log everything from a level on, in the JVM of a session.

    A configuration of the user is kept, with this level for what it does not name. The log stays open for
    later runs in this process.
    """
    jvm: Any = spark.sparkContext._jvm
    if _location(jvm).endswith(CONFIGURATION.as_posix()):
        _reconfigure(jvm, OPEN)
    spark.sparkContext.setLogLevel(level)


def _keep_configuration(jvm: Any) -> None:
    """Let Spark not replace the configuration when it starts: it does if it believes that it is its own."""
    logging = getattr(getattr(jvm.org.apache.spark.internal, "Logging$"), "MODULE$")
    private = "org$apache$spark$internal$Logging$$"
    getattr(logging, f"{private}defaultSparkLog4jConfig_$eq")(False)
    getattr(logging, f"{private}defaultRootLevel_$eq")(jvm.org.apache.logging.log4j.Level.WARN)


def shows_progress(jvm: Any) -> bool:
    """Return whether the command line of ``spark-submit`` sets Spark's progress bar.

    Otherwise ``spark-submit`` turns it on by itself, and the setting does not tell who has set it.
    """
    return _PROGRESS in (jvm.java.lang.System.getProperty("sun.java.command") or "")


def is_state_describer() -> bool:
    """Return whether this process describes a query's state to Spark; it runs no user code."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    return spec is not None and spec.name == _STATE_DESCRIBER


def silence_state_describer() -> None:
    """Drop what this process prints if it is the one that describes a query's state to Spark.

    Its output reaches the terminal if Headrace did not start the JVM; the first line, which it prints before
    this call, still does.
    """
    if is_state_describer():
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), _STDOUT)


def silence_state_server(spark: SparkSession) -> None:
    """Log only the errors of the state server, in the JVM of a given session."""
    java: Any = spark.sparkContext._jvm
    log4j = java.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(
        spark_version(spark.version).state_server, log4j.Level.ERROR
    )
