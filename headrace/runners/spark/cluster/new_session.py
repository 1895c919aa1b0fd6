"""A Spark session of our own, where there is none: a JVM, settings that fit, and a log that is quiet.

What is said to Spark already, by ``spark-submit`` or in ``spark-defaults.conf``, is kept; only what is left
open is added. The settings of a local session keep everything on this machine, on its loopback.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Final

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.cluster.jvm_log_filter import gateway as quiet_gateway
from headrace.runners.spark.cluster.options import SparkSettings
from headrace.runners.spark.cluster.requirements import check_java, check_local_python

RUN_CONF: Final = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
}
"""What every run needs; all of it can be set while a session runs, so a given session does as well."""

_LOCAL: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
}

_PATIENT: Final = {"spark.python.authenticate.socketTimeout": "120s"}
"""A worker's process may take long to start where a machine has much to do."""

_LOCAL_ENVIRONMENT: Final = {
    "SPARK_LOCAL_IP": "127.0.0.1",
    "PYSPARK_PYTHON": sys.executable,  # the JVM, too, starts Python, for Python's data sources
}
"""What a JVM must find when it starts, if the user has not said otherwise."""

_PATIENCE: Final = 5.0
"""Seconds that a master may take to answer."""

_MASTER_SAID_ELSEWHERE: Final = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
)


def new_session(settings: SparkSettings) -> SparkSession:
    """Start Spark.

    Raises:
        PipelineError: nobody answers at the master.
        UnsupportedError: there is no Java, or Spark does not start.
    """
    if settings.master:
        _check_reachable(settings.master)
    said_elsewhere = any(name in os.environ for name in _MASTER_SAID_ELSEWHERE)
    with _environment(_LOCAL_ENVIRONMENT if _presumably_local(settings) else {}), _on_path():
        conf = _start_jvm(settings, quiet=not said_elsewhere)
        _add_defaults(conf, settings)
        return _create(conf)


def _create(conf: SparkConf) -> SparkSession:
    master = conf.get("spark.master", "")
    with _environment({"PYSPARK_PYTHON": sys.executable} if is_local(master) else {}):
        if is_local(master):
            check_local_python(os.environ["PYSPARK_PYTHON"])
        try:
            return SparkSession.builder.config(conf=conf).getOrCreate()
        except Exception as error:
            raise UnsupportedError(
                f"Spark does not start: {str(error).splitlines()[0]}",
                where=f"master {master}",
                remedy="see Spark's own words above, and check --spark-master and --spark-conf",
            ) from error


def _start_jvm(settings: SparkSettings, quiet: bool) -> SparkConf:
    """Start the JVM, unless spark-submit has, and return what is said to Spark so far."""
    if SparkContext._jvm is None:
        if "PYSPARK_GATEWAY_PORT" not in os.environ:
            check_java()
        said = SparkConf(loadDefaults=False).setAll(list(settings.conf.items()))
        if quiet:
            said.setIfMissing("spark.ui.showConsoleProgress", "false")  # spark-submit sets it
            _log_quietly(said)
        SparkContext._ensure_initialized(gateway=quiet_gateway(said) if quiet else None, conf=said)
    conf = SparkConf()
    conf.setAll(list(settings.conf.items()))
    if settings.master:
        conf.setMaster(settings.master)
    return conf


def _add_defaults(conf: SparkConf, settings: SparkSettings) -> None:
    """Set what nobody has set."""
    conf.setIfMissing("spark.master", os.environ.get("MASTER", "local[*]"))
    master = conf.get("spark.master", "") or ""
    name = Path(sys.argv[0]).name if sys.argv and sys.argv[0] else ""
    if conf.get("spark.app.name", "pyspark-shell") == "pyspark-shell":
        conf.setAppName(name or "headrace")
    if is_local(master):
        cores = str(_local_cores(master))
        for key, value in {**_LOCAL, "spark.sql.shuffle.partitions": cores}.items():
            conf.setIfMissing(key, value)
    for key, value in {**RUN_CONF, **_PATIENT}.items():
        conf.setIfMissing(key, value)


def _log_quietly(conf: SparkConf) -> None:
    """Log as our own file says, if the user has not said how."""
    key, file = "spark.driver.extraJavaOptions", files(__package__) / "log4j2.properties"
    said = conf.get(key, "") or ""
    if "log4j" not in said and Path(str(file)).is_file():
        conf.set(key, f"-Dlog4j2.configurationFile={Path(str(file)).as_uri()} {said}".strip())


def _presumably_local(settings: SparkSettings) -> bool:
    """Tell whether the master will be a local one, as far as that is known before there is a JVM."""
    master = settings.master or settings.conf.get("spark.master")
    if master is not None:
        return is_local(master)
    return not any(name in os.environ for name in _MASTER_SAID_ELSEWHERE)


def is_local(master: str | None) -> bool:
    """Tell whether a master runs everything in this process and its children."""
    return master is not None and (master == "local" or master.startswith("local["))


def _local_cores(master: str) -> int:
    """Return the 2 of ``local[2]`` and ``local[2,4]``; this machine's for ``local[*]``."""
    asked = master.removeprefix("local").strip("[]").partition(",")[0]
    if not asked:
        return 1
    return int(asked) if asked.isdigit() else os.cpu_count() or 1


def _check_reachable(master: str) -> None:
    """Refuse a standalone master that does not answer; Spark itself would try for a minute."""
    if not master.startswith("spark://"):
        return
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        try:
            with closing(socket.create_connection((host, int(port)), timeout=_PATIENCE)):
                return
        except (OSError, ValueError):
            continue
    raise PipelineError(
        f"nobody answers at {master}",
        where="--spark-master",
        remedy="start the cluster, or give its address as spark://host:7077",
    )


@contextmanager
def _on_path() -> Iterator[None]:
    """Let the Python processes that the JVM starts beside this one find the same modules."""
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
    """Set variables that are not set, and unset them after."""
    added = {name: value for name, value in more.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]
