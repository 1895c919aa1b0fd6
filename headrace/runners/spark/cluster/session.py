"""The Spark session of a run: the given session, else the active one, else a new one.

The active session can belong to a notebook or to an earlier run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headrace.errors import PipelineError, UnsupportedError
from headrace.runners.spark.cluster.code.packaging import send_code
from headrace.runners.spark.cluster.code.worker_checks import check_workers
from headrace.runners.spark.cluster.connect import (
    is_connect,
    refuse_master,
    refuse_streaming,
    run_settings,
)
from headrace.runners.spark.cluster.jvm_log_filter import open_log, silence_state_server
from headrace.runners.spark.cluster.new_session import RUN_CONF, is_local, new_session
from headrace.runners.spark.cluster.options import SparkSettings, spark_settings
from headrace.runners.spark.cluster.requirements import check_local_python, check_packages
from headrace.sdk.options.pipeline_options import PipelineOptions
from headrace.sdk.pipelines.graph import Node


@attrs.frozen
class Session:
    """A Spark session that is ready for a run.

    Args:
        spark: the session.
        owned: whether it was created for this run. The creator of any other session stops it.
        tasks: number of tasks that run at once, if the workers were asked.
    """

    spark: SparkSession
    owned: bool
    tasks: int | None = None

    @property
    def is_local(self) -> bool:
        """Whether driver and workers run in one process tree on this machine."""
        return not is_connect(self.spark) and is_local(self.spark.sparkContext.master)

    @property
    def cores(self) -> int:
        """The number of tasks that run at once: Spark's default parallelism."""
        return self.tasks or int(self.spark.sparkContext.defaultParallelism)

    @property
    def shares_python(self) -> bool:
        """Whether the workers run this Python, with the same packages."""
        return self.is_local and self.spark.sparkContext.pythonExec == sys.executable


def prepare(
    options: PipelineOptions,
    given: SparkSession | None = None,
    nodes: Iterable[Node] = (),
    *,
    streaming: bool = False,
) -> Session:
    """Return a session whose workers have the code that they need and have passed the checks.

    Args:
        options: the options of the pipeline.
        given: the user's session, or None.
        nodes: the steps of the pipeline, as they are sent to workers.
        streaming: whether the pipeline runs in streaming mode.

    Raises:
        PipelineError: the options contradict each other or the session.
        UnsupportedError: a requirement is missing, too old or too new, on the driver or the workers.
    """
    session = session_for(options, given)
    if streaming:
        refuse_streaming(session.spark)
    send_code(session.spark, spark_settings(options).py_files)
    if session.shares_python:
        return session
    tasks = check_workers(session.spark, nodes)
    return attrs.evolve(session, tasks=tasks) if is_connect(session.spark) else session


def session_for(options: PipelineOptions, given: SparkSession | None = None) -> Session:
    """Return the given session, the active one, or a new one; see :func:`prepare`."""
    settings = spark_settings(options)
    check_packages()
    found = given if given is not None else active_session()
    if found is None:
        return Session(_with_log(new_session(settings), settings), owned=True)
    _check_kind(found)
    _check_master(found, settings)
    for name, value in settings.conf.items():
        _set(found, name, value)
    if not is_connect(found):
        _same_python_when_local(found)
        silence_state_server(found)
    return Session(_with_log(found, settings), owned=False)


def _with_log(spark: SparkSession, settings: SparkSettings) -> SparkSession:
    """Open the log of a session, if that is asked for."""
    if settings.log_level is not None:
        if is_connect(spark):
            raise PipelineError(
                "the log of a Spark Connect server cannot be opened from here",
                where=f"--spark-log-level {settings.log_level}",
                remedy="remove the flag; configure log4j where the server runs",
            )
        open_log(spark, settings.log_level)
    return spark


def active_session() -> SparkSession | None:
    """Return the session of this thread or process, unless it was stopped."""
    try:
        found = SparkSession.active()
    except PySparkException:
        return None
    if is_connect(found):
        return found
    context: Any = found.sparkContext
    return found if context._jsc is not None else None


def session_of_run(spark: SparkSession, conf: Mapping[str, str] | None = None) -> SparkSession:
    """Return a clone of a session, with the settings of one run.

    The settings of the original session do not change, and concurrent runs do not affect each other.

    Args:
        spark: the session to clone.
        conf: additional settings, which override `RUN_CONF`.
    """
    original: Any = spark
    clone = SparkSession(spark.sparkContext, original._jsparkSession.cloneSession())
    for name, value in {**RUN_CONF, **(conf or {})}.items():
        clone.conf.set(name, value)
    return clone


@contextmanager
def batch_session(spark: SparkSession, conf: Mapping[str, str]) -> Iterator[SparkSession]:
    """Yield a session with the settings of a batch run: a clone, or on Spark Connect the session itself."""
    if not is_connect(spark):
        yield session_of_run(spark, conf)
        return
    with run_settings(spark, {**RUN_CONF, **conf}) as settled:
        yield settled


def _check_kind(spark: object) -> None:
    if not isinstance(spark, SparkSession) and not is_connect(spark):
        raise UnsupportedError(
            f"{type(spark).__module__}.{type(spark).__name__} is not a Spark session",
            remedy="pass a pyspark.sql.SparkSession",
        )


def _check_master(spark: SparkSession, settings: SparkSettings) -> None:
    if is_connect(spark):
        refuse_master(spark, settings.master)
        return
    master = spark.sparkContext.master
    if settings.master and settings.master != master:
        raise PipelineError(
            f"a Spark session with the master {master} is already running",
            where=f"--spark-master {settings.master}",
            remedy="remove the flag, or stop the session first (spark.stop())",
        )


def _set(spark: SparkSession, name: str, value: str) -> None:
    """Change a Spark setting of an existing session, if it has another value."""
    if spark.conf.get(name, None) == value:
        return
    try:
        spark.conf.set(name, value)
    except PySparkException as error:
        raise PipelineError(
            f"{name} can only be set when a session is created; in the running session it is "
            f"{spark.conf.get(name, 'not set')}",
            where=f"--spark-conf {name}={value}",
            remedy="create the session with this setting, or stop it first (spark.stop())",
        ) from error


def _same_python_when_local(spark: SparkSession) -> None:
    """Run the workers of a local session with this Python, unless PYSPARK_PYTHON is set."""
    context = spark.sparkContext
    if not is_local(context.master):
        return
    if "PYSPARK_PYTHON" in os.environ:
        check_local_python(context.pythonExec)
    else:
        context.pythonExec = sys.executable
