"""The Spark session of a run: the user's where there is one, else one of our own with settings that fit.

A session is looked for in this order: the one that is given, the active one (of a notebook, or of an
earlier run), a new one. A new one asks Spark for what is said already, by ``spark-submit`` or in
``spark-defaults.conf``, and adds only what is left open.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import attrs
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.options import SparkSettings, spark_settings
from headrace.runners.spark.packaging import ship
from headrace.runners.spark.versions import (
    check_found,
    check_java,
    check_local_python,
    check_packages,
    found_here,
)
from headrace.sdk.options import PipelineOptions

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

_PATIENCE: Final = 5.0
"""Seconds that a master may take to answer."""

_MASTER_SAID_ELSEWHERE: Final = (
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "MASTER",
)


@attrs.frozen
class Session:
    """A Spark session, ready for a run.

    Args:
        spark: the session.
        owned: whether it was made for this run. Who has given it, or made it before, stops it.
    """

    spark: SparkSession
    owned: bool

    @property
    def is_local(self) -> bool:
        """Whether driver and workers are on this machine, under one roof."""
        return _is_local(self.spark.sparkContext.master)

    @property
    def cores(self) -> int:
        """How many tasks run at once, as far as Spark says so."""
        return int(self.spark.sparkContext.defaultParallelism)


def prepare(options: PipelineOptions, given: SparkSession | None = None) -> Session:
    """Return a session whose workers have all the code they need, and have been asked whether they fit.

    Args:
        options: of the pipeline.
        given: the user's own session, or None.

    Raises:
        PipelineError: the options contradict each other or the session.
        UnsupportedError: something is missing, too old or too new, here or on the workers.
    """
    session = session_for(options, given)
    ship(session.spark, spark_settings(options).py_files)
    if not session.is_local:
        check_workers(session.spark)
    return session


def session_for(options: PipelineOptions, given: SparkSession | None = None) -> Session:
    """Return the given session, the active one, or a new one; see :func:`prepare`."""
    settings = spark_settings(options)
    check_packages()
    found = given if given is not None else active_session()
    if found is None:
        return Session(_new(settings), owned=True)
    _check_kind(found)
    _check_master(found, settings)
    for name, value in settings.conf.items():
        _set(found, name, value)
    _same_python_when_local(found)
    return Session(found, owned=False)


def active_session() -> SparkSession | None:
    """Return the session of this thread, else of this process, if it has not been stopped."""
    try:
        found = SparkSession.active()
    except PySparkException:
        return None
    context: Any = found.sparkContext
    return found if context._jsc is not None else None


@contextmanager
def run_conf(spark: SparkSession, extra: Mapping[str, str] | None = None) -> Iterator[None]:
    """Set what a run needs while its query is planned or started, and then what was set before.

    A streaming query keeps the settings that it was started with.

    Args:
        spark: the session.
        extra: more settings, which win over `RUN_CONF`.
    """
    wanted = {**RUN_CONF, **(extra or {})}
    before = {name: spark.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.unset(name) if earlier is None else spark.conf.set(name, earlier)


def check_workers(spark: SparkSession) -> None:
    """Ask a worker of each executor, as far as tasks reach them, what is installed there.

    Raises:
        UnsupportedError: Python is another one there, or a package is missing or does not fit.
    """
    from headrace.runners.spark.failures import unwrapping

    context = spark.sparkContext
    tasks = max(2, context.defaultParallelism)

    def ask(_: int) -> tuple[str, dict[str, str | None]]:
        return socket.gethostname(), found_here()

    with unwrapping():
        answers = context.parallelize(range(tasks), tasks).map(ask).collect()
    for host, found in answers:
        check_found(found, f"a worker on {host}")


def _new(settings: SparkSettings) -> SparkSession:
    if settings.master:
        _check_reachable(settings.master)
    local = _presumably_local(settings)
    with _environment({"SPARK_LOCAL_IP": "127.0.0.1"} if local else {}):
        conf = _start_jvm(settings, quiet=local)
    _add_defaults(conf, settings)
    master = conf.get("spark.master", "")
    if _is_local(master):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
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
        SparkContext._ensure_initialized(conf=said)
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
    if _is_local(master):
        cores = str(_local_cores(master))
        for key, value in {**_LOCAL, "spark.sql.shuffle.partitions": cores}.items():
            conf.setIfMissing(key, value)
    for key, value in RUN_CONF.items():
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
        return _is_local(master)
    return not any(name in os.environ for name in _MASTER_SAID_ELSEWHERE)


def _is_local(master: str | None) -> bool:
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


def _check_kind(spark: Any) -> None:
    if not isinstance(spark, SparkSession) or spark.__class__.__module__.startswith(
        "pyspark.sql.connect"
    ):
        raise UnsupportedError(
            f"{type(spark).__module__}.{type(spark).__name__} is not a session that runs here",
            remedy="give a pyspark.sql.SparkSession; Spark Connect is not supported",
        )


def _check_master(spark: SparkSession, settings: SparkSettings) -> None:
    there = spark.sparkContext.master
    if settings.master and settings.master != there:
        raise PipelineError(
            f"there is a Spark session already, whose master is {there}",
            where=f"--spark-master {settings.master}",
            remedy="leave the flag out, or stop the session first (spark.stop())",
        )


def _set(spark: SparkSession, name: str, value: str) -> None:
    """Set one of Spark's settings on a session that exists, if it is not so already."""
    if spark.conf.get(name, None) == value:
        return
    try:
        spark.conf.set(name, value)
    except PySparkException as error:
        raise PipelineError(
            f"Spark takes {name} only when a session is made, and there is one already, "
            f"where it is {spark.conf.get(name, 'not set')}",
            where=f"--spark-conf {name}={value}",
            remedy="make the session with this setting, or stop it first (spark.stop())",
        ) from error


def _same_python_when_local(spark: SparkSession) -> None:
    """Let the workers of a local session run this Python, where nobody has said which."""
    context = spark.sparkContext
    if not _is_local(context.master):
        return
    if "PYSPARK_PYTHON" in os.environ:
        check_local_python(context.pythonExec)
    else:
        context.pythonExec = sys.executable


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
