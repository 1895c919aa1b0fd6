"""A new Spark session: starts a JVM, sets defaults, and reduces logging.

Settings from ``spark-submit`` or ``spark-defaults.conf`` are kept; only missing settings are added. A
local session uses only this machine, on its loopback interface.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headrace.errors import PipelineError
from headrace.runners.spark.cluster.code.version_match import check_jvm, check_master, not_started
from headrace.runners.spark.cluster.connect import connect_session, remote_url
from headrace.runners.spark.cluster.jvm_log_filter import (
    CONFIGURATION,
    OPEN,
    configure_running,
    gateway as filtered_gateway,
    shows_progress,
)
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.cluster.requirements import check_java, check_local_python
from headrace.runners.spark.cluster.spark_home import without_zip

RUN_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""Settings of every run; all can be changed in a running session, so they also apply to a given one.

Simplified tracebacks are a variable of the environment of some workers but not of those with state; without
them all stages of a run share their worker processes.
"""

_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}

_TIMEOUTS: Final = {"spark.python.authenticate.socketTimeout": "120s"}
"""Worker processes can be slow to start on a busy machine."""

_LOCAL_ENVIRONMENT: Final = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,  # the JVM also starts Python, for Python data sources
    "OMP_NUM_THREADS": "1",  # as Spark sets it for workers; else NumPy starts threads in each Python
}
"""Default environment variables of the JVM."""

_CONNECT_TIMEOUT: Final = 5.0
"""Seconds to wait for a connection to a master."""

_EXTERNAL_SETTINGS: Final = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
)


def new_session(settings: SparkSettings) -> SparkSession:
    """Start Spark.

    Raises:
        PipelineError: the master is not reachable.
        UnsupportedError: Java is not installed, or Spark does not start.
    """
    remote = remote_url(settings.master)
    if remote is not None:
        return connect_session(remote, settings.conf)
    if settings.master:
        _check_reachable(settings.master)
    configured_externally = any(name in os.environ for name in _EXTERNAL_SETTINGS)
    with _environment(_LOCAL_ENVIRONMENT if presumably_local(settings) else {}), _on_path():
        conf = _start_jvm(settings, quiet=not configured_externally)
        add_defaults(conf, settings)
        return _create(conf)


def _create(conf: SparkConf) -> SparkSession:
    master = conf.get("spark.master", "") or ""
    check_master(master)
    with _environment({"PYSPARK_PYTHON": sys.executable} if is_local(master) else {}):
        if is_local(master):
            check_local_python(os.environ["PYSPARK_PYTHON"])
        try:
            return SparkSession.builder.config(conf=conf).getOrCreate()
        except Exception as error:
            raise not_started(error, master) from error


def _start_jvm(settings: SparkSettings, quiet: bool) -> SparkConf:
    """Start the JVM, unless spark-submit did, and return the settings so far."""
    configuration = CONFIGURATION if settings.log_level is None else OPEN
    if SparkContext._jvm is None:
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            check_java()
        launch = SparkConf(loadDefaults=False).setAll(list(settings.conf.items()))
        if quiet:
            launch.setIfMissing("spark.ui.showConsoleProgress", "false")  # spark-submit sets it
            _configure_logging(launch, configuration)
        jvm = _gateway(launch, settings) if quiet else None
        SparkContext._ensure_initialized(gateway=jvm, conf=launch)
        check_jvm(SparkContext._jvm)
        if not quiet:
            configure_running(SparkContext._jvm, configuration)
    conf = SparkConf()
    if "PYSPARK_GATEWAY_PORT" in os.environ and not shows_progress(SparkContext._jvm):
        conf.set("spark.ui.showConsoleProgress", "false")
    conf.setAll(list(settings.conf.items()))
    if settings.master:
        conf.setMaster(settings.master)
    return conf


def _gateway(conf: SparkConf, settings: SparkSettings) -> object:
    with without_zip() if presumably_local(settings) else nullcontext():
        return filtered_gateway(conf)


def add_defaults(conf: SparkConf, settings: SparkSettings) -> None:
    """Set defaults for missing settings."""
    conf.setIfMissing("spark.master", os.environ.get("MASTER", "local[*]"))
    master = conf.get("spark.master", "") or ""
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        conf.setAppName(settings.job_name or name or "headrace")
    if is_local(master):
        cores = str(_local_cores(master))
        for key, value in {**_LOCAL, "spark.sql.shuffle.partitions": cores}.items():
            conf.setIfMissing(key, value)
    log = {} if settings.log_level is None else {"spark.log.level": settings.log_level}
    for key, value in {**RUN_CONF, **_TIMEOUTS, **log}.items():
        conf.setIfMissing(key, value)


def _configure_logging(conf: SparkConf, configuration: Path) -> None:
    """Use our log4j file, unless the user has configured log4j."""
    key = "spark.driver.extraJavaOptions"
    options = conf.get(key, "") or ""
    if "log4j" not in options and configuration.is_file():
        conf.set(key, f"-Dlog4j2.configurationFile={configuration.as_uri()} {options}".strip())


def presumably_local(settings: SparkSettings) -> bool:
    """Return whether the master will probably be local; without a JVM this is not certain."""
    master = settings.master or settings.conf.get("spark.master")
    if master is not None:
        return is_local(master)
    return not any(name in os.environ for name in _EXTERNAL_SETTINGS)


def is_local(master: str | None) -> bool:
    """Return whether a master runs everything in this process and its children."""
    return master is not None and (master == "local" or master.startswith("local["))


def _local_cores(master: str) -> int:
    """Return 2 for ``local[2]`` and ``local[2,4]``, and the number of CPUs for ``local[*]``."""
    cores = master.removeprefix("local").strip("[]").partition(",")[0]
    if not cores:
        return 1
    return int(cores) if cores.isdigit() else os.cpu_count() or 1


def _check_reachable(master: str) -> None:
    """Check that a standalone master answers; Spark itself would retry for a minute."""
    if not master.startswith("spark://"):
        return
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        try:
            with closing(socket.create_connection((host, int(port)), timeout=_CONNECT_TIMEOUT)):
                return
        except (OSError, ValueError):
            continue
    raise PipelineError(
        f"the master {master} is not reachable",
        where="--spark-master",
        remedy="start the cluster, or correct the address (spark://host:7077)",
    )


@contextmanager
def _on_path() -> Iterator[None]:
    """Let Python processes that the JVM starts find the same modules as this process."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(path or os.getcwd() for path in sys.path)
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


@contextmanager
def _environment(more: Mapping[str, str]) -> Iterator[None]:
    """Set missing environment variables, and unset them afterwards."""
    added = {name: value for name, value in more.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
